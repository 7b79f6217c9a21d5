// A store that replies anything: damaged counts, or what our script would never say. What a client is told is still as
// its type promises, and is told in finite time.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { algorithmOf, type LimitSpec, type LimitView } from "../../../src/kernel/core/algorithms.ts";
import { decideLimit } from "../../../src/kernel/core/decision.ts";
import type { AlgorithmName, Limit, Policy } from "../../../src/kernel/core/policy.ts";
import { addRateLimitFields } from "../../../src/kernel/http/headers.ts";
import { bucketMs, instant } from "../../support/cases/arbitrary.ts";
import { algorithmNames, limitOf, spanOf } from "../../support/cases/arbitrary-limits.ts";
import { draws } from "../../support/cases/draws.ts";
import { fieldsOf } from "../../support/cases/fields.ts";

const MAX = Number.MAX_SAFE_INTEGER;
/** A window of 60 buckets has the longest view. */
const INTEGERS = 62;

/** Added to 0, to the reply's instant, or to the number of its bucket. */
type Integer = { readonly to: "zero" | "now" | "bucket"; readonly add: number };

const integer: fc.Arbitrary<Integer> = fc.oneof(
  fc.record({ to: fc.constantFrom("now", "bucket"), add: fc.integer({ min: -3, max: 3 }) }),
  {
    weight: 3,
    arbitrary: fc.record({
      to: fc.constant("zero"),
      add: fc.oneof(
        fc.constantFrom(0, 0, 0, 1, 2 ** 31, 2 ** 40, MAX - 1, MAX),
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 0, max: MAX }),
      ),
    }),
  },
);

const replyOf = (name: AlgorithmName) =>
  fc.record({
    limit: limitOf[name],
    nowMs: fc.oneof({ weight: 4, arbitrary: instant }, fc.constantFrom(0, MAX)),
    // More than the view has: the first are taken.
    integers: fc.array(integer, { minLength: INTEGERS, maxLength: INTEGERS }),
    cost: fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 0, max: 1_000_000_000 })),
    refused: fc.boolean(),
    /** False: after a look. */
    charged: fc.boolean(),
    /** When it is asked for again. */
    laterMs: fc.oneof(fc.integer({ min: 0, max: 10_000 }), bucketMs),
  });

type Reply = ReturnType<typeof replyOf> extends fc.Arbitrary<infer R> ? R : never;

function integersOf({ limit, nowMs, integers }: Reply): number[] {
  const bases = { zero: 0, now: nowMs, bucket: Math.floor(nowMs / spanOf(limit)) };
  const length = algorithmOf(limit).viewLength(limit);
  return integers.slice(0, length).map(({ to, add }) => Math.min(MAX, Math.max(0, bases[to] + add)));
}

const zeros = (...adds: number[]) => adds.map((add) => ({ to: "zero" as const, add }));
const refusal = { cost: 1, refused: true, charged: true, laterMs: 50 };

/** Cases that once failed, each with what was wrong. */
const examples: Partial<Record<AlgorithmName, Reply[]>> = {
  "sliding-window": [
    {
      // The search for the wait never ended: the sum of the counts is rounded.
      ...{ limit: { kind: Kind.whole, limit: 1, bucketMs: 100, buckets: 6 }, nowMs: 5_050, ...refusal },
      integers: zeros(50, 2 ** 31, 0, 0, 0, MAX, 0, 0),
    },
    {
      // A window long ago: 3 remained of 1, and a wait of less than 0.
      ...{ limit: { kind: Kind.weighted, limit: 1, bucketMs: 1_000, buckets: 1 }, nowMs: 5_000, ...refusal },
      integers: zeros(1, 0, 1),
    },
  ],
  "fixed-window": [
    {
      // A window so far ahead that the field cannot be written: the request failed.
      ...{ limit: { kind: Kind.fixedWindow, limit: 1, windowMs: 1_000 }, nowMs: 5_000, ...refusal },
      integers: zeros(MAX, 1),
    },
  ],
  "sliding-log": [
    {
      // A record whose newest instant is long ago: a wait of less than 0.
      ...{ limit: { kind: Kind.log, limit: 1, windowMs: 1_000 }, nowMs: 5_000, ...refusal },
      integers: zeros(1, 5_500, 5_500, 1_001),
    },
  ],
};

it.each(algorithmNames)("%s: clients are told integers of 0 or more, whatever the store replies", (name) => {
  const property = fc.property<[Reply]>(replyOf(name), (reply) => {
    const { limit, nowMs, cost, refused, charged, laterMs } = reply;
    const far = algorithmOf(limit);
    const view = far.decode(integersOf(reply), limit);
    expectTold(limit, cost, { view, refused }, nowMs, charged);
    const recalled = far.recall(view, limit, nowMs + laterMs, cost, cost);
    if (recalled) expectTold(limit, cost, recalled, nowMs + laterMs, false);
  });
  fc.assert(property, { ...draws(300), examples: examples[name]?.map((reply) => [reply]) ?? [] });
});

function expectTold(
  limit: LimitSpec,
  cost: number,
  reply: { readonly view: LimitView; readonly refused: boolean },
  nowMs: number,
  charged: boolean,
): void {
  const told = algorithmOf(limit).tell(reply.view, limit, cost, reply.refused, nowMs, charged);
  expect(Object.entries(told).filter(([, value]) => !Number.isSafeInteger(value) || value < 0)).toEqual([]);
  expect(told.remaining).toBeLessThanOrEqual(algorithmOf(limit).quota(limit).quota);

  const named = { ...limit, id: "a", scope: "global" } as Limit;
  const headers = new Headers();
  addRateLimitFields(headers, "both", [decideLimit({} as Policy, named, reply, cost, nowMs, charged)], nowMs);
  const { states, legacy } = fieldsOf({ headers });
  const { r, t = 1 } = states!.a!;
  expect([r, legacy!.remaining]).toEqual([told.remaining, told.remaining]);
  expect(t).toBeGreaterThanOrEqual(1);
}
