// What leases promise under adversarial traffic and delays: isolates never spend more than the limit.

import fc from "fast-check";
import { expect, it } from "vitest";
import { mostCounted } from "../../scripts/simulate/run.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import type { BucketLimit } from "../../src/kernel/core/token-bucket.ts";
import type { FixedWindowLimit, WindowLimit } from "../../src/kernel/core/window.ts";
import { draws, expectReached } from "../support/cases/draws.ts";
import { type Admission, KEYS, type Key, mostUnits, of, run, traffics } from "./adversary.ts";

const RUNS = draws(20);
const units = fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 5, max: 50 }));
const spans = fc.constantFrom(50, 200, 1_000, 3_000);

const weighted = (bucketMs: number): fc.Arbitrary<WindowLimit> =>
  whole(bucketMs).map((limit) => ({ ...limit, kind: Kind.weighted }));
const whole = (bucketMs: number): fc.Arbitrary<WindowLimit> =>
  fc.record({
    kind: fc.constant(Kind.whole),
    limit: units,
    bucketMs: fc.constant(bucketMs),
    buckets: fc.constantFrom(1, 2, 3, 10),
  });
const fixed = (windowMs: number): fc.Arbitrary<FixedWindowLimit> =>
  fc.record({ kind: fc.constant(Kind.fixedWindow), limit: units, windowMs: fc.constant(windowMs) });
const bucket = (windowMs: number): fc.Arbitrary<BucketLimit> =>
  fc.record({
    kind: fc.constant(Kind.bucket),
    limit: units,
    windowMs: fc.constant(windowMs),
    burst: units,
    maxDelayMs: fc.constant(0),
  });

/** Units admitted from leases. Without such units a property would prove nothing. */
const local = (admissions: readonly Admission[]) =>
  admissions.reduce((sum, { isLocal, units }) => sum + (isLocal ? units : 0), 0);

it('oldest = "whole": no true window holds more than the limit', async () => {
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("leased", spans, whole, { mayLose: true, isPlain: false }), async (traffic) => {
      const { admissions } = await run(traffic);
      locally += local(admissions);
      for (const key of KEYS) {
        const { limit, bucketMs, buckets } = traffic.limits[key] as WindowLimit;
        expect(mostUnits(of(admissions, key), bucketMs * buckets)).toBeLessThanOrEqual(limit);
      }
    }),
    RUNS,
  );
  expectReached(locally, 200);
});

it('oldest = "weighted": the counter that strict has, fed with the admissions, is never above the limit', async () => {
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("leased", spans, weighted, { mayLose: true, isPlain: false }), async (traffic) => {
      const { admissions } = await run(traffic);
      locally += local(admissions);
      for (const key of KEYS) {
        const limit = traffic.limits[key] as WindowLimit;
        expect(mostCounted(of(admissions, key), limit)).toBeLessThanOrEqual(limit.limit);
      }
    }),
    RUNS,
  );
  expectReached(locally, 200);
});

it("fixed-window: no aligned window holds more than the limit", async () => {
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("leased", spans, fixed, { mayLose: true, isPlain: false }), async (traffic) => {
      const { admissions } = await run(traffic);
      locally += local(admissions);
      for (const key of KEYS) {
        const { limit, windowMs } = traffic.limits[key] as FixedWindowLimit;
        const windows = Map.groupBy(of(admissions, key), ({ atMs }) => Math.floor(atMs / windowMs));
        const most = [...windows.values()].map((inWindow) => mostUnits(inWindow, windowMs));
        expect(Math.max(0, ...most)).toBeLessThanOrEqual(limit);
      }
    }),
    RUNS,
  );
  expectReached(locally, 200);
});

// Let h be the units in stock at the beginning of a time t. The units charged and not given back in t are at most
// `burst` more than the units that come back in t. The units spent in t are at most that sum plus h.
it("token-bucket: in any time t at most burst + limit * t / window, and the units in stock at its beginning", async () => {
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("leased", spans, bucket, { mayLose: false, isPlain: false }), async (traffic) => {
      const { admissions, world } = await run(traffic);
      locally += local(admissions);
      for (const key of KEYS) {
        const { limit, burst, windowMs } = traffic.limits[key] as BucketLimit;
        const spent = of(admissions, key);
        const before = (atMs: number, list: readonly { readonly atMs: number; readonly units: number }[]) =>
          list.reduce((sum, one) => sum + (one.atMs < atMs ? one.units : 0), 0);
        const booked = world.bookings.filter((one) => one.key === key);
        for (const [from, { atMs: fromMs }] of spent.entries()) {
          const held = before(fromMs, booked) - before(fromMs, spent);
          let [sum, excess] = [0, 0];
          for (const { atMs, units } of spent.slice(from)) {
            sum += units;
            // The store's clock counts whole milliseconds.
            const promised = burst + held + (limit * (Math.ceil(atMs) - Math.floor(fromMs))) / windowMs;
            excess = Math.max(excess, sum - promised);
          }
          expect(excess).toBe(0);
        }
      }
    }),
    // Two of five cases spend nothing from a lease: once in 400 runs, 20 cases spend fewer than 200 units.
    draws(60),
  );
  expectReached(locally, 200);
});

it("at no time more has been admitted than charged, whatever the requests need", async () => {
  const any = (spanMs: number): fc.Arbitrary<LimitSpec> => fc.oneof(whole(spanMs), fixed(spanMs), bucket(spanMs));
  let locally = 0;
  await fc.assert(
    fc.asyncProperty(traffics("leased", spans, any, { mayLose: true, isPlain: false }), async (traffic) => {
      const left = { a: 0, b: 0 };
      let booked = 0;
      const { admissions } = await run(traffic, async ({ bookings }, keys, { reply }) => {
        for (; booked < bookings.length; booked++) left[bookings[booked]!.key as Key] += bookings[booked]!.units;
        if (!reply.allowed) return;
        for (const { key, cost } of keys) {
          left[key as Key] -= cost;
          if (left[key as Key] < 0) expect(left).toBeUndefined();
        }
      });
      locally += local(admissions);
    }),
    RUNS,
  );
  expectReached(locally, 200);
});
