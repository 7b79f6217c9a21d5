/** Where axes have their lines, and what is written at them. D3 chooses round numbers and round instants. Pure. */

import { nice, ticks } from "d3-array";
import { timeDay, timeTicks } from "d3-time";
import { clock, day } from "../parts/time.tsx";

/** D3 takes this as a wish: it draws between three and six lines. */
const LINES = 3;
const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 });

interface RateAxis {
  /** The upper end of the axis, per second. */
  readonly most: number;
  readonly lines: readonly { readonly perSecond: number; readonly text: string }[];
}

/** From zero to at least `most`. The whole axis has one unit: slow traffic per minute, and slower per hour. */
export function rateAxis(most: number): RateAxis {
  const [seconds, unit] = most >= 1 ? [1, "/s"] : most * 60 >= 1 ? [60, "/min"] : [3_600, "/h"];
  const [, top] = nice(0, most * seconds, LINES);
  return {
    most: top / seconds,
    lines: ticks(0, top, LINES).map((n) => ({
      perSecond: n / seconds,
      text: n === 0 ? "0" : `${NUMBER.format(n)}${unit}`,
    })),
  };
}

/**
 * Instants at which the reader's clock shows round times: the day at midnight, and the time at any other.
 *
 * @param wished how many. D3 gives up to 2.3 times as many.
 * @param leastMs one that would be nearer to the one before is left out.
 */
export function timeAxis(
  fromMs: number,
  toMs: number,
  wished: number,
  leastMs: number,
): readonly { readonly atMs: number; readonly text: string }[] {
  const shown: { atMs: number; text: string }[] = [];
  for (const at of timeTicks(new Date(fromMs), new Date(toMs), wished)) {
    const atMs = at.getTime();
    // D3 counts days from the first of each month: after the 31st comes the 1st, although the step is two days.
    if (atMs - (shown.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < leastMs) continue;
    shown.push({ atMs, text: timeDay(at).getTime() === atMs ? day(atMs) : clock(atMs) });
  }
  return shown;
}
