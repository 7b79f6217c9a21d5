// Forced charges far above the limit: with the largest windows a product exceeds 2^53, and decisions must stay exact.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { largestLimit, windowLimit } from "../../support/cases/arbitrary.ts";
import { draws } from "../../support/cases/draws.ts";
import { ExactWindow } from "../../support/cases/exact-window.ts";
import { look } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

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
