/** What the object answers by RPC, and what `GET /stats` makes of it: points by time, each with its labels' names. */

import type { Rejected } from "../../../kernel/store/rejected.ts";
import type { WarningBatch } from "../../alerts/batch.ts";
import type { Batch } from "../batch.ts";
import { type CountsText, certain, HOUR, type Lists, sumsIn, whereOf } from "./counts.ts";

/** The object, as its callers see it. */
export interface StatsObject {
  add(batch: Batch): Promise<undefined | Rejected>;
  /** Objects of versions before warnings have no such method. */
  warn(batch: WarningBatch): Promise<undefined | Rejected>;
  read(minutes: number): Promise<Recent>;
  totals(): Promise<Totals>;
}

/** Sums over time: for each series a list with one number a step. */
export interface Timeline {
  /** The minute, since the epoch, at which the first step begins: a multiple of `step`. */
  readonly from: number;
  /** Minutes that a step covers. */
  readonly step: number;
  readonly series: ReadonlyMap<string, Float64Array>;
}

/** The last minutes. Series stand once and not with every point: a day is much smaller so. */
export interface Recent {
  readonly timeline: Timeline;
  readonly top: Lists;
  /** Where the first of them were refused. Absent: the object is of an older version. */
  readonly where?: Lists;
  /** Isolates that have stopped calling a place, by place. */
  readonly open: ReadonlyMap<string, number>;
  /** When the last batch arrived, ms since the epoch. */
  readonly heardAtMs: number | undefined;
}

export interface Totals {
  /** The sums since counting began, by series. A sum only grows, until its series is forgotten (counts.ts). */
  readonly sums: ReadonlyMap<string, number>;
  readonly open: ReadonlyMap<string, number>;
}

/** What `GET /stats` answers. */
export type StatsReply = ReturnType<typeof replyOf>;

/** `at` is the beginning of what the point covers. Points of 0 are left out. */
type Point<Label extends string> = { readonly at: string; readonly count: number } & Readonly<Record<Label, string>>;

/** The calls of a place. */
export interface StoreCalls extends Point<"place" | "outcome"> {
  /** Calls that took at most so long, and more than the next smaller bound. */
  readonly seconds: Readonly<Record<string, number>>;
  /** Of all calls together. */
  readonly sum: number;
}

export function replyOf({ timeline, top, where = {}, open, heardAtMs }: Recent, flushMs: number) {
  const { from, step, series } = timeline;
  const byMetric = new Map<string, [values: string[], sums: Float64Array][]>();
  for (const [name, sums] of series) {
    const [metric = "", ...values] = name.split("\t");
    byMetric.set(metric, [...(byMetric.get(metric) ?? []), [values, sums]]);
  }
  const instants = instantsOf(from, step);

  function points<Label extends string>(metric: string, ...labels: Label[]): Point<Label>[] {
    return (byMetric.get(metric) ?? []).flatMap(([values, sums]) => {
      const named = Object.fromEntries(labels.map((label, i) => [label, values[i] ?? ""])) as Record<Label, string>;
      return [...sums].flatMap((count, i) => (count > 0 ? [{ at: instants(i), ...named, count }] : []));
    });
  }

  function calls(): StoreCalls[] {
    const [seconds, sums] = [new Map<string, Record<string, number>>(), new Map<string, number>()];
    const name = ({ at, place, outcome }: Point<"place" | "outcome">) => [at, place, outcome].join("\t");
    for (const point of points("store_seconds", "place", "outcome", "le")) {
      seconds.set(name(point), { ...seconds.get(name(point)), [point.le]: point.count });
    }
    for (const point of points("store_seconds_sum", "place", "outcome")) sums.set(name(point), point.count / 1e6);
    return points("store_calls", "place", "outcome").map((point) => {
      return { ...point, seconds: seconds.get(name(point)) ?? {}, sum: sums.get(name(point)) ?? 0 };
    });
  }

  return {
    points: points("decisions", "policy", "region", "outcome", "source"),
    units: points("units", "policy", "outcome"),
    /** Units when answers were settled under a meter, and their tokens. */
    settled: points("settled_units", "policy", "paidFor", "model"),
    tokens: points("tokens", "policy", "model", "type"),
    /** Of the origin: `2xx` and so on; `none`. */
    responses: points("origin_responses", "status"),
    near: points("near_limit", "policy", "limit"),
    calls: calls(),
    fallback: points("fallback", "policy"),
    leases: points("lease_units", "policy", "event"),
    /** By policy, the most refused first. */
    top: Object.fromEntries(Object.entries(top).map(([policy, list]) => [policy, clientsOf(policy, list, where)])),
    /** The isolates that have stopped calling a place. */
    open: [...open].map(([place, isolates]) => ({ place, isolates })),
    /** When the last batch arrived. */
    heard: heardAtMs === undefined ? null : new Date(heardAtMs).toISOString(),
    /** Seconds that a point covers. */
    step: step * 60,
    /** How often an isolate hands its counts on, in seconds. */
    flush: flushMs / 1000,
  };
}

