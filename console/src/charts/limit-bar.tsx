/** What a client has left of a limit. */

import { useMemo } from "preact/hooks";
import { type MeterUnit, now } from "../api.ts";
import { amount, duration } from "../parts/numbers.ts";
import { OnDay } from "../parts/time.tsx";

interface LimitBarProps {
  readonly id: string;
  /** What it holds when nothing is used. */
  readonly capacity: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly unit?: MeterUnit;
}

export function LimitBar({ id, capacity, remaining, resetAfterMs, unit }: LimitBarProps) {
  const used = Math.max(0, capacity - remaining);
  // The wait is from the answer on, not from the last drawing.
  const asNewAt = useMemo(() => now() + resetAfterMs, [resetAfterMs]);
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
        <span class={isNear ? "part full" : "part"} style={{ width: `${Math.min(100, (used / capacity) * 100)}%` }} />
      </span>
      <span class="when">
        {/* The store counts what is spent and what is reserved in one number. */}
        {unit && used > 0 && `${amount(used, unit)} spent or reserved. `}
        {remaining === 0 ? "Used up. " : isNear ? "Nearly used up. " : ""}
        {resetAfterMs > 0 ? (
          <>
            Full again in {duration(resetAfterMs)}
            <OnDay ms={asNewAt} afterMs={resetAfterMs} />.
          </>
        ) : (
          "Nothing is counted."
        )}
      </span>
    </li>
  );
}
