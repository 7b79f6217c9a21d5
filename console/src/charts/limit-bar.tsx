/** What a client has left of a limit. */

import { count, duration } from "../parts/numbers.ts";

interface LimitBarProps {
  readonly id: string;
  readonly limit: number;
  readonly remaining: number;
  readonly resetAfterMs: number;
}

export function LimitBar({ id, limit, remaining, resetAfterMs }: LimitBarProps) {
  const used = Math.max(0, limit - remaining);
  const isNear = remaining <= limit * 0.05;
  return (
    <li class="limit">
      <span class="name">{id}</span>
      <span class="of">
        <b>{count(remaining)}</b> of {count(limit)} left
      </span>
      <span
        class="track"
        role="meter"
        aria-label={`${id}: used`}
        aria-valuemin={0}
        aria-valuemax={limit}
        aria-valuenow={Math.min(used, limit)}
        aria-valuetext={`${count(used)} of ${count(limit)} used`}
      >
        <span class={isNear ? "part full" : "part"} style={{ width: `${Math.min(100, (used / limit) * 100)}%` }} />
      </span>
      <span class="when">
        {remaining === 0 ? "Used up. " : isNear ? "Nearly used up. " : ""}
        {resetAfterMs > 0 ? `As new in ${duration(resetAfterMs)}.` : "Nothing is counted."}
      </span>
    </li>
  );
}
