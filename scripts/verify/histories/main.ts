/**
 * `npm run verify:histories`: records histories with faults against the Durable Object in workerd and against three
 * Redis, and checks them (docs/verification.md). At least 100,000 operations. Exits with 1 if a history is not as
 * promised; its story is printed, and the history is kept as a file.
 *
 * `--quick`: a few thousand operations. `--seed 7`: other ones. `--out FOLDER`: keeps every history there.
 * `--check FILE`: checks a history that lies in a file.
 */

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { checkHistory, type Verdict } from "./check.ts";
import { type History, readHistory, writeHistory } from "./history.ts";
import { recordObject } from "./object.ts";
import { recordRedis } from "./redis.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    out: { type: "string" },
    check: { type: "string" },
  },
});
const seed = Number(values.seed);

/** Each history is recorded, checked and forgotten: memory does not grow with their number. */
const [OBJECT_HISTORIES, REDIS_HISTORIES] = values.quick ? [1, 1] : [12, 12];
const OBJECT = values.quick
  ? { operations: 2_000, processes: 16, kills: 1, crashes: 3 }
  : { operations: 5_000, processes: 16, kills: 3, crashes: 9 };
const REDIS = values.quick
  ? { decisions: 400, isolates: 3, processes: 6, faultEvery: 40 }
  : { decisions: 1_500, isolates: 3, processes: 6, faultEvery: 120 };

const isBroken = values.check ? judge(readHistory(readFileSync(values.check, "utf8")), "checked") : await recordAll();
process.exit(isBroken ? 1 : 0);

async function recordAll(): Promise<boolean> {
  let [operations, unknown] = [0, 0];
  const beganAt = performance.now();
  const broken: string[] = [];
  const histories = [
    ...Array.from({ length: OBJECT_HISTORIES }, (_, i) => ({
      name: `object-${seed + i}`,
      record: () => recordObject({ ...OBJECT, seed: seed + i }),
    })),
    ...Array.from({ length: REDIS_HISTORIES }, (_, i) => ({
      name: `redis-${seed + i}`,
      record: () => recordRedis({ ...REDIS, seed: seed + i }),
    })),
  ];
  for (const { name, record } of histories) {
    const history = await record();
    const isWrong = judge(history, name);
    operations += history.operations.length;
    unknown += history.operations.filter((one) => one.return === undefined).length;
    if (isWrong) broken.push(name);
    if (values.out || isWrong) console.log(`  kept as ${keep(name, history)}`);
  }
  const seconds = ((performance.now() - beganAt) / 1_000).toFixed(0);
  const mib = (process.resourceUsage().maxRSS / 1_024).toFixed(0);
  if (broken.length > 0) console.log(`not as promised: ${broken.join(", ")}`);
  console.log(`${operations} operations, ${unknown} with an unknown outcome, ${seconds} s, at most ${mib} MiB`);
  return broken.length > 0;
}

function keep(name: string, history: History): string {
  const folder = values.out ?? tmpdir();
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.json`);
  writeFileSync(file, writeHistory(history));
  return file;
}

/** Prints what was found. @returns whether something is wrong. */
function judge(history: History, name: string): boolean {
  const verdict = checkHistory(history);
  console.log(`${name}: ${history.about}\n  ${summaryOf(history, verdict)}`);
  for (const violation of verdict.violations) console.log(`\n${violation}\n`);
  return verdict.violations.length > 0;
}

function summaryOf({ operations }: History, { calls, places, violations }: Verdict): string {
  const parts = [
    `${operations.length} operations`,
    `${calls.calls} calls in ${calls.groups} groups, ${calls.unknown} with an unknown outcome`,
    `${calls.pairs} pairs`,
  ];
  if (places) {
    const { decisions, admitted, refusedByCounts, refusedByReturning, alone } = places;
    const refused = `refused by counts ${refusedByCounts}, by returning or unknown units ${refusedByReturning}`;
    parts.push(`${decisions} decisions: admitted ${admitted}, ${refused}, without a place ${alone}`);
  }
  return `${parts.join("; ")}; ${violations.length === 0 ? "as promised" : `${violations.length} violations`}`;
}
