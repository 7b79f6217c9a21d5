// What the windows promise about all admitted requests. The checks share no formula with src/kernel/core.

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { periodAt } from "../../../src/kernel/core/periods.ts";
import type { LogLimit } from "../../../src/kernel/core/sliding-log.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { history, instant, largestLimit, windowLimit } from "../../support/cases/arbitrary.ts";
import { calendarLimit, fixedWindowLimit, logLimit } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { ExactWindow } from "../../support/cases/exact-window.ts";
import { type Asked, look, mostAdmittedWithin, replay } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

const RUNS = draws(1_000);
const WEIGHTED = { kind: Kind.weighted } as const;

/** @param beginOf the begin of the window in which an instant lies. */
function expectExact<L extends LimitSpec>(limits: fc.Arbitrary<L>, beginOf: (limit: L, atMs: number) => number): void {
  const property = fc.property(limits, instant, history, (limit, startMs, events) => {
    const used = new Map<number, number>();
    const { asked } = replay(limit, startMs, events);
    const right = asked.map(({ atMs, cost, allowed }) => {
      const beginsMs = beginOf(limit, atMs);
      const sum = (used.get(beginsMs) ?? 0) + cost;
      if (allowed) used.set(beginsMs, sum);
      return sum <= limit.limit;
    });
    expect(asked.map(({ allowed }) => allowed)).toEqual(right);
  });
  fc.assert(property, RUNS);
}

it("fixed window: admits a cost exactly when its aligned window has room for it", () => {
  expectExact(fixedWindowLimit, ({ windowMs }, atMs) => atMs - (atMs % windowMs));
});

it("calendar: admits a cost exactly when its period has room for it", () => {
  // periods.test.ts shows that these are the periods.
  expectExact(calendarLimit, (limit, atMs) => periodAt(limit, atMs).startsAtMs);
});

it("sliding log: admits a cost exactly when the true window that ends now has room for it", () => {
  const property = fc.property(logLimit, instant, history, (limit, startMs, events) => {
    const admitted: Asked[] = [];
    const { asked } = replay(limit, startMs, events);
    const right = asked.map((one) => {
      const recent = admitted.filter(({ atMs }) => one.atMs - atMs < limit.windowMs);
      const used = recent.reduce((sum, { cost }) => sum + cost, 0);
      if (one.allowed) admitted.push(one);
      return used + one.cost <= limit.limit;
    });
    expect(asked.map(({ allowed }) => allowed)).toEqual(right);
  });
  fc.assert(property, RUNS);
});

/** A true window of W ms begins at its first ms and ends W - 1 ms later. */
const SPANS: readonly [what: string, fc.Arbitrary<LimitSpec>, spanMs: (limit: never) => number, times?: number][] = [
  ["in a true window, as a log", logLimit, ({ windowMs }: LogLimit) => windowMs - 1],
  ["in a true window, whole", windowLimit({ kind: Kind.whole }), (one: WindowLimit) => one.buckets * one.bucketMs],
  ["in a window without a bucket", windowLimit(WEIGHTED), (one: WindowLimit) => (one.buckets - 1) * one.bucketMs],
  [
    "twice in a window of two buckets",
    windowLimit({ ...WEIGHTED, buckets: 1 }),
    (one: WindowLimit) => one.bucketMs - 1,
    2,
  ],
];

it.each(SPANS)("never more than the limit is admitted %s", (_, limits, spanMs, times = 1) => {
  const property = fc.property(limits, instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    expect(mostAdmittedWithin(spanMs(limit as never), asked)).toBeLessThanOrEqual(times * limit.limit - (times - 1));
  });
  fc.assert(property, RUNS);
});

/** Steps of the clock in 1/1000 of a bucket. They go forward and back. */
const clockSteps = fc.array(fc.record({ step: fc.integer({ min: -3000, max: 3000 }), cost: fc.nat({ max: 5 }) }), {
  minLength: 5,
  maxLength: 60,
  size: "max",
});

