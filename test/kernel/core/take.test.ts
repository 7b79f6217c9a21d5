// Giving back what is not there any more. What every store promises is in src/testing/cases.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { Counter, keyRequest } from "../../support/gateway/counter.ts";

const NOW_MS = 1_700_000_000_000;
const SLIDING: LimitSpec = { limit: 9, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };
const FIXED: LimitSpec = { limit: 9, kind: Kind.fixedWindow, windowMs: 60_000 };

const giveBack = (counter: Counter, limit: LimitSpec, atMs: number) =>
  counter.take({ keys: [keyRequest("key", [limit], { cost: 2 })], flag: Flag.giveBack, atMs }, NOW_MS);

it.each([
  ["sliding window has left the window", SLIDING, -120_000],
  ["sliding window has not begun", SLIDING, 60_000],
  ["fixed window has ended", FIXED, -60_000],
  ["fixed window has not begun", FIXED, 60_000],
])("changes no count when the bucket of a %s", (_when, limit, offsetMs) => {
  const counter = new Counter();
  counter.takeOne(limit, 3, NOW_MS);
  const before = counter.copy();
  giveBack(counter, limit, NOW_MS + offsetMs);
  expect(counter.values).toEqual(before.values);
});

it("writes nothing under a key that is not there", () => {
  const counter = new Counter();
  giveBack(counter, SLIDING, NOW_MS);
  expect(counter.values.size).toBe(0);
});
