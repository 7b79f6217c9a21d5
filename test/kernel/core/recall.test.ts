// What a view says later, without the store: the same as the store would say, or nothing.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LimitStatus } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag, type LimitReply } from "../../../src/kernel/core/take.ts";
import { history, instant, windowLimit } from "../../support/cases/arbitrary.ts";
import {
  fixedWindowLimit,
  largestCostOf,
  limitOf,
  spanOf,
  unitAlgorithms,
} from "../../support/cases/arbitrary-limits.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { replay } from "../../support/cases/replay.ts";

const cost = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 }));

/** How much later the isolate is asked again: n/1000 of the span, or at an instant that was told, ± 1 ms. */
type Later = { readonly part: number } | { readonly told: keyof LimitStatus; readonly by: number };
const later: fc.Arbitrary<Later> = fc.oneof(
  fc.record({ part: fc.integer({ min: 0, max: 2_500 }) }),
  fc.record({
    told: fc.constantFrom<keyof LimitStatus>("retryAfterMs", "growsAfterMs", "resetAfterMs"),
    by: fc.integer({ min: -1, max: 1 }),
  }),
);

describe.each(unitAlgorithms)("%s", (name) => {
  it("recalls at any later instant what the store would say then, if it recalls anything", () => {
    let recalls = 0;
    const question = fc.record({
      asked: cost,
      flag: fc.constantFrom(Flag.take, Flag.take, Flag.look, Flag.chargeAnyway),
      later,
      cost,
      sameCost: fc.boolean(),
    });
    // Several questions about one history: most of the time goes into histories.
    const scene = fc.record({
      limit: limitOf[name],
      startMs: instant,
      events: history,
      questions: fc.array(question, { minLength: 1, maxLength: 6, size: "max" }),
    });
    const property = fc.property(scene, ({ limit, startMs, events, questions }) => {
      const { counter: start, nowMs } = replay(limit, startMs, events);
      const fits = (units: number) => units % (largestCostOf(limit) + 2);
      const view = (reply: { keys: readonly (readonly LimitReply[])[] }) => reply.keys[0]![0]!;
      const tell = ({ view, refused }: Omit<LimitReply, "pausedMs">, units: number, atMs: number) =>
        algorithmOf(limit).tell(view, limit, units, refused, atMs, false);
      for (const { asked, flag, later, cost, sameCost } of questions) {
        const counter = start.copy();
        const askedCost = fits(asked);
        const first = view(counter.takeOne(limit, askedCost, nowMs, flag));
        const atMs = nowMs + afterMs(later, tell(first, askedCost, nowMs), limit);
        const units = sameCost ? askedCost : fits(cost);

        const recalled = algorithmOf(limit).recall(first.view, limit, atMs, askedCost, units);
        if (!recalled) continue;
        recalls++;
        const truth = view(counter.copy().takeOne(limit, units, atMs, Flag.look));
        const told = tell(recalled, units, atMs);
        expect({ ...told, refused: recalled.refused }).toEqual({ ...tell(truth, units, atMs), refused: truth.refused });
        expect(Math.min(...Object.values(told))).toBeGreaterThanOrEqual(0);
      }
    });
    fc.assert(property, draws(500));
    expectReached(recalls, 500);
  });
});

function afterMs(one: Later, told: LimitStatus, limit: LimitSpec): number {
  if ("part" in one) return Math.floor((one.part * spanOf(limit)) / 1000);
  return Math.max(0, (told[one.told] ?? 0) + one.by);
}

it("units of a bucket are never fewer than one isolate has charged there, whatever others charge and give back", () => {
  let compared = 0;
  const step = fc.record({
    isolate: fc.nat(2),
    charged: fc.integer({ min: 1, max: 12 }),
    spent: fc.nat(12),
    part: fc.nat(400),
    backAfter: fc.nat(5),
  });
  const scene = fc.record({
    limit: fc.oneof(windowLimit(), fixedWindowLimit),
    startMs: instant,
    events: history,
    steps: fc.array(step, { minLength: 1, maxLength: 40 }),
  });
  const property = fc.property(scene, ({ limit, startMs, events, steps }) => {
    const { counter, nowMs: fromMs } = replay(limit, startMs, events);
    const { inBucket, endsAtMs } = algorithmOf(limit).lease!;
    const unused: { units: number; atMs: number; step: number }[] = [];
    /** Units that the first isolate has charged, by the end of the bucket that holds them. */
    const own = new Map<number, number>();
    let nowMs = fromMs;
    for (const [n, { isolate, charged, spent, part, backAfter }] of steps.entries()) {
      nowMs += Math.floor((part * spanOf(limit)) / 1_000);
      const reply = counter.takeOne(limit, charged, nowMs);
      const ends = endsAtMs(limit, nowMs);
      if (reply.allowed && isolate === 0) own.set(ends, (own.get(ends) ?? 0) + charged);
      // The other isolates give unspent units back a little later, perhaps in another bucket.
      if (reply.allowed && isolate > 0 && spent < charged) {
        unused.push({ units: charged - spent, atMs: nowMs, step: n + backAfter });
      }
      for (const { units, atMs } of unused.filter(({ step }) => step === n)) {
        const keys = [{ key: "key", group: ENFORCED, cost: units, limits: [limit] }];
        counter.take({ keys, flag: Flag.giveBack, atMs }, nowMs);
      }
      compared += own.get(ends) ?? 0;
      const { view } = counter.copy().takeOne(limit, 0, nowMs, Flag.look).keys[0]![0]!;
      expect(inBucket!(view)).toBeGreaterThanOrEqual(own.get(ends) ?? 0);
    }
  });
  fc.assert(property, draws(500));
  expectReached(compared, 1_000);
});
