// What parity tries: policies, and steps in words. parity-plan.ts turns the words into numbers.

import fc from "fast-check";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import type { Once } from "../../../src/kernel/core/once.ts";
import type { AlgorithmName } from "../../../src/kernel/core/policy.ts";
import { ENFORCED, Flag } from "../../../src/kernel/core/take.ts";
import { instant, windowLimit } from "../cases/arbitrary.ts";
import { anyLimit, identityOf, limitOf, withNumber } from "../cases/arbitrary-limits.ts";
import { type Damage, damage, onceDamage } from "./parity-damage.ts";

export interface ParityCase {
  readonly startMs: number;
  readonly keys: readonly KeyPlan[];
  readonly steps: readonly StepPlan[];
}

export interface KeyPlan {
  /** As `KeyRequest.group` says. */
  readonly group: number;
  /** The key's limits over the steps: the first list for the first part of the steps, then the next list. */
  readonly configurations: readonly (readonly LimitSpec[])[];
}

export interface StepPlan {
  /** Which of all limits the step is about, modulo their number. */
  readonly about: number;
  /** Time before the step: n ms after the named event, or n/1000 of the span forward (`part`) or back (`back`). */
  readonly advance: { readonly until: "now" | "boundary" | "admitted" | "part" | "back"; readonly n: number };
  /** The cost for each key, in units. */
  readonly costs: readonly number[];
  /** Replaces one key's cost: n more than the limit has left, its key's tightest limit has left, or the limit is. */
  readonly instead?: { readonly of: "remaining" | "tightest" | "limit"; readonly n: number } | undefined;
  readonly flag: Flag;
  /** Sent if any limit of the step is a concurrency limit, as src does. */
  readonly slot: number;
  readonly back: BackTo;
  /** Flags and instants of single keys that differ from those of the step. Absent: every key has the step's. */
  readonly mixed?: readonly ({ readonly flag: Flag; readonly back: BackTo } | undefined)[] | undefined;
  /** The ids of the request under some keys. Absent: it has none. */
  readonly once?: readonly (Once | undefined)[] | undefined;
  /** What another program wrote before the step. */
  readonly damage?: Damage | undefined;
}

/** When `Flag.giveBack`'s units were charged: n/1000 of the span ago, or at the n-th entry of the limit's log. */
export interface BackTo {
  readonly to: "ago" | "entry";
  readonly n: number;
}

const NUMBER_CHANGES: Readonly<Record<string, (limit: number) => number>> = {
  kept: (limit) => limit,
  more: (limit) => limit + 1,
  half: (limit) => Math.ceil(limit / 2),
  double: (limit) => limit * 2,
};

function keyPlan(limit: fc.Arbitrary<LimitSpec>, maxLimits: number): fc.Arbitrary<KeyPlan> {
  return fc
    .uniqueArray(limit, { minLength: 1, maxLength: maxLimits, size: "max", selector: identityOf })
    .chain((pool) => configured(fc.oneof(fc.constant(pool), fc.shuffledSubarray(pool, { minLength: 1 }))));
}

/** A key with one to three lists of limits, one after the other, with other numbers. */
function configured(limits: fc.Arbitrary<readonly LimitSpec[]>): fc.Arbitrary<KeyPlan> {
  const configuration = fc
    .tuple(limits, fc.constantFrom(...Object.values(NUMBER_CHANGES)))
    .map(([limits, change]) => limits.map((one) => withNumber(one, change(one.limit))));
  return fc.record({
    group: fc.constantFrom(0, 0, 0, 1, 1, 2),
    configurations: fc.array(configuration, { minLength: 1, maxLength: 3 }),
  });
}

const advanceBy = <U extends StepPlan["advance"]["until"]>(until: U, n: fc.Arbitrary<number>) =>
  fc.record({ until: fc.constant(until), n });

const advance: fc.Arbitrary<StepPlan["advance"]> = fc.oneof(
  { weight: 3, arbitrary: advanceBy("now", fc.constantFrom(0, 0, 1)) },
  { weight: 2, arbitrary: advanceBy("boundary", fc.integer({ min: -1, max: 1 })) },
  { weight: 3, arbitrary: advanceBy("admitted", fc.integer({ min: -1, max: 1 })) },
  { weight: 3, arbitrary: advanceBy("part", fc.nat({ max: 999 })) },
  { weight: 1, arbitrary: advanceBy("part", fc.integer({ min: 1000, max: 70_000 })) },
  { weight: 1, arbitrary: advanceBy("back", fc.integer({ min: 1, max: 3_000 })) },
);

