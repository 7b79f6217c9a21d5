/** The numbers of a chart as a table, made when it is opened. The newest come first. */

import { useState } from "preact/hooks";
import type { Span } from "../data/sums.ts";
import { count, duration, NONE } from "../parts/numbers.ts";
import { Time } from "../parts/time.tsx";
import type { Plotted } from "./plotted.ts";

interface ChartTableProps extends Plotted {
  readonly label: string;
  onZoom(span: Span): void;
}

export function ChartTable({ label, grid, stacks, partialFromMs, onZoom }: ChartTableProps) {
  const [isOpen, setOpen] = useState(false);
  const steps = Array.from({ length: grid.length }, (_, i) => grid.length - 1 - i);
  return (
    <details class="behind" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scroll" aria-label={`${label} as a table`} tabIndex={0}>
          <table>
            <caption>
              {label}: counts per {duration(grid.stepMs)}
            </caption>
            <thead>
              <tr>
                <th scope="col">From</th>
                {stacks.map(({ is, name }) => (
                  <th key={is} scope="col" class="number">
                    {name}
                  </th>
                ))}
                <th scope="col">
                  <span class="unseen">Look closer</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {steps.map((step) => {
                const fromMs = grid.fromMs + step * grid.stepMs;
                const toMs = fromMs + grid.stepMs;
                return (
                  <tr key={fromMs}>
                    <th scope="row">
                      <Time ms={fromMs} />
                      {toMs > partialFromMs && <small> so far</small>}
                    </th>
                    {stacks.map(({ is, counts }) => (
                      <td key={is} class="number">
                        {typeof counts[step] === "number" ? count(counts[step]) : NONE}
                      </td>
                    ))}
                    <td>
                      <button type="button" class="small" onClick={() => onZoom({ fromMs, toMs })}>
                        Only this
                      </button>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}
