// What a view says later, without the store: the same as the store would say, or nothing.

import fc from "fast-check";
import { expect, it } from "vitest";
import type { LimitStatus } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag, type LimitReply } from "../../../src/kernel/core/take.ts";
import { history, instant } from "../../support/cases/arbitrary.ts";
import { largestCostOf, limitOf, spanOf, unitAlgorithms } from "../../support/cases/arbitrary-limits.ts";
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

it.each(unitAlgorithms)("%s recalls at any later instant what the store would say then, or nothing", (name) => {
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

function afterMs(one: Later, told: LimitStatus, limit: LimitSpec): number {
  if ("part" in one) return Math.floor((one.part * spanOf(limit)) / 1000);
  return Math.max(0, (told[one.told] ?? 0) + one.by);
}
