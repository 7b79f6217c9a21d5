// Outage, recovery, outage: every pair of algorithms in one policy, with one isolate and with two.

import fc from "fast-check";
import { afterEach, beforeEach, expect, it, type MockInstance, vi } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { isConcurrency } from "../../../src/kernel/core/concurrency.ts";
import { draws, expectReached } from "../../support/cases/draws.ts";
import { type Fault, type Op, type Phase, type Story, tellStory } from "./outages.ts";

/** Small limits that a few requests use up. Windows are whole seconds: outages.ts says why. */
const FIRST: Readonly<Record<string, LimitInput>> = {
  "sliding-window": { limit: 4, window: "20s" },
  "sliding-window, whole": { limit: 4, window: "20s", buckets: 4, oldest: "whole" },
  "fixed-window": { algorithm: "fixed-window", limit: 4, window: "20s" },
  "sliding-log": { algorithm: "sliding-log", limit: 4, window: "20s" },
  "token-bucket": { algorithm: "token-bucket", limit: 4, window: "20s" },
  "leaky-bucket": { algorithm: "leaky-bucket", limit: 4, burst: 2, window: "20s", maxDelay: "10s" },
  concurrency: { algorithm: "concurrency", limit: 3, timeout: "30s" },
};
const LONGER: Readonly<Record<string, Partial<LimitInput>>> = { concurrency: { limit: 4, timeout: "1m" } };
const names = Object.keys(FIRST);
const pairs = names.flatMap((one, i) => names.slice(i).map((other) => [one, other] as const));

function limitsOf(one: string, other: string, isSwapped: boolean): LimitInput[] {
  const second = { ...FIRST[other]!, ...(LONGER[other] ?? { limit: 6, window: "1m" }) } as LimitInput;
  const both = [FIRST[one]!, second];
  return isSwapped ? both.reverse() : both;
}

const ops = (isolates: number): fc.Arbitrary<Op[]> => {
  const op = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant("take" as const),
        isolate: fc.nat(isolates - 1),
        cost: fc.constantFrom(1, 1, 2, 3),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ do: fc.constantFrom("release" as const, "renew" as const), hold: fc.nat(9) }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant("wait" as const), seconds: fc.integer({ min: 1, max: 70 }) }) },
  );
  return fc.array(op, { minLength: 1, maxLength: 10, size: "max" });
};
const faultsOf = (isolates: number, fault: fc.Arbitrary<Fault | undefined>) =>
  fc.array(fault, { minLength: isolates, maxLength: isolates });
const up: fc.Arbitrary<Fault | undefined> = fc.constant(undefined);
const down: fc.Arbitrary<Fault | undefined> = fc.constantFrom("known", "known", "ran", "lost");
const any: fc.Arbitrary<Fault | undefined> = fc.oneof({ weight: 2, arbitrary: up }, down);

const stories = (one: string, other: string): fc.Arbitrary<Story> =>
  fc.integer({ min: 1, max: 2 }).chain((isolates) => {
    const phase = (fault: fc.Arbitrary<Fault | undefined>): fc.Arbitrary<Phase> =>
      fc.record({ faults: faultsOf(isolates, fault), repayments: any, ops: ops(isolates) });
    return fc.record({
      limits: fc.boolean().map((isSwapped) => limitsOf(one, other, isSwapped)),
      clockMs: fc.constantFrom(0, -30_000, 30_000),
      phases: fc.oneof(
        fc.tuple(phase(up), phase(down), phase(up), phase(down)),
        fc.tuple(phase(down), phase(any), phase(down), phase(any), phase(down)),
        fc.array(phase(any), { minLength: 2, maxLength: 6 }),
      ),
    });
  });

let written: MockInstance<typeof console.error>;
beforeEach(() => {
  written = vi.spyOn(console, "error").mockImplementation(() => {});
  // Every outage is reported there: vitest would collect 10,000 lines.
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

it.each(pairs)("%s and %s: an answer to every request, no limit exceeded, debts repaid once", async (one, other) => {
  let [local, repaid] = [0, 0];
  await fc.assert(
    fc.asyncProperty(stories(one, other), async (story) => {
      const { answers, repayments, released, abandoned, atLast } = await tellStory(story);
      const decisions = [...answers.map(({ decision }) => decision), ...atLast];
      // A decision from memory does not know how many requests are in flight.
      expect(decisions.filter(({ source, limits }) => source !== "cache" && limits.length !== 2)).toEqual([]);
      expect(answers.filter(({ isWithin }) => !isWithin)).toEqual([]);
      local += decisions.filter(({ source }) => source === "fallback").length;
      for (const { units, owed, recently } of repayments) {
        const most = Math.min(...story.limits.map(unitsOf));
        expect(units).toBeLessThanOrEqual(owed);
        expect(units).toBeGreaterThanOrEqual(Math.min(most, recently));
        repaid += units;
      }
      for (const { source, limits } of released) {
        for (const { limit, remaining } of limits.filter(({ limit }) => isConcurrency(limit))) {
          expect(remaining).toBeGreaterThanOrEqual(limit.limit - (source === "fallback" ? 0 : abandoned));
        }
      }
      const full = atLast.flatMap(({ limits }) => limits.filter(({ limit, remaining }) => remaining === roomOf(limit)));
      expect(full).toEqual(atLast.flatMap(({ limits }) => limits));
      expect(written).not.toHaveBeenCalled();
    }),
    // Of 40 cases for each pair, once in 50,000 runs too few repay.
    draws(50),
  );
  // Without these cases the property would prove nothing.
  expectReached(local, 100);
  if (one !== "concurrency" || other !== "concurrency") expectReached(repaid, 10);
});

/**
 * The most units that are repaid at once; infinite for slots. For the leaky bucket above: two units at once, and two
 * more that wait up to 10 s.
 */
function unitsOf({ algorithm, limit }: LimitInput): number {
  if (algorithm === "concurrency") return Number.POSITIVE_INFINITY;
  return algorithm === "leaky-bucket" ? (limit === 4 ? 4 : 3) : Number(limit);
}

function roomOf(limit: { readonly limit: number; readonly burst?: number }): number {
  return limit.burst ?? limit.limit;
}
