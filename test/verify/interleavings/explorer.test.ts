// The explorer of scripts/verify in a process of its own, because it replaces modules while they load.

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { FAULTS } from "../../../scripts/verify/interleavings/faults.ts";
import { FULL } from "../../../scripts/verify/interleavings/modes.ts";
import { firstOf } from "../../support/cases/draws.ts";

const EXPLORER = fileURLToPath(new URL("../../../scripts/verify/interleavings/main.ts", import.meta.url));

const explore = (...options: string[]) => promisify(execFile)(process.execPath, [EXPLORER, ...options]);

/** `npm run test:long` looks for all of them, `npm test` for the first ones. */
const PLANTED = [
  "a reset forgets the debts",
  "leased units are returned and kept",
  "leased units of one policy suffice for a request of two",
  "at the end of a bucket its units are forgotten",
  "the late reply of a place is not heard after a refusal",
  "a late slot is kept",
  "a settlement of unknown outcome is sent again",
  "what was not told yet does not count beside a reply",
  "a refusal is remembered beyond the end of its period",
  "what the fallback has admitted with an id is owed",
  "undoing a charge leaves its id",
  "units are not given back when another place refuses",
  "a request is admitted although the place of a policy with deny is silent",
];

it.each(firstOf(PLANTED))("finds a planted fault: %s", async (name) => {
  const { stdout } = await explore("--fault", name);
  expect(stdout).toMatch(/^found after \d+ choices/);
});

it("has each planted fault's text once in the source", () => {
  const times = FAULTS.map(({ name, file, was }) => {
    const source = readFileSync(new URL(`../../../src/${file}`, import.meta.url), "utf8");
    return [name, source.split(was).length - 1];
  });
  expect(times).toEqual(FAULTS.map(({ name }) => [name, 1]));
});

it("tells a story again from its choices", async () => {
  const choices = '[["request","A",1,0],["arrive",2],["reply",2]]';
  const { stdout } = await explore("--mode", "strict, one isolate, a fault", "--choices", choices);
  expect(stdout).toContain("A: the request of cost 1 is admitted (redis)");
  expect(stdout).toMatch(/as promised\n$/);
});

it("knows the options and the modes that docs/verification.md names", () => {
  const page = readFileSync(new URL("../../../docs/verification.md", import.meta.url), "utf8");
  const program = readFileSync(EXPLORER, "utf8");
  const commands = page.split("```sh\n")[1]!.split("```")[0]!;
  const options = [...commands.matchAll(/--([a-z]+)/g)].map(([, name]) => name!);
  expect(options).toEqual(["quick", "faults", "mode", "choices"]);
  for (const name of options) expect(program).toContain(`    ${name}: { type:`);
  expect(FULL.map(({ name }) => name)).toContain(/--mode '([^']+)'/.exec(commands)![1]);
});
