/**
 * headgate beside its alternatives, with the same work in the same run.
 *
 *   npm run bench                              all parts; writes docs/benchmarks.md and docs/benchmarks/
 *   npm run bench -- --quick                   shorter, to see that it works; writes nothing
 *   npm run bench -- redis latency truth size scale money      these parts; in full they replace their part of the page
 *   npm run bench -- truth --peer X --trace Y  one peer on one trace; writes nothing
 */

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { latency } from "./parts/latency.ts";
import { money } from "./parts/money.ts";
import { redisCost } from "./parts/redis.ts";
import { scale } from "./parts/scale.ts";
import { size } from "./parts/size.ts";
import { truth } from "./parts/truth.ts";
import { describeMachine } from "./support/machine.ts";
import { keep, kept, writePage } from "./support/page.ts";
import type { Part, Section } from "./support/part.ts";

const PARTS: Readonly<Record<string, Part>> = { redis: redisCost, latency, truth, size, scale, money };

const args = process.argv.slice(2);
const option = (name: string) => {
  const at = args.indexOf(`--${name}`);
  return at < 0 ? undefined : args[at + 1];
};
const quick = args.includes("--quick");
const names = args.filter((arg, i) => !arg.startsWith("--") && !(args[i - 1] ?? "").match(/^--(peer|trace)$/));
const unknown = [
  ...names.filter((name) => !(name in PARTS)),
  ...args.filter((arg) => arg.startsWith("--") && !/^--(quick|peer|trace)$/.test(arg)),
];
if (unknown.length > 0) {
  console.error(
    `expected parts ${Object.keys(PARTS).join(", ")}, --quick, --peer X or --trace Y, found ${unknown.join(", ")}`,
  );
  process.exit(2);
}
const chosen = names.length > 0 ? names : Object.keys(PARTS);
const isWritten = !quick && option("peer") === undefined && option("trace") === undefined;

const bench = fileURLToPath(new URL(".", import.meta.url));
if (!existsSync(`${bench}node_modules`)) {
  console.error("installing the peers (bench/package.json)");
  const { status } = spawnSync("npm", ["ci", "--prefix", bench], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

const sections = new Map<string, Section>();
for (const [i, name] of chosen.entries()) {
  const startedAt = performance.now();
  const show = (what: string) => {
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0).padStart(4);
    const line = `[${i + 1}/${chosen.length}] ${name}: ${seconds} s  ${what}`;
    process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${line}` : `${line}\n`);
  };
  const section = await PARTS[name]!({
    quick,
    progress: show,
    option,
    figures: (part) => (sections.get(part) ?? kept(part)?.section)?.figures,
  });
  sections.set(name, section);
  show("done");
  if (process.stderr.isTTY) process.stderr.write("\n");
  if (isWritten) keep(name, section, await describeMachine());
  console.log(`\n## ${name}\n\n${section.markdown}\n`);
  for (const { what, bound, measured, holds } of section.targets) {
    console.log(`${holds ? "holds " : "MISSED"}  ${what}: ${measured} (${bound})`);
  }
}
if (isWritten) console.log(`\nwrote ${writePage(Object.keys(PARTS))}`);
