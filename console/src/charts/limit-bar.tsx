/** What a client has left of a limit. */

import { useMemo } from "preact/hooks";
import { now, type Unit } from "../api.ts";
import { amount, duration } from "../parts/numbers.ts";
import { OnDay } from "../parts/time.tsx";

interface LimitBarProps {
  readonly id: string;
  /** What it holds when nothing is used. */
  readonly capacity: number;
  readonly remaining: number;
  /** Under a meter: of what is used at least so much is reserved. */
  readonly reserved?: number;
  readonly resetAfterMs: number;
  readonly unit?: Unit;
}

export function LimitBar({ id, capacity, remaining, reserved = 0, resetAfterMs, unit }: LimitBarProps) {
  const used = Math.max(0, capacity - remaining);
  // The wait is from the answer on, not from the last drawing.
  const asNewAt = useMemo(() => now() + resetAfterMs, [resetAfterMs]);
  const widthOf = (units: number) => `${Math.min(100, (units / capacity) * 100)}%`;
  const isNear = remaining <= capacity * 0.05;
  return (
    <li class="limit">
      <span class="name">{id}</span>
      <span class="of">
        <b>{amount(remaining, unit)}</b> of {amount(capacity, unit)} left
      </span>
      {/* biome-ignore lint/a11y/useSemanticElements: browsers do not agree on the looks of a meter. */}
      <span
        class="track"
        role="meter"
        aria-label={`${id}: used`}
        aria-valuemin={0}
        aria-valuemax={capacity}
        aria-valuenow={Math.min(used, capacity)}
        aria-valuetext={`${amount(used, unit)} of ${amount(capacity, unit)} used`}
      >
        <span class={isNear ? "part full" : "part"} style={{ width: widthOf(used - reserved) }} />
        {reserved > 0 && <span class="part held" style={{ width: widthOf(reserved) }} />}
      </span>
      <span class="when">
        {unit && used > 0 && `${spentText(used, reserved, remaining, unit)}. `}
        {remaining === 0 ? "Used up. " : isNear ? "Nearly used up. " : ""}
        {resetAfterMs > 0 ? (
          <>
            As new in {duration(resetAfterMs)}
            <OnDay ms={asNewAt} afterMs={resetAfterMs} />.
          </>
        ) : (
          "Nothing is counted."
        )}
      </span>
    </li>
  );
}

/**
 * The store counts what is spent and what is reserved in one number, and the isolate that answers knows its own
 * reservations only. When nothing is left, more than the limit may have been spent.
 */
function spentText(used: number, reserved: number, remaining: number, unit: Unit): string {
  if (reserved === 0) return `${amount(used, unit)} spent or reserved`;
  const held = `at least ${amount(reserved, unit)} reserved`;
  if (remaining === 0) return `${amount(used, unit)} or more spent or reserved, ${held}`;
  return `Up to ${amount(used - reserved, unit)} spent, ${held}`;
}
