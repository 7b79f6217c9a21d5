// Parity must notice every edit of one token in the Lua: it must find a difference.

import { readdirSync } from "node:fs";
import fc from "fast-check";
import type { Redis } from "ioredis";
import { afterAll, assert, beforeAll, describe, expect, inject, it } from "vitest";
import { TAKE } from "../../src/redis/script.generated.ts";
import { mutatedFiles } from "../support/parity/mutants/all.ts";
import { isOneToken, mutate } from "../support/parity/mutants/mutate.ts";
import { type ParityCase, type ParityName, parityCases, parityNames } from "../support/parity/parity-case.ts";
import { type PlannedStep, planCase } from "../support/parity/parity-plan.ts";
import { firstDifference, parityRedis } from "../support/parity/parity-run.ts";

const CASES = 200;
/** Cases of each kind that the unedited script must pass before any mutant is tried. */
const SOUND_CASES = 10;

type Plan = readonly PlannedStep[];
const drawn = new Map<ParityName, readonly ParityCase[]>();
const plans = new Map<ParityCase, Plan>();
/** Plans that the unedited script passes. */
const sound = new Set<Plan>();

/** All mutants get the same cases, so that a mutant lives or dies the same way every time. */
function casesOf(name: ParityName): readonly ParityCase[] {
  const cases = drawn.get(name) ?? fc.sample<ParityCase>(parityCases[name], { seed: 1, numRuns: CASES });
  drawn.set(name, cases);
  return cases;
}

function planOf(drawn: ParityCase): Plan {
  const plan = plans.get(drawn) ?? planCase(drawn);
  plans.set(drawn, plan);
  return plan;
}

let redis: Redis;
let original: string;

beforeAll(async () => {
  redis = parityRedis(inject("redisUrl"));
  original = (await redis.script("LOAD", TAKE.text)) as string;
});
afterAll(async () => {
  await redis.quit();
});

/** The first plan that shows a difference. */
async function killerOf(text: string, names: readonly ParityName[]): Promise<Plan | undefined> {
  // Redis refuses an edit that does not compile. Such an edit is not a mutant.
  const sha1 = (await redis.script("LOAD", text)) as string;
  for (const name of names) {
    for (const one of casesOf(name)) {
      if ((await firstDifference(redis, sha1, planOf(one))) !== undefined) return planOf(one);
    }
  }
  return undefined;
}

/** A plan kills a mutant only if the unedited script passes the same plan. parity.test.ts tries the unedited script. */
async function expectNoDifference(plan: Plan): Promise<void> {
  if (sound.has(plan)) return;
  expect(await firstDifference(redis, original, plan)).toBeUndefined();
  sound.add(plan);
}

it.each(parityNames)("finds no difference in the script as it is: %s", async (name) => {
  for (const one of casesOf(name).slice(0, SOUND_CASES)) await expectNoDifference(planOf(one));
});

it("has mutants of every file of lua/", () => {
  const files = readdirSync(new URL("../../lua/", import.meta.url)).filter((name) => name.endsWith(".lua"));
  expect(mutatedFiles.map(({ file }) => `${file}.lua`).sort()).toEqual(files.sort());
});

describe.each(mutatedFiles)("kills one-token edits of $file:", ({ file, cases, edits }) => {
  it.each(edits)("%s → %s", async (...edit) => {
    expect(isOneToken(edit)).toBe(true);
    const killer = await killerOf(mutate(file, edit), cases);
    assert(killer !== undefined, "no case shows a difference");
    await expectNoDifference(killer);
  });
});
