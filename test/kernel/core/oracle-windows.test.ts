// What fixed window, calendar and sliding log promise about all requests. oracle.test.ts tests "oldest = whole".

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { periodAt } from "../../../src/kernel/core/periods.ts";
import type { LogLimit } from "../../../src/kernel/core/sliding-log.ts";
import { history, instant, windowLimit } from "../../support/cases/arbitrary.ts";
import { calendarLimit, fixedWindowLimit, logLimit } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { type Asked, ask, mostAdmittedWithin, replay } from "../../support/cases/replay.ts";
import { Counter } from "../../support/gateway/counter.ts";

const RUNS = draws(1_000);

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

it("sliding log: admits 3 a minute at 400, 465, 480, 505, 520 and 530 s, all but the fifth", () => {
  const limit: LogLimit = { kind: Kind.log, limit: 3, windowMs: 60_000 };
  const counter = new Counter();
  const answers = [400, 465, 480, 505, 520, 530].map((s) => counter.takeOne(limit, 1, s * 1000).allowed);
  expect(answers).toEqual([true, true, true, true, false, true]);
});

/** The longest closed span within a true window of W ms: it begins at the window's first ms and ends W - 1 ms later. */
const trueWindowMs = (limit: LimitSpec) =>
  (limit.kind === Kind.whole ? limit.bucketMs * limit.buckets : (limit as LogLimit).windowMs) - 1;

const strict = fc.oneof<fc.Arbitrary<LimitSpec>[]>(logLimit, windowLimit({ kind: Kind.whole }));

describe("sliding log and oldest = whole", () => {
  it("never admit more than the limit in a true window of any position, over random traffic", () => {
    const property = fc.property(strict, instant, history, (limit, startMs, events) => {
      const { asked } = replay(limit, startMs, events);
      expect(mostAdmittedWithin(trueWindowMs(limit), asked)).toBeLessThanOrEqual(limit.limit);
    });
    fc.assert(property, RUNS);
  });

  it("nor if a client asks at every millisecond, around every boundary and every expiry, for all that is left", () => {
    const small = { bucketMs: fc.integer({ min: 2, max: 12 }), buckets: 3 };
    const windows = windowLimit({ kind: Kind.whole, ...small });
    const logs = fc.record<LogLimit>({
      kind: fc.constant(Kind.log),
      limit: fc.integer({ min: 1, max: 20 }),
      windowMs: fc.integer({ min: 2, max: 36 }),
    });
    const costs = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 3, maxLength: 9 });
    const property = fc.property(fc.oneof<fc.Arbitrary<LimitSpec>[]>(logs, windows), costs, (limit, costs) => {
      const counter = new Counter();
      const asked: Asked[] = [];
      for (let atMs = 1000; atMs < 1200; atMs++) {
        for (let unit = costs[atMs % costs.length]!; unit > 0; unit--) asked.push(ask(counter, limit, unit, atMs));
      }
      expect(mostAdmittedWithin(trueWindowMs(limit), asked)).toBeLessThanOrEqual(limit.limit);
    });
    fc.assert(property, draws(100));
  });
});
