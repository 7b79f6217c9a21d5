/** The two charts of decisions over time: all of them, and what did not pass on a scale of its own. */

import type { StatsPoint } from "../api.ts";
import { MEANINGS } from "../charts/meaning.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import { marks } from "../data/marks.ts";
import { along } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { partialFrom, ratesOf, type View, zoom } from "../data/view.ts";
import { duration } from "../parts/numbers.ts";

interface TrafficProps {
  readonly view: View;
  readonly points: readonly StatsPoint[];
  readonly what: string;
}

export function Traffic({ view, points, what }: TrafficProps) {
  const { span, grid, stats } = view.chart;
  const shownMarks = useValue(marks);
  const outages = along(stats.fallback, grid).flatMap((n, step) => (n ? [step] : []));
  const stacks = MEANINGS.map(({ is, name, outcomes }) => {
    const counts = along(points, grid, ({ outcome }) => outcomes.includes(outcome));
    return { is, name, counts };
  });
  const used = (is: string, counts: readonly (number | null)[]) => is === "refused" || counts.some((n) => n);
  const shared = {
    ...{ grid, span, outages },
    marks: shownMarks,
    partialFromMs: partialFrom(view),
    perSecond: ratesOf(view),
    onZoom: zoom.set,
  };
  const notAdmitted = stacks.filter(({ is, counts }) => is !== "admitted" && used(is, counts));
  const step = `a bar is ${duration(grid.stepMs)}`;
  return (
    <div class="traffic">
      <TimeChart
        {...shared}
        label={`All ${what}`}
        note={`${step}; drag to look closer`}
        stacks={stacks.filter(({ is, counts }) => is === "admitted" || used(is, counts))}
        height={190}
      />
      <TimeChart {...shared} label="Refused, or would be" note="on its own scale" stacks={notAdmitted} height={140} />
      {outages.length > 0 && (
        <p class="note">
          The line above the bars marks time in which requests were decided without their store (fallback).
        </p>
      )}
    </div>
  );
}
