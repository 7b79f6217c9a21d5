import fc from "fast-check";
import { expect, it } from "vitest";
import { newStoreClock, nowBy, observe, type StoreClock } from "../../../src/kernel/place/store-clock.ts";
import { draws } from "../../support/cases/draws.ts";

/** Nothing may be spent or refused. */
const UNKNOWN = { earliestMs: undefined, latestMs: Number.POSITIVE_INFINITY };
function storeTimeAt(clock: StoreClock, localAtMs: number) {
  const { earliestMs, latestMs } = nowBy(clock, localAtMs, 0);
  return { earliestMs, latestMs };
}

it("always holds the store's true time, whatever the offset and the delays", () => {
  const delays = fc.tuple(fc.nat(200), fc.nat(200), fc.nat(3_000));
  fc.assert(
    fc.property(
      fc.integer({ min: -30_000, max: 30_000 }),
      fc.array(delays, { minLength: 1 }),
      (offsetMs, exchanges) => {
        const clock = newStoreClock();
        let localMs = 1_700_000_000_000;
        for (const [there, back, later] of exchanges) {
          const storeMs = localMs + there + offsetMs;
          expect(observe(clock, localMs, localMs + there + back, storeMs)).toBe(true);
          localMs += there + back + later;
          const time = storeTimeAt(clock, localMs);
          expect(time.earliestMs!).toBeLessThanOrEqual(localMs + offsetMs);
          expect(time.latestMs).toBeGreaterThanOrEqual(localMs + offsetMs);
        }
      },
    ),
    draws(100),
  );
});

it("narrows with a quick round trip, and widens again by the drift of the clocks", () => {
  const clock = newStoreClock();
  const width = (atMs: number) => storeTimeAt(clock, atMs).latestMs - storeTimeAt(clock, atMs).earliestMs!;
  observe(clock, 0, 200, 100);
  const wide = width(200);
  observe(clock, 300, 302, 301);
  expect(width(302)).toBeLessThan(wide / 5);
  expect(width(302 + 100_000)).toBeGreaterThanOrEqual(width(302) + 20);
});

it("knows nothing before the first reply, while the local clock is behind its last, and if it was set back in a call", () => {
  const clock = newStoreClock();
  expect(storeTimeAt(clock, 1_000)).toEqual(UNKNOWN);
  observe(clock, 1_000_000, 1_000_010, 1_000_005);
  expect(storeTimeAt(clock, 1_000_009)).toEqual(UNKNOWN);
  expect(observe(clock, 1_001_000, 941_010, 1_001_005)).toBe(false);
  expect(storeTimeAt(clock, 941_020)).toEqual(UNKNOWN);
});

it("says when a clock has stepped, and goes by the new time from then on", () => {
  const clock = newStoreClock();
  expect(observe(clock, 1_000, 1_010, 1_005)).toBe(true);
  expect(observe(clock, 2_000, 2_010, 32_005)).toBe(false);
  expect(storeTimeAt(clock, 2_010).earliestMs).toBeGreaterThan(31_000);
  expect(observe(clock, 500, 510, 505)).toBe(false);
});

it("is never before an instant that the store's clock has shown", () => {
  const clock = newStoreClock();
  observe(clock, 1_000, 1_010, 5_009);
  expect(storeTimeAt(clock, 1_010).earliestMs).toBe(5_009);
  // The second of two replies was decided first.
  observe(clock, 1_000, 1_011, 5_004);
  expect(storeTimeAt(clock, 1_011).earliestMs).toBe(5_009);
  observe(clock, 2_000, 2_010, 3_005);
  expect(storeTimeAt(clock, 2_010).earliestMs).toBe(3_005);
});
