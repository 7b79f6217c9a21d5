// Would parity notice? Each one-token edit of the Lua must make it find a difference.

import { readdirSync } from "node:fs";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { TAKE } from "../../src/redis/script.generated.ts";
import { mutatedFiles } from "../support/parity/mutants/all.ts";
import { isOneToken, mutate } from "../support/parity/mutants/mutate.ts";
import { type ParityCase, type ParityName, parityCases, parityNames } from "../support/parity/parity-case.ts";
import { type PlannedStep, planCase } from "../support/parity/parity-plan.ts";
import { firstDifference, parityRedis } from "../support/parity/parity-run.ts";

const CASES = 200;
const plans = new Map<ParityName, readonly (readonly PlannedStep[])[]>();

/** The same cases for all, so that a mutant lives or dies the same way every time. */
function plansOf(name: ParityName): readonly (readonly PlannedStep[])[] {
  const drawn = plans.get(name) ?? fc.sample<ParityCase>(parityCases[name], { seed: 1, numRuns: CASES }).map(planCase);
  plans.set(name, drawn);
  return drawn;
}

let redis: Redis;

beforeAll(() => {
  redis = parityRedis(inject("redisUrl"));
});
afterAll(async () => {
  await redis.quit();
});

/** The number of cases until one shows a difference. */
async function casesUntilDifference(text: string, names: readonly ParityName[]): Promise<number> {
  // Refused here, an edit that does not even compile is no mutant.
  const sha1 = (await redis.script("LOAD", text)) as string;
  for (const [i, plan] of names.flatMap(plansOf).entries()) {
    if ((await firstDifference(redis, sha1, plan)) !== undefined) return i + 1;
  }
  return Number.POSITIVE_INFINITY;
}

it("finds no difference in the script as it is", async () => {
  expect(await casesUntilDifference(TAKE.text, parityNames)).toBe(Number.POSITIVE_INFINITY);
  // All cases, on a busy machine.
}, 180_000);

it("has mutants of every file of lua/", () => {
  const files = readdirSync(new URL("../../lua/", import.meta.url)).filter((name) => name.endsWith(".lua"));
  expect(mutatedFiles.map(({ file }) => `${file}.lua`).sort()).toEqual(files.sort());
});

describe.each(mutatedFiles)("kills one-token edits of $file:", ({ file, cases, edits }) => {
  it.each(edits)("%s → %s", async (...edit) => {
    expect(isOneToken(edit)).toBe(true);
    expect(await casesUntilDifference(mutate(file, edit), cases)).toBeLessThan(Number.POSITIVE_INFINITY);
  });
});
