/**
 * The charts over time: all decisions, what did not pass on a scale of its own, and what the origin answered to what
 * passed.
 */

import type { StatsPoint } from "../api.ts";
import { ANSWERS, MEANINGS } from "../charts/meaning.ts";
import { TimeChart } from "../charts/time-chart.tsx";
import { live } from "../data/live.ts";
import { along } from "../data/sums.ts";
import { useValue } from "../data/value.ts";
import { partialFrom, ratesOf, type View, zoom } from "../data/view.ts";
import { duration } from "../parts/numbers.ts";

interface TrafficProps {
  readonly view: View;
  readonly points: readonly StatsPoint[];
  readonly what: string;
}

/** What all charts over time have in common. */
function useShared(view: View) {
  const { span, grid, stats } = view.chart;
  const state = useValue(live);
  const changes = (state.is === "on" && state.document.changes) || [];
  /** The last one of each step. */
  const marks = new Map(
    changes.map(({ at, version }) => {
      const atMs = Date.parse(at);
      return [Math.floor(atMs / grid.stepMs), { atMs, text: `live v${version}` }];
    }),
  );
  return {
    ...{ grid, span },
    outages: along(stats.fallback, grid).flatMap((n, step) => (n ? [step] : [])),
    marks: [...marks.values()],
    partialFromMs: partialFrom(view),
    perSecond: ratesOf(view),
    onZoom: zoom.set,
  };
}

const isUsed = (is: string, counts: readonly (number | null)[]) => is === "refused" || counts.some((n) => n);

export function Traffic({ view, points, what }: TrafficProps) {
  const shared = useShared(view);
  const { grid, outages } = shared;
  const stacks = MEANINGS.map(({ is, name, outcomes }) => {
    const counts = along(points, grid, ({ outcome }) => outcomes.includes(outcome));
    return { is, name, counts };
  });
  const notAdmitted = stacks.filter(({ is, counts }) => is !== "admitted" && isUsed(is, counts));
  const step = `a bar is ${duration(grid.stepMs)}`;
  return (
    <div class="traffic">
      <TimeChart
        {...shared}
        label={`All ${what}`}
        note={`${step}; drag to look closer`}
        stacks={stacks.filter(({ is, counts }) => is === "admitted" || isUsed(is, counts))}
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

/** To all requests: no policy has its own. */
export function Answers({ view }: { readonly view: View }) {
  const shared = useShared(view);
  const { responses } = view.chart.stats;
  if (responses.length === 0) return null;
  const stacks = ANSWERS.map(({ is, name, statuses }) => {
    const counts = along(responses, shared.grid, ({ status }) => statuses.some((one) => one === status));
    return { is, name, counts };
  });
  return (
    <div class="traffic">
      <TimeChart
        {...shared}
        label="What the origin answered"
        note="to all requests that went on, in all regions"
        stacks={stacks.filter(({ is, counts }) => is === "answered" || isUsed(is, counts))}
        height={110}
      />
    </div>
  );
}
