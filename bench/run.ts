/**
 * headgate beside its alternatives, with the same work in the same run.
 *
 *   npm run bench                              all parts; writes bench/results/benchmarks.md and its files
 *   npm run bench -- --quick                   once and shorter, to see that it works; writes nothing
 *   npm run bench -- redis size                these parts; in full they replace their part of the page
 *   npm run bench -- --repeat 5                every part so many times, instead of three times (truth: once)
 *   npm run bench -- --redraw                  measures nothing; writes the page again from bench/results/*.json
 *   npm run bench -- truth --peer X --trace Y  one peer on one trace; writes nothing
 *
 * The repetitions of all parts take turns, so that a slow quarter of an hour does not hit one part only.
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { features } from "./parts/features.ts";
import { first } from "./parts/first.ts";
import { latency } from "./parts/latency.ts";
import { money } from "./parts/money.ts";
import { redisCost } from "./parts/redis.ts";
import { scale } from "./parts/scale.ts";
import { size } from "./parts/size.ts";
import { tcp } from "./parts/tcp.ts";
import { truth } from "./parts/truth.ts";
import { describeMachine } from "./support/machine.ts";
import { keep, kept, PARTS, type PartName, writePage } from "./support/page.ts";
import type { Part, Section } from "./support/part.ts";
import { showBlocks, targetRows } from "./support/show.ts";

const RUN: Readonly<Record<PartName, Part>> = {
  ...{ redis: redisCost, tcp, latency, truth, size, first, features, scale, money },
};
const REPEAT = 3;
/** The traces of this part count requests, and take minutes of real time. */
const ONCE = "truth";

const fail = (expected: string): never => {
  console.error(`bench: expected ${expected}`);
  process.exit(2);
};
const { values: options, positionals: names } = (() => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ quick: { type: "boolean" }, redraw: { type: "boolean" } },
        ...{ repeat: { type: "string" }, peer: { type: "string" }, trace: { type: "string" } },
      },
    });
  } catch (error) {
    return fail(`--quick, --redraw, --repeat N, --peer X or --trace Y: ${(error as Error).message}`);
  }
})();
const isPart = (name: string): name is PartName => name in RUN;
const unknown = names.filter((name) => !isPart(name));
if (unknown.length > 0) fail(`parts ${PARTS.join(", ")}, found ${unknown.join(", ")}`);
if (!/^([1-9]\d?)?$/.test(options.repeat ?? "")) fail(`--repeat 1 to 99, found ${options.repeat}`);
if (options.redraw) {
  writePage();
  process.exit(0);
}

const { quick = false, peer, trace } = options;
const chosen = names.length > 0 ? names.filter(isPart) : PARTS;
const isWritten = !quick && peer === undefined && trace === undefined;

/** How many repetitions of a part there will be, or were. */
function repeatOf(name: PartName): number {
  // Money is computed from the figures of one repetition of each of these.
  if (name === "money") return Math.min(repeatOf("redis"), repeatOf("latency"));
  if (!chosen.includes(name)) return kept(name)?.runs.length ?? 1;
  return Number(options.repeat ?? (isWritten && name !== ONCE ? REPEAT : 1));
}

const bench = fileURLToPath(new URL(".", import.meta.url));
if (!existsSync(`${bench}node_modules`)) {
  console.error("installing the peers (bench/package.json)");
  const { status } = spawnSync("npm", ["ci", "--prefix", bench], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

const startedAt = performance.now();
const measured = new Map<string, Section[]>(chosen.map((name) => [name, []]));
const repeats = Math.max(...chosen.map(repeatOf));
for (let turn = 0; turn < repeats; turn++) {
  for (const name of chosen.filter((one) => turn < repeatOf(one))) {
    const show = (what: string) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(4);
      const line = `${seconds} s  [${turn + 1}/${repeatOf(name)}] ${name}: ${what}`;
      process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
    };
    const section = await RUN[name]({
      quick,
      progress: show,
      option: (option) => options[option],
      figures: (part) => (measured.get(part) ?? kept(part)?.runs)?.[turn]?.figures,
    });
    measured.get(name)!.push(section);
    show("done");
    if (process.stderr.isTTY) process.stderr.write("\n");
    if (isWritten && turn + 1 === repeatOf(name)) {
      keep(name, { machine: await describeMachine(), runs: measured.get(name)! });
    }
  }
}
for (const [name, runs] of measured) {
  console.log(`\n## ${name}\n\n${showBlocks(runs)}\n`);
  for (const row of targetRows(runs)) console.log(row.join(" | "));
}
if (isWritten) writePage();
