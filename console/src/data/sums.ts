/** What the counts of some time add up to. Pure: every number about traffic on a page comes from here. */

import type { At, Outcome, StatsAnswer, StatsPoint, StoreCalls } from "../api.ts";

/** From (included) until (not included), in ms since the epoch. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface SpanTotals extends Readonly<Record<Outcome, number>> {
  readonly all: number;
  /** Decisions by who answered: see `WHO`. */
  readonly isolate: number;
  readonly store: number;
  readonly fallback: number;
}

/** Sources in an isolate. `fallback` is a group of its own, and every other word is a store. */
const IN_ISOLATE = ["cache", "lease", "shared", "live"];

export function groupOf(source: string): "isolate" | "store" | "fallback" {
  if (source === "fallback") return "fallback";
  return IN_ISOLATE.includes(source) ? "isolate" : "store";
}

export const NOTHING: SpanTotals = {
  ...{ admitted: 0, overflowed: 0, refused: 0, banned: 0, spared: 0, shadow_refused: 0, blocked: 0, unavailable: 0 },
  ...{ all: 0, isolate: 0, store: 0, fallback: 0 },
};

/** A day of counts has 100,000 points, and 1,440 instants. */
const instants = new Map<string, number>();
const MAX_INSTANTS = 10_000;

export function msOf({ at }: At): number {
  let ms = instants.get(at);
  if (ms === undefined) {
    if (instants.size >= MAX_INSTANTS) instants.clear();
    ms = Date.parse(at);
    instants.set(at, ms);
  }
  return ms;
}

export function within<T extends At>(list: readonly T[], { fromMs, toMs }: Span): T[] {
  return list.filter((one) => {
    const ms = msOf(one);
    return ms >= fromMs && ms < toMs;
  });
}

export function sum(points: readonly StatsPoint[]): SpanTotals {
  const sums = { ...NOTHING };
  for (const { outcome, source, count } of points) {
    sums[outcome] = (sums[outcome] ?? 0) + count;
    sums.all += count;
    sums[groupOf(source)] += count;
  }
  return sums;
}

/** Sums of each name in use, the largest first. */
export function sumBy(
  points: readonly StatsPoint[],
  nameOf: (point: StatsPoint) => string,
): (readonly [string, SpanTotals])[] {
  const groups = Map.groupBy(points, nameOf);
  return [...groups].map(([name, list]) => [name, sum(list)] as const).sort(([, a], [, b]) => b.all - a.all);
}

export function total(list: readonly { readonly count: number }[]): number {
  return list.reduce((all, { count }) => all + count, 0);
}

/** What the answers of a model have used under a policy. */
export interface ModelUse {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  /** Settled, in units of the meter. */
  readonly units: number;
}

/** The word of the gateway for names that it does not count one by one. */
const OTHER = "other";

/** By model, the most units first. Those after the first `most` are summed, with those that have no own name. */
export function modelsIn(stats: StatsAnswer, span: Span, policy: string, most: number): ModelUse[] {
  const uses = new Map<string, ModelUse>();
  const add = (model: string, more: Partial<ModelUse>) => {
    const { input = 0, output = 0, units = 0 } = uses.get(model) ?? {};
    uses.set(model, {
      ...{ model, input: input + (more.input ?? 0), output: output + (more.output ?? 0) },
      units: units + (more.units ?? 0),
    });
  };
  const own = <T extends At & { readonly policy: string }>(list: readonly T[]) =>
    within(list, span).filter((one) => one.policy === policy);
  for (const { model, count } of own(stats.settled)) add(model, { units: count });
  for (const { model, type, count } of own(stats.tokens)) add(model, { [type]: count });
  const sorted = [...uses.values()].sort((a, b) => b.units - a.units || b.input + b.output - a.input - a.output);
  const isNamed = ({ model }: ModelUse) => model !== OTHER;
  const rest = [...sorted.filter(isNamed).slice(most), ...sorted.filter((one) => !isNamed(one))];
  if (rest.length > 0) uses.delete(OTHER);
  for (const one of rest) add(OTHER, one);
  return [...sorted.filter(isNamed).slice(0, most), ...(rest.length > 0 ? [uses.get(OTHER)!] : [])];
}

