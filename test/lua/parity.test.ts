// The script on a real Redis and its mirror in src/kernel/core must give the same reply, the same stored bytes and the
// same expiry at every step. A failure prints its seed and the smallest failing case: put that case into `examples`.

import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { partOf } from "../support/cases/draws.ts";
import { fixedCases, SOUND_CASES } from "../support/parity/fixed-cases.ts";
import {
  type ParityCase,
  type ParityName,
  parityCases,
  parityNames,
  type StepPlan,
} from "../support/parity/parity-case.ts";
import { planCase } from "../support/parity/parity-plan.ts";
import { firstDifference } from "../support/parity/parity-run.ts";
import { loadScript, type ParityWire, parityWire } from "../support/parity/parity-wire.ts";

/** New ones of each kind, at least. */
const STEPS = partOf(2_500);
/** Cases of one round, about 30 steps each. Rounds go on until `STEPS` steps are compared. */
const CASES = 25;

const step: StepPlan = {
  ...{ about: 0, advance: { until: "now", n: 1 }, costs: [1], flag: Flag.take, slot: 1 },
  back: { to: "ago", n: 0 },
};
/** Steps of one limit. */
const story = (startMs: number, limit: LimitSpec, ...steps: readonly Partial<StepPlan>[]): [ParityCase] => {
  return [
    { startMs, keys: [{ group: 0, configurations: [[limit]] }], steps: steps.map((one) => ({ ...step, ...one })) },
  ];
};
const window = { limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 };
const bucket = { limit: 3, kind: Kind.bucket, windowMs: 16, burst: 13, maxDelayMs: 0 };

/** Cases that failed once, each with its cause, and that the same cases of each run do not show. */
const examples: Partial<Record<ParityName, readonly [ParityCase][]>> = {
  // The script computed with a bucket number that was text, and stored it again.
  "sliding-window": [story(1500, window, { costs: [2] }, { damage: { by: "field", field: 1, value: "1" } })],
  // An instant before the epoch is not valid either. The script had used it, and paid a part back.
  "one bucket": [story(1, bucket, { costs: [13] }, { costs: [13], damage: { by: "field", field: 1, value: -1 } })],
};

let wire: ParityWire;
let sha1: string;

beforeAll(async () => {
  wire = await parityWire(inject("redisUrl"));
  sha1 = await loadScript(wire, TAKE.text);
});
afterAll(() => wire.close());

// test/lua/mutants.long.test.ts checks that they would show every mutant.
it.each(parityNames)("finds no difference in 3,000 steps that are the same in every run: %s", async (name) => {
  for (const one of fixedCases(name).slice(0, SOUND_CASES)) {
    expect(await firstDifference(wire, sha1, planCase(one))).toBeUndefined();
  }
});

it.each(parityNames)("decides, replies, stores and expires as src/kernel/core does: %s", async (name) => {
  const seed = Number(process.env.PARITY_SEED ?? Date.now() % 2 ** 31);
  let steps = 0;
  const property = fc.asyncProperty<[ParityCase]>(parityCases[name], async (drawn) => {
    const plan = planCase(drawn);
    steps += plan.length;
    expect(await firstDifference(wire, sha1, plan)).toBeUndefined();
  });
  for (let round = 0; steps < STEPS; round++) {
    await fc.assert(property, {
      seed: seed + round,
      numRuns: CASES,
      examples: round === 0 ? [...(examples[name] ?? [])] : [],
    });
  }
  // Not console.log, because vitest shows its output for failed tests only.
  process.stdout.write(`parity, ${name}: ${steps} steps, seed ${seed} (PARITY_SEED=${seed} repeats them)\n`);
});
