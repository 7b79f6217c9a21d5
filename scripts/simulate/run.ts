/** One run: traffic of one key over many isolates, and its measurements. */

import { Kind } from "../../src/kernel/core/algorithm.ts";
import { ENFORCED } from "../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../src/kernel/core/window.ts";
import { mostWithin } from "../../test/support/most-within.ts";
import { mulberry32 } from "../../test/support/mulberry32.ts";
import { virtualTime } from "../../test/support/virtual-time.ts";
import { createWorld, type Mode } from "./world.ts";

export interface Scenario {
  readonly limit: WindowLimit;
  readonly windowMs: number;
  /** Requests per window, relative to the limit. */
  readonly demand: number;
  readonly mode: Exclude<Mode, "shared">;
  readonly isolates: number;
  /** The delay one way between an isolate and the store, in ms. */
  readonly delayMs: readonly [min: number, max: number];
  /** How many windows are simulated. */
  readonly windows: number;
  /** `bursts`: all isolates begin at the same instant, send for one window, and are silent for two. */
  readonly arrivals: "steady" | "bursts";
  readonly seed: number;
}

export interface Measured {
  readonly callsPerRequest: number;
  /** The part of the requests that were answered at once. */
  readonly withoutWait: number;
  /** The most units admitted in any true window. */
  readonly mostInWindow: number;
  /** What the limit's own counter says of the admissions, at most: above the limit, the promise is broken. */
  readonly mostCounted: number;
  /** Admitted units, divided by the units that demand and limit allow. */
  readonly used: number;
  /** Admissions per tenth of a window, for the chart. */
  readonly perTenth: readonly number[];
}

const START_MS = 1_700_000_000_000;
const BURST_EVERY = 3;

export async function simulate(scenario: Scenario): Promise<Measured> {
  const { limit, windowMs, isolates: count, windows, mode } = scenario;
  const random = mulberry32(scenario.seed);
  const time = virtualTime(START_MS);
  const world = createWorld(time);
  const [min, max] = scenario.delayMs;
  const isolates = Array.from({ length: count }, () => {
    const base = min + (max - min) * random();
    const jitter = mulberry32(Math.floor(random() * 2 ** 32));
    return world.isolate(() => base * (0.9 + 0.2 * jitter()), Math.round((random() - 0.5) * 60_000));
  });
  const arrivals = arrivalsOf(scenario, random);

  const admittedAtMs: number[] = [];
  let withoutWait = 0;
  for (const { atMs, isolate } of arrivals) {
    time.at(atMs, async () => {
      const keys = [{ key: "k", group: ENFORCED, cost: 1, limits: [limit] }];
      const { reply, source } = await isolates[isolate]!.take(keys, mode);
      if (time.nowMs() === atMs) withoutWait++;
      if (reply.allowed) admittedAtMs.push(source === "lease" ? time.nowMs() : reply.nowMs);
    });
  }
  const endMs = START_MS + windows * windowMs;
  await time.runUntil(endMs + 2 * windowMs);

  const sending = scenario.arrivals === "steady" ? windows : Math.ceil(windows / BURST_EVERY);
  admittedAtMs.sort((a, b) => a - b);
  const perTenth = new Array<number>(windows * 10).fill(0);
  for (const atMs of admittedAtMs) {
    const tenth = Math.floor(((atMs - START_MS) / windowMs) * 10);
    if (tenth < perTenth.length) perTenth[tenth]!++;
  }
  return {
    callsPerRequest: world.calls() / arrivals.length,
    withoutWait: withoutWait / arrivals.length,
    mostInWindow: mostWithin(admittedAtMs, windowMs),
    mostCounted: mostCounted(
      admittedAtMs.map((atMs) => ({ atMs, units: 1 })),
      limit,
    ),
    used: admittedAtMs.length / Math.min(arrivals.length, limit.limit * sending),
    perTenth,
  };
}

interface Arrival {
  readonly atMs: number;
  readonly isolate: number;
}

/** Zipf with exponent 1 over the isolates: the n-th isolate gets 1/n of the traffic of the first. */
function arrivalsOf(scenario: Scenario, random: () => number): Arrival[] {
  const { limit, windowMs, demand, windows, arrivals } = scenario;
  const weights = Array.from({ length: scenario.isolates }, (_, i) => 1 / (i + 1));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const all = weights.flatMap((weight, isolate) => {
    const perMs = (limit.limit * demand * weight) / total / windowMs;
    return poisson(perMs, windows * windowMs, random).map((afterMs) => ({ afterMs, isolate }));
  });
  return all
    .filter(({ afterMs }) => arrivals === "steady" || Math.floor(afterMs / windowMs) % BURST_EVERY === 0)
    .map(({ afterMs, isolate }) => ({ atMs: START_MS + afterMs, isolate }))
    .sort((a, b) => a.atMs - b.atMs);
}

/** Independent arrivals at a mean rate. */
function poisson(perMs: number, durationMs: number, random: () => number): number[] {
  const instants: number[] = [];
  for (let afterMs = 0; ; ) {
    afterMs -= Math.log(1 - random()) / perMs;
    if (afterMs >= durationMs) return instants;
    instants.push(afterMs);
  }
}

/**
 * The algorithm's own promise, as a number: counts the admissions anew at their instants, with the formula of
 * docs/algorithms.md, and returns the largest count. A strict limiter that decides at these instants admits all of them
 * if the count is never above the limit.
 *
 * @param sorted by instant.
 */
export function mostCounted(
  sorted: readonly { readonly atMs: number; readonly units: number }[],
  { kind, bucketMs, buckets }: WindowLimit,
): number {
  const counts = new Map<number, number>();
  const countOf = (bucket: number) => counts.get(bucket) ?? 0;
  let most = 0;
  for (const { atMs, units } of sorted) {
    // The store's clock counts whole milliseconds.
    const nowMs = Math.floor(atMs);
    const bucket = Math.floor(nowMs / bucketMs);
    counts.set(bucket, countOf(bucket) + units);
    let counted = countOf(bucket - buckets) * (kind === Kind.weighted ? bucketMs - (nowMs % bucketMs) : bucketMs);
    for (let newest = 0; newest < buckets; newest++) counted += countOf(bucket - newest) * bucketMs;
    most = Math.max(most, counted / bucketMs);
  }
  return most;
}
