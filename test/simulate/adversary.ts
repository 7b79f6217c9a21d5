/** Isolates with any clocks and networks, and requests at the worst moments. Records what the isolates admitted. */

import fc from "fast-check";
import { createWorld, type Mode, type World } from "../../scripts/simulate/world.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { ENFORCED, type KeyRequest } from "../../src/kernel/core/take.ts";
import type { PartReply } from "../../src/kernel/place/taker.ts";
import { StoreError } from "../../src/kernel/store/store.ts";
import { mulberry32 } from "../support/mulberry32.ts";
import { virtualTime } from "../support/virtual-time.ts";

/** A boundary of every bucket used below, in ms since the epoch. */
const START_MS = 1_800_000_000_000;
export const KEYS = ["a", "b"] as const;
export type Key = (typeof KEYS)[number];

/** Requests to one isolate, close together. */
interface Burst {
  readonly isolate: number;
  /** The bucket to which the burst is aligned, and the time from the burst's beginning to the end of that bucket. */
  readonly bucket: number;
  readonly beforeEndMs: number;
  readonly requests: number;
  readonly everyMs: number;
  readonly cost: number;
  readonly keys: readonly Key[];
}

export interface Traffic {
  readonly mode: Mode;
  readonly limits: Readonly<Record<Key, LimitSpec>>;
  /** The length of the buckets to which bursts are aligned. */
  readonly bucketMs: number;
  /** For each isolate: how far its clock is ahead, and the delay of its slowest message. */
  readonly isolates: readonly { readonly offsetMs: number; readonly slowestMs: number }[];
  readonly bursts: readonly Burst[];
  /** The part of the replies that is lost. */
  readonly lost: number;
  readonly seed: number;
}

export interface Admission {
  readonly key: Key;
  readonly atMs: number;
  readonly units: number;
  readonly isLocal: boolean;
}

const BUCKETS = 12;

/**
 * @param isPlain every request has one key and costs 1, and round trips take less than 1 s.
 * @param mayLose some replies are lost.
 */
export function traffics<L extends LimitSpec>(
  mode: Mode,
  spans: fc.Arbitrary<number>,
  limitOf: (bucketMs: number) => fc.Arbitrary<L>,
  { mayLose, isPlain }: { mayLose: boolean; isPlain: boolean },
): fc.Arbitrary<Traffic> {
  const isolates = fc.array(
    fc.record({
      offsetMs: fc.integer({ min: -30_000, max: 30_000 }),
      slowestMs: fc.constantFrom(0, 20, 150, isPlain ? 50 : 600),
    }),
    { minLength: 1, maxLength: 5 },
  );
  return fc.tuple(spans, isolates).chain(([bucketMs, isolates]) => {
    const burst = fc.record({
      isolate: fc.nat(isolates.length - 1),
      bucket: fc.integer({ min: 0, max: BUCKETS - 1 }),
      beforeEndMs: fc.oneof(fc.integer({ min: -5, max: 20 }), fc.integer({ min: 0, max: bucketMs })),
      requests: fc.integer({ min: 1, max: 80 }),
      everyMs: fc.constantFrom(0, 0.5, 1, 7, bucketMs / 20),
      cost: isPlain ? fc.constant(1) : fc.constantFrom(1, 1, 1, 2, 5),
      keys: fc.constantFrom<(readonly Key[])[]>(["a"], ["b"], isPlain ? ["a"] : KEYS),
    });
    return fc.record({
      mode: fc.constant(mode),
      limits: fc.record({ a: limitOf(bucketMs), b: limitOf(bucketMs) }),
      bucketMs: fc.constant(bucketMs),
      isolates: fc.constant(isolates),
      bursts: fc.array(burst, { minLength: 4, maxLength: 15 }),
      lost: mayLose ? fc.constantFrom(0, 0, 0.1) : fc.constant(0),
      seed: fc.integer(),
    });
  });
}

/** @param seen is called with each answer, at the instant of the answer. */
export async function run(
  traffic: Traffic,
  seen?: (world: World, keys: readonly KeyRequest[], answer: PartReply) => Promise<void>,
): Promise<{ admissions: Admission[]; world: World }> {
  const { limits, bursts, bucketMs, lost, mode } = traffic;
  const time = virtualTime(START_MS);
  const world = createWorld(time, true);
  const random = mulberry32(traffic.seed);
  // Each message has its own delay, so replies overtake each other.
  const isolates = traffic.isolates.map(({ offsetMs, slowestMs }) =>
    world.isolate({ delayMs: () => slowestMs * random(), isLost: () => random() < lost }, offsetMs),
  );
  const admissions: Admission[] = [];
  const ask = async ({ isolate, cost, keys: names }: Burst) => {
    const keys = names.map((key): KeyRequest => ({ key, group: ENFORCED, cost, limits: [limits[key]] }));
    const answer = await isolates[isolate]!.take(keys, mode).catch((error) => {
      if (!(error instanceof StoreError)) throw error;
      return undefined;
    });
    if (!answer) return;
    const { reply, source } = answer;
    const isLocal = source === "lease";
    const atMs = isLocal ? time.nowMs() : reply.nowMs;
    if (reply.allowed) admissions.push(...names.map((key) => ({ key, atMs, units: cost, isLocal })));
    await seen?.(world, keys, answer);
  };
  const failures: unknown[] = [];
  for (const burst of bursts) {
    const fromMs = START_MS + (burst.bucket + 1) * bucketMs - burst.beforeEndMs;
    for (let i = 0; i < burst.requests; i++) {
      time.at(fromMs + i * burst.everyMs, () => void ask(burst).catch((error) => failures.push(error)));
    }
  }
  await time.runUntil(START_MS + 2 * BUCKETS * bucketMs + 5_000);
  if (failures.length > 0) throw failures[0];
  return { admissions: admissions.sort((a, b) => a.atMs - b.atMs), world };
}

/** The admissions of one key. */
export const of = (admissions: readonly Admission[], wanted: Key) => admissions.filter(({ key }) => key === wanted);

/** The most units in any span of this length. The span includes its beginning and excludes its end. */
export function mostUnits(sorted: readonly Admission[], spanMs: number): number {
  let [most, sum, from] = [0, 0, 0];
  for (const { atMs, units } of sorted) {
    sum += units;
    while (sorted[from]!.atMs <= atMs - spanMs) sum -= sorted[from++]!.units;
    most = Math.max(most, sum);
  }
  return most;
}
