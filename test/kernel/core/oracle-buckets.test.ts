// What token bucket and leaky bucket promise about all admitted units. The checks know nothing of levels or debts.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { BucketLimit } from "../../../src/kernel/core/token-bucket.ts";
import { history, instant } from "../../support/cases/arbitrary.ts";
import { leakyBucketLimit, tokenBucketLimit } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { type Asked, ask, look, replay } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

const RUNS = draws(1_000);

/** From the i-th to the j-th request, at most burst + t * limit / window units passed. Computed in exact integers. */
function expectWithinPromise(
  { limit, windowMs, burst }: BucketLimit,
  passed: readonly [atMs: number, cost: number][],
  lateByMs: number,
): void {
  const perMs = BigInt(limit);
  const inBurst = BigInt(burst) * BigInt(windowMs);
  const exact = passed.map(([atMs, cost]) => [BigInt(atMs), BigInt(cost) * BigInt(windowMs)] as const);
  for (let from = 0; from < exact.length; from++) {
    const fromMs = exact[from]![0] - BigInt(lateByMs);
    let sum = 0n;
    for (let to = from; to < exact.length; to++) {
      const [atMs, cost] = exact[to]!;
      sum += cost;
      if (sum > inBurst + (atMs - fromMs) * perMs) expect.fail(`too many units from the ${from}th to the ${to}th`);
    }
  }
}

/** The admitted requests, by the time at which they pass. A look (cost 0) passes nothing and is not held. */
const passedOf = (asked: readonly Asked[]) =>
  asked
    .filter(({ allowed, cost }) => allowed && cost > 0)
    .map(({ atMs, cost, delayMs }): [atMs: number, cost: number] => [atMs + delayMs, cost]);

it.each([
  ["token bucket", tokenBucketLimit, 0],
  // Waits are whole milliseconds, rounded up: the first request of a span may have passed up to 1 ms late.
  ["leaky bucket", leakyBucketLimit, 1],
] as const)("%s: at most burst + t * limit / window pass in any span t", (_, limits, lateByMs) => {
  const property = fc.property(limits, instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    if (lateByMs === 0) expect(asked.every(({ delayMs }) => delayMs === 0)).toBe(true);
    expectWithinPromise(limit, passedOf(asked), lateByMs);
  });
  fc.assert(property, RUNS);
});

it("leaky bucket: holds nothing longer than maxDelay, and nothing overtakes", () => {
  const property = fc.property(leakyBucketLimit, instant, history, (limit, startMs, events) => {
    const { asked } = replay(limit, startMs, events);
    expect(Math.max(0, ...asked.map(({ delayMs }) => delayMs))).toBeLessThanOrEqual(limit.maxDelayMs);
    const times = passedOf(asked).map(([atMs]) => atMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
  });
  fc.assert(property, RUNS);
});

it("leaky bucket: holds a request exactly until a token bucket would admit it", () => {
  const costs = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 20 });
  const property = fc.property(leakyBucketLimit, instant, costs, (limit, atMs, costs) => {
    const counter = new Counter();
    for (const cost of costs) {
      const before = counter.copy();
      const { allowed, delayMs } = ask(counter, limit, cost, atMs);
      const token = { ...limit, maxDelayMs: 0 };
      const tokenAllows = (afterMs: number) => before.copy().takeOne(token, cost, atMs + afterMs).allowed;
      expect(tokenAllows(allowed ? delayMs : limit.maxDelayMs)).toBe(allowed);
      if (delayMs > 0) expect(tokenAllows(delayMs - 1)).toBe(false);
    }
  });
  fc.assert(property, RUNS);
});

it("token bucket: refills 9,500 a day to the unit over three windows of constant thirst", () => {
  const limit: BucketLimit = { kind: Kind.bucket, limit: 9_500, windowMs: 86_400_000, burst: 2, maxDelayMs: 0 };
  const counter = new Counter();
  let [atMs, admitted] = [1_700_000_000_000, 0];
  const endMs = atMs + 3 * limit.windowMs;
  const thirst = () => {
    const { remaining } = look(counter, limit, atMs);
    if (remaining > 0 && ask(counter, limit, remaining, atMs).allowed) admitted += remaining;
  };
  for (thirst(); atMs < endMs; thirst()) atMs += Math.min(endMs - atMs, look(counter, limit, atMs).growsAfterMs!);
  expect(admitted).toBe(limit.burst + 3 * limit.limit);
});