const cost = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 3 }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 1_000_000_000 }) },
);

const instead = fc.record({
  of: fc.constantFrom("remaining" as const, "tightest" as const, "tightest" as const, "limit" as const),
  n: fc.integer({ min: -1, max: 1 }),
});

const TAKES = new Array<Flag>(10).fill(Flag.take);

const back: fc.Arbitrary<BackTo> = fc.oneof(
  fc.record({ to: fc.constant("ago" as const), n: fc.integer({ min: -1_000, max: 8_000 }) }),
  fc.record({ to: fc.constant("entry" as const), n: fc.nat({ max: 20 }) }),
);

/** One for each key. */
const ofEachKey = <T>(one: fc.Arbitrary<T>) => fc.array(one, { minLength: 4, maxLength: 4 });

const mixed = ofEachKey(
  fc.option(fc.record({ flag: fc.constantFrom(...Object.values(Flag)), back }), { nil: undefined }),
);

/** Few ids, which come again often. Their ends are as near as those of the windows: tests need no second. */
const once: fc.Arbitrary<Once> = fc
  .record({
    id: fc.constantFrom("a", "a", "b", "c"),
    forMs: fc.constantFrom(1, 3, 20, 400, 60_000, 3_600_000),
    repeats: fc.constantFrom(1, 1, 2, 10),
    isRepeat: fc.boolean(),
  })
  .map(({ isRepeat, ...one }) => (isRepeat ? { ...one, isRepeat } : one));

const plainStep: fc.Arbitrary<StepPlan> = fc.record({
  about: fc.nat({ max: 31 }),
  advance,
  costs: ofEachKey(cost),
  instead: fc.option(instead, { freq: 3, nil: undefined }),
  flag: fc.constantFrom(...TAKES, Flag.chargeAnyway, Flag.chargeAnyway, Flag.giveBack, Flag.giveBack, Flag.look),
  slot: fc.constantFrom(1, 2, 3, 4, 5, 6, 2 ** 53 - 1),
  back,
  mixed: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: mixed }),
});

/** The step of a case with ids. Many of its requests are repeats, and some of them are undone. */
const onceStep: fc.Arbitrary<StepPlan> = fc
  .tuple(plainStep, ofEachKey(fc.option(once, { freq: 4, nil: undefined })))
  .map(([step, once]) => ({ ...step, once }));

const withDamage = (one: fc.Arbitrary<StepPlan>, damage: fc.Arbitrary<Damage>) =>
  fc.tuple(one, damage).map(([step, damage]): StepPlan => ({ ...step, damage }));

/** Damage that the script reads in the same millisecond, before time replaces the damaged records. */
const withDamageNow = (one: fc.Arbitrary<StepPlan>, damage: fc.Arbitrary<Damage>) =>
  withDamage(one, damage).map((step): StepPlan => ({ ...step, advance: { until: "now", n: 0 } }));

/** Three of these steps in one bucket reach the highest possible count. */
const largestCharge = plainStep.map(({ costs, ...step }): StepPlan => {
  const largest = { flag: Flag.chargeAnyway, advance: { until: "now", n: 1 } } as const;
  return { ...step, ...largest, instead: undefined, mixed: undefined, costs: costs.map(() => 1_000_000_000) };
});

const step: fc.Arbitrary<StepPlan> = fc.oneof(
  { weight: 20, arbitrary: plainStep },
  { weight: 1, arbitrary: withDamage(plainStep, damage) },
  { weight: 2, arbitrary: withDamageNow(plainStep, damage) },
  { weight: 1, arbitrary: largestCharge },
);

function parityCase(limit: fc.Arbitrary<LimitSpec>, maxKeys: number, maxLimits: number): fc.Arbitrary<ParityCase> {
  return caseOf(keyPlan(limit, maxLimits), maxKeys);
}

