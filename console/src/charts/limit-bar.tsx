/** What a client has left of a limit. */

import { useMemo } from "preact/hooks";
import { type Limit, type MeterUnit, now } from "../api.ts";
import { outlookOf, rateSince, type SpendingRate, windowStartMs } from "../data/spending.ts";
import { amount, duration } from "../parts/numbers.ts";
import { outlookText } from "../parts/spending.ts";
import { OnDay } from "../parts/time.tsx";

interface LimitBarProps {
  readonly id: string;
  /** What it holds when nothing is used. */
  readonly capacity: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
  readonly unit?: MeterUnit;
  /** The limit of the policy. Absent: it is not known. */
  readonly inForce: Limit | undefined;
  /** How fast it is spent. Absent: as since its window began. */
  readonly rate?: SpendingRate | undefined;
}

export function LimitBar({ id, capacity, remaining, resetAfterMs, unit, inForce, rate }: LimitBarProps) {
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
        {unit && inForce && used > 0 && remaining > 0 && (
          <Expected {...{ limit: inForce, left: remaining, used, resetAfterMs, endsAtMs: asNewAt, rate }} />
        )}
      </span>
    </li>
  );
}

interface ExpectedProps {
  readonly limit: Limit;
  readonly left: number;
  readonly used: number;
  readonly resetAfterMs: number;
  readonly endsAtMs: number;
  readonly rate: SpendingRate | undefined;
}

/** When the limit will be spent. Nothing for a limit whose units come back one by one. */
function Expected({ limit, left, used, resetAfterMs, endsAtMs, rate }: ExpectedProps) {
  const startsAtMs = windowStartMs(limit, endsAtMs);
  if (startsAtMs === undefined) return null;
  const atMs = endsAtMs - resetAfterMs;
  // The counts of a policy are of all regions together.
  const measured = limit.scope === "region" ? undefined : rate;
  const own = measured ?? rateSince(startsAtMs, atMs, used);
  const outlook = outlookOf(left, resetAfterMs, own);
  const afterMs = outlook.is === "spent" ? outlook.afterMs : 0;
  return (
    <>
      {" "}
      {outlookText(outlook, own)}
      <OnDay ms={atMs + afterMs} afterMs={afterMs} />.
    </>
  );
}
