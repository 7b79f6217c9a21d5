/** Counts over time as stacked bars, with a legend that follows the pointer and a table behind it. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Span } from "../data/sums.ts";
import { createValue, useValue } from "../data/value.ts";
import { count, NONE, rate } from "../parts/numbers.ts";
import { instant } from "../parts/time.tsx";
import { Bars } from "./bars.tsx";
import { ChartTable } from "./chart-table.tsx";
import type { Plotted } from "./plotted.ts";

interface TimeChartProps extends Plotted {
  /** What the chart shows, for the heading of its table and for screen readers. */
  readonly label: string;
  readonly note?: string;
  readonly height: number;
  onZoom(span: Span): void;
}

/** The step under the pointer: charts of a page show the same one. */
const pointed = createValue<number | undefined>(undefined);

export function TimeChart({ label, note, height, onZoom, ...shown }: TimeChartProps) {
  const parent = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const step = useValue(pointed);

  useLayoutEffect(() => {
    const element = parent.current!;
    const measure = () => setWidth(element.clientWidth);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  return (
    <figure class="chart">
      <figcaption>
        <span class="label">{label}</span>
        {note && <span class="note">{note}</span>}
        <Legend {...shown} step={step} />
      </figcaption>
      <div ref={parent} class="plot" style={{ height: `${height}px` }}>
        {width > 0 && (
          <Bars {...shown} width={width} height={height} step={step} onStep={pointed.set} onZoom={onZoom} />
        )}
      </div>
      <ChartTable {...shown} label={label} onZoom={onZoom} />
    </figure>
  );
}

/** What the bars mean, and how much: all of them together, or those under the pointer. */
function Legend({ grid, stacks, perSecond, step }: Plotted & { step: number | undefined }) {
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
            {all > 0 && <i class={`swatch ${is}`} />}
            {name} <b>{text}</b>
          </li>
        );
      })}
    </ul>
  );
}