/** A client whose refusals may all be another's is not named. */
function clientsOf(policy: string, entries: Lists[string], where: Lists) {
  return entries
    .map((entry) => ({ key: entry[0], refused: certain(entry), where: placesOf(where[whereOf(policy, entry[0])]) }))
    .filter(({ refused }) => refused > 0);
}

function placesOf(entries: Lists[string] = []) {
  const places = entries.map((entry) => {
    const [route = "", country = ""] = entry[0].split("\t");
    return { route, country, refused: certain(entry) };
  });
  return places.filter(({ refused }) => refused > 0);
}

/** Writing an instant takes longer than the rest of a point: each instant is written once. */
function instantsOf(from: number, step: number): (i: number) => string {
  const written: string[] = [];
  return (i) => {
    written[i] ??= new Date((from + i * step) * 60_000).toISOString();
    return written[i];
  };
}

/**
 * A point costs about 110 bytes in the answer. With more points than this, each covers a longer time: 100 series that
 * count all day are 144,000 points of a minute, and 28,800 of five minutes (3 MB).
 */
const MAX_POINTS = 100_000;
/** Minutes that a point may cover. Each divides the next one. */
const STEPS = [1, 5, 15, 60, 360, 1_440];

/**
 * @param from the first minute that counts. @param until the last one. @param rows whose sums are counted; what lies
 * outside of the time is left out.
 */
export function timelineOf(
  from: number,
  until: number,
  step: number,
  rows: Iterable<Pick<CountsText, "sums">>,
): Timeline {
  const start = from - (from % step);
  const length = Math.floor((until - start) / step) + 1;
  const series = new Map<string, Float64Array>();
  for (const row of rows) {
    for (const [minute, name, sum] of sumsIn(row.sums)) {
      const at = Math.floor((minute - start) / step);
      if (at < 0 || at >= length) continue;
      const sums = series.get(name) ?? new Float64Array(length);
      sums[at]! += sum;
      series.set(name, sums);
    }
  }
  return { from: start, step, series };
}

/** The same with fewer points, if there are too many. */
export function shortened(timeline: Timeline, maxPoints = MAX_POINTS): Timeline {
  const longer = STEPS.find((step) => step > timeline.step);
  if (longer === undefined || pointsOf(timeline) <= maxPoints) return timeline;
  return shortened(withStep(timeline, longer), maxPoints);
}

export function hourOf(minute: number): number {
  return minute - (minute % HOUR);
}

function withStep({ from, step, series }: Timeline, longer: number): Timeline {
  const start = from - (from % longer);
  const longerSums = [...series].map(([name, sums]): [string, Float64Array] => {
    const length = Math.floor((from - start + (sums.length - 1) * step) / longer) + 1;
    const merged = new Float64Array(length);
    for (const [i, sum] of sums.entries()) merged[Math.floor((from - start + i * step) / longer)]! += sum;
    return [name, merged];
  });
  return { from: start, step: longer, series: new Map(longerSums) };
}

function pointsOf({ series }: Timeline): number {
  let points = 0;
  for (const sums of series.values()) for (const sum of sums) if (sum > 0) points++;
  return points;
}
