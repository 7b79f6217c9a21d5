/**
 * `npm run verify`: explores every interleaving within the bounds of modes.ts (docs/verification.md). Exits with 1 if a
 * state is not as promised; its story is printed.
 *
 * `--quick`: small bounds. `--mode NAME`: only modes whose name begins so. `--choices LIST`: tells one story again.
 * `--faults`: plants each fault of faults.ts, and exits with 1 if one is not found. `--fault NAME`: plants one of them.
 */

import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { FAULTS } from "./faults.ts";
import { FULL, type Mode, QUICK } from "./modes.ts";
import { replaceSources } from "./replace.ts";
import type { World } from "./world.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    mode: { type: "string", default: "" },
    choices: { type: "string" },
    faults: { type: "boolean", default: false },
    fault: { type: "string" },
    /** For the processes that this one starts. */
    one: { type: "string" },
  },
});
const modes = values.quick ? QUICK : FULL;
if (values.faults) process.exit(await plantAll());
else if (values.fault !== undefined) await plant(values.fault);
else if (values.one !== undefined) await exploreOne(modes.find(({ name }) => name === values.one)!);
else if (values.choices !== undefined) await tellAgain(JSON.parse(values.choices));
else process.exit(await exploreAll(modes.filter(({ name }) => name.startsWith(values.mode))));

/** Explores the modes on all processors. @returns the exit code. */
async function exploreAll(all: readonly Mode[]): Promise<number> {
  const sums = { states: 0, executions: 0 };
  const isGood = await inProcesses(
    all,
    ({ name }) => [...(values.quick ? ["--quick"] : []), "--one", name],
    (_, lines) => {
      const last = lines.find((line) => line.startsWith("{")) ?? "{}";
      const found: Partial<typeof sums> = JSON.parse(last);
      sums.states += found.states ?? 0;
      sums.executions += found.executions ?? 0;
      for (const line of lines) if (line !== last) console.log(line);
    },
  );
  console.log(`${sums.states} distinct states, ${sums.executions} executions`);
  return isGood ? 0 : 1;
}

async function plantAll(): Promise<number> {
  const isGood = await inProcesses(
    FAULTS,
    ({ name }) => ["--fault", name],
    ({ name }, lines) => {
      console.log(`${name}\n  ${lines.join("\n  ")}`);
    },
  );
  return isGood ? 0 : 1;
}

/** Runs this file once for each, as many at once as there are processors. @returns whether all ended well. */
async function inProcesses<T>(
  all: readonly T[],
  optionsFor: (one: T) => readonly string[],
  show: (one: T, lines: readonly string[]) => void,
): Promise<boolean> {
  let [next, isGood] = [0, true];
  async function work(): Promise<void> {
    while (next < all.length) {
      const one = all[next++]!;
      const child = spawn(process.execPath, [fileURLToPath(import.meta.url), ...optionsFor(one)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const chunks: Buffer[] = [];
      child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
      const code = await new Promise((resolve) => child.on("close", resolve));
      isGood &&= code === 0;
      show(one, Buffer.concat(chunks).toString().trim().split("\n"));
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return isGood;
}

async function exploreOne(mode: Mode): Promise<void> {
  replaceSources();
  const { explore } = await import("./search.ts");
  const beganAt = performance.now();
  const { states, executions, depth, wrong } = await explore(mode, {
    mergeTest: values.quick ? 40 : 200,
    onProgress: (...[s, e, d]) => {
      if (s % 20_000 === 0) process.stderr.write(`${mode.name}: ${s} states, ${e} executions, depth ${d}\n`);
    },
  });
  const seconds = ((performance.now() - beganAt) / 1000).toFixed(1);
  console.log(`${mode.name}: ${states} states, ${executions} executions, depth ${depth}, ${seconds} s`);
  if (wrong) {
    console.log(`\nNot as promised: ${wrong.what}\n`);
    for (const line of wrong.story) console.log(line);
    const options = `${values.quick ? "--quick " : ""}--mode '${mode.name}' --choices '${JSON.stringify(wrong.choices)}'`;
    console.log(`\nAgain: npm run verify -- ${options}\n`);
  }
  console.log(JSON.stringify({ states, executions }));
  process.exit(wrong ? 1 : 0);
}

/** Exits with 1 if the fault is not found. */
async function plant(name: string): Promise<void> {
  const planted = FAULTS.find((one) => one.name === name);
  if (!planted) throw new Error(`--fault: expected a name of faults.ts, found ${name}`);
  replaceSources(planted);
  const { explore } = await import("./search.ts");
  const { wrong, states } = await explore(planted.mode);
  console.log(wrong ? `found after ${wrong.choices.length} choices, ${states} states: ${wrong.what}` : "NOT FOUND");
  for (const line of wrong?.story ?? []) console.log(line);
  process.exit(wrong ? 0 : 1);
}

async function tellAgain(choices: Parameters<World["run"]>[0]): Promise<void> {
  replaceSources();
  const { World: Replaced } = await import("./world.ts");
  const { end } = await import("./ending.ts");
  const world = new Replaced(modes.find(({ name }) => name === values.mode)!);
  await world.run(choices);
  if (!world.broken) await end(world);
  for (const line of world.story) console.log(line);
  console.log(world.broken ?? "as promised");
  process.exit(world.broken ? 1 : 0);
}
