// Parity must notice every edit of one token in the Lua: it must find a difference.

import { readdirSync } from "node:fs";
import { afterAll, assert, beforeAll, describe, expect, it } from "vitest";
import { type RedisServer, startRedisServer } from "../../scripts/machine/redis-server.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { CASES, fixedCases } from "../support/parity/fixed-cases.ts";
import { mutatedFiles } from "../support/parity/mutants.ts";
import { mutantsOf } from "../support/parity/mutate.ts";
import type { ParityCase, ParityName } from "../support/parity/parity-case.ts";
import { type PlannedStep, planCase } from "../support/parity/parity-plan.ts";
import { firstDifference } from "../support/parity/parity-run.ts";
import { loadScript, type ParityWire, parityWire } from "../support/parity/parity-wire.ts";

/** How many of the last killers are tried first. */
const KILLERS = 8;
/** Cases that kill what hardly another one kills. They are tried next: otherwise half of all tries look for these. */
const RARE_KILLERS: Readonly<Partial<Record<ParityName, readonly number[]>>> = {
  "sliding-window": [12, 17, 75],
  "fixed-window": [7, 58, 79],
  "sliding-log": [37, 55, 63],
  "long logs": [30],
  mixes: [8, 102],
  "one window": [26, 35, 63],
  "one bucket": [50, 120],
};

interface Plan {
  readonly name: ParityName;
  readonly steps: readonly PlannedStep[];
}
const drawn = new Map<ParityName, readonly ParityCase[]>();
const plans = new Map<ParityCase, Plan>();
/** Plans that killed a mutant, the last one first: they are tried first. */
let killers: readonly Plan[] = [];
/** Plans that the unedited script passes. */
const sound = new Set<Plan>();

/** All mutants get the same cases, so that a mutant lives or dies the same way every time. */
function casesOf(name: ParityName): readonly ParityCase[] {
  const cases = drawn.get(name) ?? fixedCases(name);
  drawn.set(name, cases);
  return cases;
}

function planOf(name: ParityName, i: number): Plan {
  const drawn = casesOf(name)[i]!;
  const plan = plans.get(drawn) ?? { name, steps: planCase(drawn) };
  plans.set(drawn, plan);
  return plan;
}

/** All plans of these names, in an order that finds killers early: what killed before, and then each name by turns. */
function* plansOf(names: readonly ParityName[]): Iterable<Plan> {
  yield* killers.filter(({ name }) => names.includes(name)).slice(0, KILLERS);
  for (const name of names) for (const i of RARE_KILLERS[name] ?? []) yield planOf(name, i);
  for (let i = 0; i < CASES; i++) for (const name of names) yield planOf(name, i);
}

/** No plan takes so long: a mutant that is still running never ends. */
const ENDLESS_MS = 8_000;

// A server of its own: while a mutant runs without end, a server answers nobody.
let server: RedisServer;
let wire: ParityWire;
let original: string;

async function start(): Promise<void> {
  server = await startRedisServer();
  wire = await parityWire(server.url);
  original = await loadScript(wire, TAKE.text);
}

async function stop(): Promise<void> {
  wire.close();
  await server.stop();
}

beforeAll(start);
afterAll(stop);

/** As `firstDifference`, and that a script never ends is a difference too. */
async function differenceInTime(sha1: string, { steps }: Plan): Promise<string | undefined> {
  let isEndless = false;
  const timer = setTimeout(() => {
    isEndless = true;
    void server.kill();
  }, ENDLESS_MS);
  try {
    return await firstDifference(wire, sha1, steps);
  } catch (error) {
    if (!isEndless) throw error;
    await stop();
    await start();
    return "it never ends";
  } finally {
    clearTimeout(timer);
  }
}

/** The first plan that shows a difference. */
async function killerOf(text: string, names: readonly ParityName[]): Promise<Plan | undefined> {
  // Redis refuses an edit that does not compile. Such an edit is not a mutant.
  const sha1 = await loadScript(wire, text);
  for (const plan of plansOf(names)) {
    if ((await differenceInTime(sha1, plan)) === undefined) continue;
    killers = [plan, ...killers.filter((other) => other !== plan)];
    return plan;
  }
  return undefined;
}

/** A plan kills a mutant only if the unedited script passes the same plan. parity.test.ts tries the unedited script. */
async function expectNoDifference(plan: Plan): Promise<void> {
  if (sound.has(plan)) return;
  expect(await firstDifference(wire, original, plan.steps)).toBeUndefined();
  sound.add(plan);
}

it("has mutants of every file of the decision", () => {
  const all = readdirSync(new URL("../../lua/", import.meta.url)).filter((name) => name.endsWith(".lua"));
  // The live document is another script: test/kernel/store/live.test.ts runs it.
  const files = all.filter((name) => name !== "live.lua");
  expect(mutatedFiles.map(({ file }) => `${file}.lua`).sort()).toEqual(files.sort());
});

describe.each(mutatedFiles)("kills one-token edits of $file:", (mutated) => {
  it.each(mutantsOf(mutated))("$title", async ({ script }) => {
    const killer = await killerOf(script, mutated.cases);
    assert(killer !== undefined, "no case shows a difference");
    await expectNoDifference(killer);
  });
});
