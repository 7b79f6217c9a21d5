/** Which time and region a page tells of, and its counts: the last 5 minutes, unless a part of the chart is chosen. */

import { now, type StatsAnswer, type StatsPoint } from "../api.ts";
import { chooseRange, RANGES, type StatsState, stats } from "./stats.ts";
import { completeUntilMs, coveredSeconds, type Grid, gridOf, msOf, type Span, within } from "./sums.ts";
import { createValue, useValue } from "./value.ts";

export const zoom = createValue<Span | undefined>(undefined);
/** Undefined: all. */
export const region = createValue<string | undefined>(undefined);

/** The view as an address holds it: `range=360&from=…&to=…&region=eu`. Empty: as it is at first. */
export function viewText(): string {
  const [{ minutes }, span, only] = [stats.get(), zoom.get(), region.get()];
  const iso = (ms: number) => new Date(ms).toISOString();
  return [
    ...(minutes === RANGES[0]![0] ? [] : [`range=${minutes}`]),
    ...(span ? [`from=${iso(span.fromMs)}`, `to=${iso(span.toMs)}`] : []),
    ...(only === undefined ? [] : [`region=${encodeURIComponent(only)}`]),
  ].join("&");
}

export function showView(text: string): void {
  const told = new URLSearchParams(text);
  // A link may name any time: there are counts of so long, and a chart of a thousand years is none.
  const at = now();
  const fromMs = Math.max(Date.parse(told.get("from") ?? ""), at - RANGES.at(-1)![0] * MINUTE_MS);
  const toMs = Math.min(Date.parse(told.get("to") ?? ""), at);
  const span = fromMs < toMs ? { fromMs, toMs } : undefined;
  // A chosen time grows older: a longer range may be needed to see it.
  const leastMs = Math.max((Number(told.get("range")) || 0) * MINUTE_MS, span ? at - fromMs : 0);
  const [minutes] = RANGES.find(([one]) => one * MINUTE_MS >= leastMs) ?? RANGES.at(-1)!;
  if (minutes !== stats.get().minutes) chooseRange(minutes);
  zoom.set(span);
  region.set(told.get("region") ?? undefined);
}

const NOW_MINUTES = 5;
const MINUTE_MS = 60_000;

interface Counts {
  readonly stats: StatsAnswer;
  readonly span: Span;
  readonly points: readonly StatsPoint[];
  /** How many of the span's seconds are counted. */
  readonly seconds: number;
}

export interface View {
  readonly state: StatsState;
  /** Of the chart: the whole range, or the part that was chosen. */
  readonly chart: Counts & { readonly grid: Grid };
  /** Of tiles and tables. `text`: `last 5 min`. */
  readonly numbers: Counts & { readonly text: string };
}

/** Undefined: nothing was read yet. */
export function useView(): View | undefined {
  const state = useValue(stats);
  const chosen = useValue(zoom);
  const only = useValue(region);
  const { history, recent, minutes } = state;
  if (!history || !recent) return undefined;
  const at = now();
  const pointMs = history.step * 1_000;
  const whole = { fromMs: Math.floor((at - minutes * MINUTE_MS) / pointMs + 1) * pointMs, toMs: at };
  const span = chosen ?? whole;
  const ofRegion = (points: readonly StatsPoint[]) =>
    only === undefined ? points : points.filter((point) => point.region === only);
  const first = history.points.reduce((least, point) => Math.min(least, msOf(point)), Number.POSITIVE_INFINITY);
  const chart = {
    stats: history,
    span,
    grid: gridOf(span, pointMs),
    points: within(ofRegion(history.points), span),
    seconds: coveredSeconds(
      { ...span, toMs: Math.min(span.toMs, at) },
      history,
      history.points.length > 0 ? first : undefined,
    ),
  };
  const ofNumbers = chosen ? history : recent;
  const numbersSpan = chosen ?? {
    fromMs: Math.floor(at / MINUTE_MS - NOW_MINUTES + 1) * MINUTE_MS,
    toMs: at + MINUTE_MS,
  };
  const points = within(ofRegion(ofNumbers.points), numbersSpan);
  return {
    state,
    chart,
    numbers: {
      stats: ofNumbers,
      span: numbersSpan,
      points,
      seconds: coveredSeconds({ ...numbersSpan, toMs: Math.min(numbersSpan.toMs, at) }, ofNumbers, first),
      text: chosen ? "in the chosen time" : `last ${NOW_MINUTES} min`,
    },
  };
}

/** From when on the counts of a chart are still to come. */
export function partialFrom({ chart, state }: View): number {
  const { stats: history, grid } = chart;
  // An idle gateway says nothing, and nothing of long ago is to come.
  const isIdle = state.recent?.points.length === 0;
  const complete = completeUntilMs(isIdle ? { ...history, heard: new Date(now()).toISOString() } : history);
  return grid.fromMs + Math.max(0, Math.floor((complete - grid.fromMs) / grid.stepMs)) * grid.stepMs;
}

/** Rates of a chart's steps. The first and last step may have begun, or be going on. */
export function ratesOf({ chart }: View): (step: number, count: number) => number {
  const { grid, span } = chart;
  return (step, count) => {
    const fromMs = Math.max(span.fromMs, grid.fromMs + step * grid.stepMs);
    const toMs = Math.min(span.toMs, grid.fromMs + (step + 1) * grid.stepMs);
    // A step that has begun just now says nothing yet: count at least 5 s.
    return count / Math.max(5, (toMs - fromMs) / 1_000);
  };
}