function caseOf(
  key: fc.Arbitrary<KeyPlan>,
  maxKeys: number,
  steps: fc.Arbitrary<StepPlan> = step,
): fc.Arbitrary<ParityCase> {
  return fc.record({
    startMs: instant,
    keys: fc.array(key, { minLength: 1, maxLength: maxKeys }),
    steps: fc.array(steps, { minLength: 1, maxLength: 60, size: "max" }),
  });
}

/** Requests with ids, also beside requests without. Slots have no ids. */
const ids = caseOf(
  keyPlan(
    fc.oneof(limitOf["sliding-window"], limitOf["fixed-window"], limitOf["sliding-log"], limitOf["leaky-bucket"]),
    3,
  ),
  3,
  fc.oneof(
    { weight: 20, arbitrary: onceStep },
    { weight: 1, arbitrary: withDamage(onceStep, damage) },
    { weight: 4, arbitrary: withDamageNow(onceStep, onceDamage) },
  ),
);

/** Logs with many entries in a window. Many of the entries expire together. */
const longLogs: fc.Arbitrary<ParityCase> = fc.record({
  startMs: instant,
  keys: fc.array(
    fc
      .record({
        kind: fc.constant(Kind.log),
        limit: fc.integer({ min: 30, max: 90 }),
        windowMs: fc.integer({ min: 20, max: 60 }),
      })
      .map((limit) => ({ group: ENFORCED, configurations: [[limit]] })),
    { minLength: 1, maxLength: 1 },
  ),
  steps: fc.array(
    fc.record<StepPlan>({
      about: fc.constant(0),
      advance: fc.oneof(
        { weight: 20, arbitrary: advanceBy("now", fc.constantFrom(0, 0, 0, 1)) },
        { weight: 1, arbitrary: advanceBy("part", fc.integer({ min: 700, max: 1_100 })) },
      ),
      costs: fc.tuple(fc.constantFrom(1, 1, 1, 1, 2, 40)),
      flag: fc.constantFrom(...TAKES, Flag.giveBack, Flag.look),
      slot: fc.constant(0),
      back: fc.record({ to: fc.constant("entry" as const), n: fc.nat({ max: 40 }) }),
    }),
    { minLength: 20, maxLength: 60, size: "max" },
  ),
});

/** One limit at a time: the limits that lua/one_window.lua serves, and limits that it must leave alone. */
const oneWindow = windowLimit().chain((limit) => {
  const weighted = { ...limit, kind: Kind.weighted, buckets: 1 };
  const whole = { ...weighted, kind: Kind.whole };
  const fixed = { kind: Kind.fixedWindow, limit: limit.limit, windowMs: limit.bucketMs };
  return configured(fc.constantFrom<LimitSpec[][]>([weighted], [weighted], [whole], [fixed], [limit]));
});

const oneBucket = limitOf["leaky-bucket"].chain((limit) => configured(fc.constant([limit])));

/** Cases by the limits that they have: of one algorithm, or any mix of algorithms in one call. */
export const parityCases = {
  "sliding-window": parityCase(limitOf["sliding-window"], 3, 8),
  "fixed-window": parityCase(limitOf["fixed-window"], 2, 3),
  "sliding-log": parityCase(limitOf["sliding-log"], 2, 2),
  "token-bucket": parityCase(limitOf["token-bucket"], 2, 3),
  "leaky-bucket": parityCase(limitOf["leaky-bucket"], 2, 3),
  concurrency: parityCase(limitOf.concurrency, 2, 2),
  calendar: parityCase(limitOf.calendar, 2, 3),
  "long logs": longLogs,
  mixes: parityCase(anyLimit, 4, 6),
  "one window": caseOf(oneWindow, 1),
  "one bucket": caseOf(oneBucket, 1),
  "calendar and windows": parityCase(fc.oneof(limitOf.calendar, limitOf["fixed-window"], windowLimit()), 2, 3),
  ids,
} satisfies Record<
  AlgorithmName | "long logs" | "mixes" | "one window" | "one bucket" | "calendar and windows" | "ids",
  fc.Arbitrary<ParityCase>
>;

export type ParityName = keyof typeof parityCases;
export const parityNames = Object.keys(parityCases) as ParityName[];
