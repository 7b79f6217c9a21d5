// What a view says later, without the store: the same as the store would, or nothing.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Told } from "../../src/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../src/core/algorithms.ts";
import { Flag, type LimitReply } from "../../src/core/take.ts";
import { history, instant, windowLimit } from "../support/arbitrary.ts";
import {
  fixedWindowLimit,
  largestCostOf,
  limitOf,
  spanOf,
  tokenBucketLimit,
  unitAlgorithms,
} from "../support/arbitrary-limits.ts";
import { replay } from "../support/replay.ts";

const cost = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 }));

/** How much later something is asked again: parts of the span in 1/1000, or at an instant that was told, give or take 1 ms. */
type Later = { readonly part: number } | { readonly told: keyof Told; readonly by: number };
const later: fc.Arbitrary<Later> = fc.oneof(
  fc.record({ part: fc.integer({ min: 0, max: 2_500 }) }),
  fc.record({
    told: fc.constantFrom<keyof Told>("retryAfterMs", "growsAfterMs", "resetAfterMs"),
    by: fc.integer({ min: -1, max: 1 }),
  }),
);

describe.each(unitAlgorithms)("%s", (name) => {
  it("recalls at any later instant what the store would say then, if it recalls anything", () => {
    let recalls = 0;
    const scene = fc.record({
      limit: limitOf[name],
      startMs: instant,
      events: history,
      asked: cost,
      flag: fc.constantFrom(Flag.take, Flag.take, Flag.look, Flag.chargeAnyway),
      later,
      cost,
      sameCost: fc.boolean(),
    });
    const property = fc.property(scene, ({ limit, startMs, events, asked, flag, later, cost: other, sameCost }) => {
      const { counter, nowMs } = replay(limit, startMs, events);
      const fits = (units: number) => units % (largestCostOf(limit) + 2);
      const askedCost = fits(asked);
      const view = (reply: { keys: readonly (readonly LimitReply[])[] }) => reply.keys[0]![0]!;
      const first = view(counter.takeOne(limit, askedCost, nowMs, flag));
      const tell = ({ view, refused }: Omit<LimitReply, "heldBackMs">, units: number, atMs: number) =>
        algorithmOf(limit).tell(view, limit, units, refused, atMs, false);
      const atMs = nowMs + afterMs(later, tell(first, askedCost, nowMs), limit);
      const units = sameCost ? askedCost : fits(other);

      const recalled = algorithmOf(limit).recall(first.view, limit, atMs, askedCost, units);
      if (!recalled) return;
      recalls++;
      const truth = view(counter.copy().takeOne(limit, units, atMs, Flag.look));
      expect(recalled.refused).toBe(truth.refused);
      const told = tell(recalled, units, atMs);
      expect(told).toEqual(tell(truth, units, atMs));
      expect(Math.min(...Object.values(told))).toBeGreaterThanOrEqual(0);
    });
    fc.assert(property, { numRuns: 1_500 });
    expect(recalls).toBeGreaterThan(500);
  });
});

function afterMs(one: Later, told: Told, limit: LimitSpec): number {
  if ("part" in one) return Math.floor((one.part * spanOf(limit)) / 1000);
  return Math.max(0, (told[one.told] ?? 0) + one.by);
}

const leasable = fc.oneof(windowLimit(), fixedWindowLimit, tokenBucketLimit);

it("what can have been charged since an instant is never less than what was, whatever others charge and give back", () => {
  let charges = 0;
  const step = fc.record({
    isOwn: fc.boolean(),
    charged: fc.integer({ min: 1, max: 12 }),
    back: fc.nat(12),
    part: fc.nat(300),
  });
  const scene = fc.record({
    limit: leasable,
    startMs: instant,
    events: history,
    steps: fc.array(step, { minLength: 1, maxLength: 30 }),
  });
  const property = fc.property(scene, ({ limit, startMs, events, steps }) => {
    const { counter, nowMs: fromMs } = replay(limit, startMs, events);
    const { lease } = algorithmOf(limit);
    let nowMs = fromMs;
    let own: { units: number; firstAtMs: number; endsAtMs: number } | undefined;
    for (const { isOwn, charged, back, part } of steps) {
      nowMs += Math.floor((part * spanOf(limit)) / 10_000);
      if (!own || own.endsAtMs <= nowMs) {
        own = { units: 0, firstAtMs: nowMs, endsAtMs: lease!.endsAtMs(limit, nowMs) };
      }
      const { allowed } = counter.takeOne(limit, charged, nowMs);
      if (!allowed) continue;
      const unused = Math.min(back, charged);
      const request = { key: "key", group: 0, cost: unused, limits: [limit] };
      const { keys } = counter.take({ keys: [request], flag: Flag.giveBack, atMs: nowMs }, nowMs);
      if (isOwn) own.units += charged - unused;
      charges += own.units;
      expect(lease!.mostChargedSince(keys[0]![0]!.view, limit, own.firstAtMs)).toBeGreaterThanOrEqual(own.units);
    }
  });
  fc.assert(property, { numRuns: 500 });
  expect(charges).toBeGreaterThan(500);
});
