// The script on a real Redis and its mirror in src/core: the same reply, the same stored bytes and the same expiry at
// every step. A failure prints its seed and the smallest case found: put that case into `examples`.

import fc from "fast-check";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import { Flag } from "../../src/core/take.ts";
import { TAKE } from "../../src/redis/script.generated.ts";
import { type ParityCase, type ParityName, parityCases, parityNames } from "../support/parity/parity-case.ts";
import { planCase } from "../support/parity/parity-plan.ts";
import { firstDifference } from "../support/parity/parity-run.ts";
import { loadScript, type ParityWire, parityWire } from "../support/parity/parity-wire.ts";

/** Of each kind, at least. */
const STEPS = 20_000;
/** Tried at once, about 30 steps each: as many times as it takes. */
const CASES = 100;

const step = {
  ...{ about: 0, advance: { until: "now" as const, n: 1 }, costs: [1], flag: Flag.take, slot: 1 },
  back: { to: "ago" as const, n: 0 },
};

/** Cases that once failed, each with what was wrong. */
const examples: Partial<Record<ParityName, readonly [ParityCase][]>> = {
  "sliding-window": [
    [
      // A count that is text made the script fail for ever on `>`: not a record of ours.
      {
        startMs: 1_700_000_000_000,
        keys: [{ group: 0, configurations: [[{ limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 }]] }],
        steps: [
          { ...step, costs: [2] },
          { ...step, damage: { by: "field", field: 4, value: "x" } },
        ],
      },
    ],
    [
      // A bucket's number that is text was computed with, and stored again.
      {
        startMs: 1500,
        keys: [{ group: 0, configurations: [[{ limit: 5, kind: Kind.weighted, bucketMs: 1000, buckets: 1 }]] }],
        steps: [
          { ...step, costs: [2] },
          { ...step, damage: { by: "field", field: 1, value: "1" } },
        ],
      },
    ],
  ],
  "one bucket": [
    [
      // An instant before the epoch is not a record of ours either: it was, and paid back a little.
      {
        startMs: 1,
        keys: [
          { group: 0, configurations: [[{ limit: 3, kind: Kind.bucket, windowMs: 16, burst: 13, maxDelayMs: 0 }]] },
        ],
        steps: [
          { ...step, costs: [13] },
          { ...step, costs: [13], damage: { by: "field", field: 1, value: -1 } },
        ],
      },
    ],
  ],
};

let wire: ParityWire;
let sha1: string;

beforeAll(async () => {
  wire = await parityWire(inject("redisUrl"));
  sha1 = await loadScript(wire, TAKE.text);
});
afterAll(() => wire.close());

it.each(parityNames)("decides, replies, stores and expires as src/core does: %s", async (name) => {
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
  // Not console.log: its output is shown for failed tests only.
  process.stdout.write(`parity, ${name}: ${steps} steps, seed ${seed} (PARITY_SEED=${seed} repeats them)\n`);
});
