// What the windows promise about all admitted requests. The checks share no formula with src/kernel/core.

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { history, instant, windowLimit } from "../../support/cases/arbitrary.ts";
import { draws } from "../../support/cases/draws.ts";
import { mostAdmittedWithin, replay } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

const RUNS = draws(1_000);

it("never admits more than the limit in any span of window - bucket, weighted", () => {
  const property = fc.property(windowLimit({ kind: Kind.weighted }), instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    const spanMs = (limit.buckets - 1) * limit.bucketMs;
    expect(mostAdmittedWithin(spanMs, asked)).toBeLessThanOrEqual(limit.limit);
  });
  fc.assert(property, RUNS);
});

it("never admits more than the limit in any true window, whole", () => {
  const property = fc.property(windowLimit({ kind: Kind.whole }), instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    expect(mostAdmittedWithin(limit.buckets * limit.bucketMs, asked)).toBeLessThanOrEqual(limit.limit);
  });
  fc.assert(property, RUNS);
});

it("admits at worst 2 * limit - 1 in a true window, with two buckets, weighted", () => {
  const twoBuckets = windowLimit({ kind: Kind.weighted, buckets: 1 });
  const property = fc.property(twoBuckets, instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    // A window of W ms begins at its first ms and ends W - 1 ms later.
    expect(mostAdmittedWithin(limit.bucketMs - 1, asked)).toBeLessThanOrEqual(2 * limit.limit - 1);
  });
  fc.assert(property, RUNS);
});

it("does admit 2 * limit - 1 when a burst ends a bucket, so that the promise cannot be tighter", () => {
  const limit: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
  const counter = new Counter();
  const asked = [
    [1999, 10],
    [2998, 9],
  ].map(([atMs, cost]) => ({
    atMs: atMs!,
    cost: cost!,
    allowed: counter.takeOne(limit, cost!, atMs!).allowed,
  }));
  expect(mostAdmittedWithin(999, asked)).toBe(19);
});

it("sustains buckets / (buckets + 1) of the limit, whole", () => {
  const limit: WindowLimit = { limit: 8, kind: Kind.whole, bucketMs: 10, buckets: 4 };
  const counter = new Counter();
  let admitted = 0;
  for (let nowMs = 1000; nowMs < 1000 + 100 * 40; nowMs++) {
    if (counter.takeOne(limit, 1, nowMs).allowed) admitted++;
  }
  expect(admitted / 100).toBe((8 * 4) / 5);
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
