/** The numbers of a chart as a table, made when it is opened. The newest come first. */

import { useState } from "preact/hooks";
import type { Span } from "../data/sums.ts";
import { count, duration, NONE } from "../parts/numbers.ts";
import { Table } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import type { Plotted } from "./plotted.ts";

interface ChartTableProps extends Plotted {
  readonly label: string;
  onZoom(span: Span): void;
}

export function ChartTable({ label, grid, stacks, partialFromMs, onZoom }: ChartTableProps) {
  const [isOpen, setOpen] = useState(false);
  const steps = Array.from({ length: grid.length }, (_, i) => grid.length - 1 - i);
  const spanOf = (step: number): Span => {
    const fromMs = grid.fromMs + step * grid.stepMs;
    return { fromMs, toMs: fromMs + grid.stepMs };
  };
  return (
    <details class="behind" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scroll" aria-label={`${label} as a table`} tabIndex={0}>
          <Table
            caption={`${label}: counts per ${duration(grid.stepMs)}`}
            rows={steps}
            keyOf={(step) => spanOf(step).fromMs}
            columns={[
              {
                heading: "From",
                cell(step) {
                  const { fromMs, toMs } = spanOf(step);
                  return (
                    <>
                      <Time ms={fromMs} />
                      {toMs > partialFromMs && <small> so far</small>}
                    </>
                  );
                },
              },
              ...stacks.map(({ name, counts }) => ({
                heading: name,
                is: "number" as const,
                cell: (step: number) => (typeof counts[step] === "number" ? count(counts[step]) : NONE),
              })),
              {
                heading: "Look closer",
                is: "button",
                cell: (step) => (
                  <button type="button" class="small" onClick={() => onZoom(spanOf(step))}>
                    Only this
                  </button>
                ),
              },
            ]}
          />
        </section>
      )}
    </details>
  );
}
