/** One run under `shared`: traffic of one key over many isolates, and what they admit in each window. */

import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED } from "../../../src/kernel/core/take.ts";
import type { BucketLimit } from "../../../src/kernel/core/token-bucket.ts";
import type { FixedWindowLimit, WindowLimit } from "../../../src/kernel/core/window.ts";
import { mulberry32 } from "../../../test/support/mulberry32.ts";
import { virtualTime } from "../../../test/support/virtual-time.ts";
import { createWorld } from "../world.ts";

export interface Scenario {
  readonly limit: LimitSpec;
  readonly syncMs: number;
  /** Requests per window, relative to the limit. */
  readonly demand: number;
  readonly isolates: number;
  /** Zipf with this exponent over the isolates. 0: all have the same traffic. */
  readonly zipf: number;
  /** The delay one way between an isolate and the store, in ms. */
  readonly delayMs: readonly [min: number, max: number];
  readonly windows: number;
  readonly seed: number;
}

export interface Measured {
  /** Per second and isolate. */
  readonly calls: number;
  /** Units admitted in the first window of the clock, relative to the smaller of demand and limit. */
  readonly first: number;
  /** The same of all later windows together. */
  readonly later: number;
  /** The most units in one window of the clock that begins after the second `sync`, relative to the limit. */
  readonly worst: number;
  /** The units admitted before the second `sync` has passed, relative to the limit. */
  readonly atOnce: number;
}

/** A beginning of windows of every length here. */
const START_MS = 1_700_000_040_000;

export async function simulate(scenario: Scenario): Promise<Measured> {
  const { limit, syncMs, demand, isolates: count, windows } = scenario;
  const { windowMs } = algorithmOf(limit).capacity(limit);
  const { limit: perWindow } = limit as WindowLimit | FixedWindowLimit | BucketLimit;
  const random = mulberry32(scenario.seed);
  const time = virtualTime(START_MS);
  const world = createWorld(time);
  const [min, max] = scenario.delayMs;
  const weights = Array.from({ length: count }, (_, i) => (i + 1) ** -scenario.zipf);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const endMs = START_MS + windows * windowMs;
  const requested = new Array<number>(windows).fill(0);
  const admitted = new Array<number>(windows).fill(0);
  const knownAtMs = START_MS + 2 * syncMs + 2 * max;
  let unknowing = 0;

  for (const weight of weights) {
    const base = min + (max - min) * random();
    const jitter = mulberry32(Math.floor(random() * 2 ** 32));
    const delayMs = () => base * (0.9 + 0.2 * jitter());
    const isolate = world.isolate(delayMs, Math.round((random() - 0.5) * 60_000), jitter);
    const keys = [{ key: "k", group: ENFORCED, cost: 1, limits: [limit], syncMs }];
    const perMs = (perWindow * demand * weight) / total / windowMs;
    const next = () => time.nowMs() - Math.log(1 - random()) / perMs;
    const request = async () => {
      const atMs = time.nowMs();
      if (atMs >= endMs) return;
      time.at(next(), request);
      const window = Math.floor((atMs - START_MS) / windowMs);
      requested[window]!++;
      const { reply } = await isolate.take(keys, "shared");
      if (!reply.allowed) return;
      admitted[window]!++;
      if (atMs < knownAtMs) unknowing++;
    };
    time.at(next(), request);
  }
  await time.runUntil(endMs + windowMs);

  const wanted = requested.map((requests) => Math.min(requests, perWindow));
  const sum = (of: readonly number[]) => of.reduce((all, one) => all + one, 0);
  return {
    calls: world.calls() / count / ((windows * windowMs) / 1_000),
    first: admitted[0]! / wanted[0]!,
    later: sum(admitted.slice(1)) / sum(wanted.slice(1)),
    worst: Math.max(...admitted.slice(1)) / perWindow,
    atOnce: unknowing / perWindow,
  };
}
