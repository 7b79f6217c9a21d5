/** Who answered: the isolate, the store, or the isolate alone because the store was silent. Told in words beside it. */

import type { SpanTotals } from "../data/sums.ts";
import { NONE, percent } from "../parts/numbers.ts";

const PARTS = ["isolate", "store", "fallback"] as const;

export function ShareBar({ sums }: { sums: SpanTotals }) {
  if (sums.all === 0) return <span class="muted">{NONE}</span>;
  const most = PARTS.reduce<(typeof PARTS)[number]>((a, b) => (sums[b] > sums[a] ? b : a), "isolate");
  return (
    <span class="share">
      <span class="track" aria-hidden="true">
        {PARTS.map((part) => (
          <span key={part} class={`part ${part}`} style={{ width: `${(sums[part] / sums.all) * 100}%` }} />
        ))}
      </span>
      <span class="unseen">{PARTS.map((part) => `${part} ${percent(sums[part], sums.all)}`).join(", ")}</span>
      <span aria-hidden="true">
        {percent(sums[most], sums.all)} {most}
        {sums.fallback > 0 && most !== "fallback" && `, ${percent(sums.fallback, sums.all)} fallback`}
      </span>
    </span>
  );
}