/** Refused by this policy, banned or blocked: what its clients felt. */
export function refusals({ refused, banned, blocked }: Pick<SpanTotals, "refused" | "banned" | "blocked">): number {
  return refused + banned + blocked;
}

/** Time in equal steps, from `fromMs` on. */
export interface Grid {
  readonly fromMs: number;
  readonly stepMs: number;
  readonly length: number;
}

/** More bars than this are too thin to tell apart. */
const MAX_BARS = 120;
const STEPS_MIN = [1, 2, 5, 10, 15, 30, 60, 120, 240, 360, 720, 1_440];

/** @param pointMs how long one point lasts: no step is shorter. */
export function gridOf({ fromMs, toMs }: Span, pointMs: number): Grid {
  const fits = (minutes: number) => minutes * 60_000 >= pointMs && (toMs - fromMs) / (minutes * 60_000) <= MAX_BARS;
  const stepMs = (STEPS_MIN.find(fits) ?? STEPS_MIN.at(-1)!) * 60_000;
  const first = Math.floor(fromMs / stepMs) * stepMs;
  return { fromMs: first, stepMs, length: Math.max(1, Math.ceil((toMs - first) / stepMs)) };
}

/** Counts by step of the grid. Null: nothing was counted in this step, which is a gap and not a zero. */
export function along<T extends At & { readonly count: number }>(
  list: readonly T[],
  { fromMs, stepMs, length }: Grid,
  counts: (one: T) => boolean = () => true,
): (number | null)[] {
  const steps = new Array<number | null>(length).fill(null);
  for (const one of list) {
    const i = Math.floor((msOf(one) - fromMs) / stepMs);
    if (i >= 0 && i < length) steps[i] = (steps[i] ?? 0) + (counts(one) ? one.count : 0);
  }
  return steps;
}

export interface Latency {
  readonly count: number;
  /** Exact, in seconds. */
  readonly mean: number;
  /** Upper bounds in seconds of the half and of 99 %: no more is known. Infinity: above the largest bound. */
  readonly p50: number;
  readonly p99: number;
  /** Calls whose outcome is not `ok`. */
  readonly failed: number;
}

/** Undefined: no store was asked. */
export function latency(calls: readonly StoreCalls[]): Latency | undefined {
  const count = total(calls);
  if (count === 0) return undefined;
  const byBound = new Map<number, number>();
  for (const { seconds } of calls) {
    for (const [le, n] of Object.entries(seconds)) {
      const bound = le === "+Inf" ? Number.POSITIVE_INFINITY : Number(le);
      byBound.set(bound, (byBound.get(bound) ?? 0) + n);
    }
  }
  const bounds = [...byBound].sort(([a], [b]) => a - b);
  const timed = bounds.reduce((all, [, n]) => all + n, 0);
  const quantile = (share: number) => {
    let below = 0;
    for (const [bound, n] of bounds) {
      below += n;
      if (below >= timed * share) return bound;
    }
    return Number.POSITIVE_INFINITY;
  };
  return {
    count,
    mean: calls.reduce((all, { sum }) => all + sum, 0) / count,
    p50: quantile(0.5),
    p99: quantile(0.99),
    failed: total(calls.filter(({ outcome }) => outcome !== "ok")),
  };
}

/** Until when the counts can be complete: every isolate hands on within one flush. */
export function completeUntilMs({ heard, flush }: StatsAnswer): number {
  return heard === null ? 0 : Date.parse(heard) - flush * 1_000;
}

/**
 * How many seconds the counts of a span cover. At its end each isolate's counts are half a flush old on average.
 *
 * @param firstMs where the first point begins: a gateway that has just begun has counted for less.
 */
export function coveredSeconds({ fromMs, toMs }: Span, { heard, flush }: StatsAnswer, firstMs = fromMs): number {
  const end = heard === null ? toMs : Math.min(toMs, Date.parse(heard) - flush * 500);
  return Math.max(1, (end - Math.max(fromMs, firstMs)) / 1_000);
}
