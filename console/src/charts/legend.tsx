/** What the bars mean, and how much: all of them together, or those under the pointer. */

import { count, NONE, rate } from "../parts/numbers.ts";
import { instant } from "../parts/time.tsx";
import type { Plotted } from "./plotted.ts";

export function Legend({ grid, stacks, perSecond, step }: Plotted & { step: number | undefined }) {
  const at = step === undefined ? undefined : grid.fromMs + step * grid.stepMs;
  return (
    <ul class="legend" aria-hidden="true">
      <li class="at">{at === undefined ? "" : instant(at)}</li>
      {stacks.map(({ is, name, counts }) => {
        const here = step === undefined ? undefined : (counts[step] ?? null);
        const all = counts.reduce<number>((sum, one) => sum + (one ?? 0), 0);
        const text = here === null ? NONE : here === undefined ? count(all) : rate(perSecond(step!, here)).join("");
        return (
          <li key={is}>
            <i class={`swatch ${is}`} />
            {name} <b>{text}</b>
          </li>
        );
      })}
    </ul>
  );
}
