import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { slidingWindow, type WindowLimit, windowRetryAfterMs } from "../../../src/kernel/core/window.ts";
import { Counter } from "../../support/gateway/counter.ts";
import { told } from "../../support/parity/told.ts";

const NEVER = null;

describe("two buckets, 10 per second", () => {
  const limit: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
  const counter = new Counter();

  it.each([
    // [at, cost] and what the client is told: allowed, remaining, retry after, reset after.
    [60_000, 0, true, 10, 0, 0], // nothing yet
    [60_000, 4, true, 6, 0, 2000],
    [60_500, 6, true, 0, 0, 1500],
    [60_999, 1, false, 0, 101, 1001], // all 10 still count when the next bucket begins
    [61_000, 11, false, 0, NEVER, 1000],
    [61_100, 1, true, 0, 0, 1900], // a tenth of the old bucket has left
    [61_500, 5, false, 4, 100, 1500], // 1 in this bucket, 10 * 0.5 of the old one: 4 are free, a fifth in 100 ms
    [61_600, 5, true, 0, 0, 1400],
    [62_000, 4, true, 0, 0, 2000], // the first bucket is gone; 6 of the second weigh fully
    [70_000, 10, true, 0, 0, 2000], // as new
  ] as const)("at %i ms a cost of %i", (atMs, cost, allowed, remaining, retryAfterMs, resetAfterMs) => {
    const answer = told(counter.takeOne(limit, cost, atMs), limit, cost);
    expect(answer).toEqual({ allowed, remaining, retryAfterMs, resetAfterMs });
  });
});

describe("three whole buckets, 2 per 300 ms", () => {
  const limit: WindowLimit = { limit: 2, kind: Kind.whole, bucketMs: 100, buckets: 3 };
  const counter = new Counter();

  it.each([
    [1099, 1, true, 1, 0, 301],
    [1100, 1, true, 0, 0, 400],
    [1399, 1, false, 0, 1, 101], // the unit of 1099 is exactly 300 ms old: it returns up to a bucket late
    [1400, 1, true, 0, 0, 400],
    [1400, 2, false, 0, 400, 400], // both must leave
    [1500, 1, true, 0, 0, 400],
  ] as const)("at %i ms a cost of %i", (atMs, cost, allowed, remaining, retryAfterMs, resetAfterMs) => {
    const answer = told(counter.takeOne(limit, cost, atMs), limit, cost);
    expect(answer).toEqual({ allowed, remaining, retryAfterMs, resetAfterMs });
  });
});

it("leaves the newer bucket in place when the clock steps back", () => {
  const limit: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 1000, buckets: 2 };
  const record = { ...slidingWindow.read(undefined, undefined, limit, 5_000), counts: [3, 2, 1] };
  const at = (nowMs: number) => slidingWindow.read(record, undefined, limit, nowMs);
  expect(at(4_999)).toEqual(record);
  expect(at(6_000)).toEqual({ ...record, newest: 6, counts: [0, 3, 2] });
  expect(at(8_000)).toEqual({ ...record, newest: 8, counts: [0, 0, 0] });
});

// A damaged record in Redis can hold such counts. Their sum is rounded, so a search for the sum 0 would never end.
it("ends the search for a wait with counts that no charge leaves", () => {
  const limit: WindowLimit = { limit: 1, kind: Kind.whole, bucketMs: 100, buckets: 6 };
  const counts = [2 ** 31, 0, 0, 0, 2 ** 53 - 1, 0, 0];
  const record = { ...slidingWindow.read(undefined, undefined, limit, 5_000), counts };
  expect(windowRetryAfterMs(record, limit, 1, 5_050)).toBe(slidingWindow.resetAfterMs(record, limit, 5_050));
});
