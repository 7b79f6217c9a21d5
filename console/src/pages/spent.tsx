/** What a policy with a meter has spent in the time of the chart, and how fast. */

import type { PolicyAnswer } from "../api.ts";
import { type SpendingRate, spentIn } from "../data/spending.ts";
import { stats } from "../data/stats.ts";
import { useValue } from "../data/value.ts";
import type { View } from "../data/view.ts";
import { zoom } from "../data/view.ts";
import { amountOfMany, NONE } from "../parts/numbers.ts";
import { rangeText } from "../parts/spending.ts";

const HOUR_S = 3_600;

/** Nothing for a policy without a meter. @param view undefined: there are no counts, or not yet. */
export function Spent({ policy, view }: { policy: PolicyAnswer; view: View | undefined }) {
  const { off } = useValue(stats);
  if (!policy.meter || off) return null;
  const { unit, unmetered } = policy.meter;
  // As high as what comes, so that nothing jumps.
  if (!view) return <p class="spent">{NONE} spent</p>;
  const spent = spentIn(view.chart.stats, view.chart.span, policy);
  return (
    <p class="spent">
      <b>{amountOfMany(spent, unit)}</b> spent in the {timeText(view)}, in all regions:{" "}
      <b>{amountOfMany((spent / view.chart.seconds) * HOUR_S, unit)}</b> an hour.
      {typeof unmetered === "object" && " What requests cost that nobody can meter is not in it."}
    </p>
  );
}

/** Undefined: there are no counts, or not yet. */
export function rateOf(policy: PolicyAnswer, view: View | undefined): SpendingRate | undefined {
  if (!view) return undefined;
  const spent = spentIn(view.chart.stats, view.chart.span, policy);
  return { perMs: spent / (view.chart.seconds * 1_000), over: timeText(view) };
}

function timeText({ state, chart }: View): string {
  return zoom.get() ? "chosen time" : rangeText(state.minutes, chart.seconds);
}