it("never admits more after the clock stepped back than if it had stood still", () => {
  const property = fc.property(windowLimit(), clockSteps, (limit, steps) => {
    const counter = new Counter();
    const asked = [];
    let clockMs = 1_700_000_000_000;
    let chargedMs = 0; // the latest charge: a look leaves no trace in the state
    for (const { step, cost } of steps) {
      clockMs += Math.floor((step * limit.bucketMs) / 1000);
      const stoodStillMs = Math.max(clockMs, chargedMs);
      const still = counter.copy();
      // An instant before the newest bucket counts as the beginning of that bucket: the counter is no stricter than
      // that.
      const newestMs = Math.floor(chargedMs / limit.bucketMs) * limit.bucketMs;
      const atBeginning = counter.copy().takeOne(limit, cost, Math.max(clockMs, newestMs)).allowed;
      const { allowed } = counter.takeOne(limit, cost, clockMs);
      const wouldBeAllowed = still.takeOne(limit, cost, stoodStillMs).allowed;
      const isSame = !allowed || (wouldBeAllowed && isDeepStrictEqual(counter.values, still.values));
      if (allowed !== atBeginning || !isSame) {
        expect({ allowed, values: counter.values }).toEqual({ allowed: atBeginning, values: still.values });
        expect(wouldBeAllowed).toBe(true);
      }
      if (cost === 0) continue;
      if (allowed) chargedMs = stoodStillMs;
      asked.push({ atMs: stoodStillMs, cost, allowed });
    }
    const promisedMs = (limit.kind === Kind.whole ? limit.buckets : limit.buckets - 1) * limit.bucketMs;
    expect(mostAdmittedWithin(promisedMs, asked)).toBeLessThanOrEqual(limit.limit);
  });
  fc.assert(property, RUNS);
});

// Forced charges far above the limit: with the largest windows a product exceeds 2^53, and decisions must stay exact.
const LARGEST_BUCKET_MS = 31 * 86_400_000;

const largeBuckets = fc.oneof(
  fc.constant(LARGEST_BUCKET_MS),
  fc.integer({ min: LARGEST_BUCKET_MS - 1000, max: LARGEST_BUCKET_MS }),
  fc.integer({ min: 1, max: LARGEST_BUCKET_MS }),
);

const forcedCost = fc.oneof(
  fc.integer({ min: 1, max: 2 ** 31 }),
  fc.constant(2 ** 31),
  fc.integer({ min: 1, max: largestLimit(LARGEST_BUCKET_MS) }),
  fc.integer({ min: 1, max: 3 }),
);

const forcedSteps = fc.array(
  fc.record({
    advance: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1.5, noNaN: true }), fc.constantFrom(1, 2)),
    flag: fc.constantFrom(Flag.chargeAnyway, Flag.take),
    cost: forcedCost,
  }),
  { minLength: 5, maxLength: 40, size: "max" },
);

it("decides as exact integers do, also with counts of 2^31 in buckets of 31 days", () => {
  const property = fc.property(windowLimit({ bucketMs: largeBuckets }), forcedSteps, (limit, steps) => {
    const counter = new Counter();
    const oracle = new ExactWindow(limit);
    let nowMs = 1_700_000_000_000;
    for (const { advance, flag, cost } of steps) {
      nowMs += Math.floor(advance * limit.bucketMs);
      const admits = oracle.admits(cost, nowMs);
      expect(counter.takeOne(limit, cost, nowMs, flag).allowed).toBe(admits);
      if (admits || flag === Flag.chargeAnyway) oracle.charge(cost, nowMs);
      expect(look(counter, limit, nowMs).remaining).toBe(oracle.remaining(nowMs));
    }
  });
  fc.assert(property, draws(1_500));
});

it("caps a forced count at 2^31", () => {
  const limit: WindowLimit = { limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
  const counter = new Counter();
  for (const _ of [1, 2, 3]) counter.takeOne(limit, 1_000_000_000, 1000, Flag.chargeAnyway);
  expect(counter.total("key")).toBe(2 ** 31);
});
