// The ratchets: figures that may only fall. `npm run ratchet` writes lower ones into way.json and names.json, and
// `npm run ratchet -- --list` also prints what is behind them.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { featuresInKernel } from "./names.ts";
import type { Entered } from "./way.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** What a ratchet keeps in its file. */
export interface Kept {
  readonly ceilings: Readonly<Record<string, number>>;
  /** What each file adds to the figures. */
  readonly files: Readonly<Record<string, string>>;
}

export interface Measured extends Kept {
  /** What is behind the figures of each file: lines for whoever must lower them. */
  readonly details: Readonly<Record<string, readonly string[]>>;
}

export const RATCHETS: readonly { readonly name: string; readonly measure: () => Measured }[] = [
  { name: "way", measure: measureWay },
  { name: "names", measure: measureNames },
];

/** What one admitted request enters of src/. */
function measureWay(): Measured {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env;
  const measured = execFileSync(process.execPath, ["test/ratchets/way.ts"], { cwd: ROOT, env, encoding: "utf8" });
  const entered: Entered[] = JSON.parse(measured);
  const sumOf = (figure: (one: Entered) => number) => entered.reduce((sum, one) => sum + figure(one), 0);
  return {
    ceilings: {
      files: entered.length,
      functions: sumOf(({ functions }) => functions),
      calls: sumOf(({ calls }) => calls),
      untaken: sumOf(({ untaken }) => untaken.length),
    },
    ...byFile(entered, ({ file, functions, calls, untaken }) => [
      file,
      `${functions} functions, ${calls} calls, ${untaken.length} untaken`,
      untaken,
    ]),
  };
}

/** The features that the kernel names. */
function measureNames(): Measured {
  const found = [...featuresInKernel(ROOT)];
  const names = found.flatMap(([, features]) => [...features.values()]);
  return {
    ceilings: { pairs: names.length, names: names.flat().length },
    ...byFile(found, ([file, features]) => [
      file,
      [...features].map(([feature, names]) => `${feature} ${names.length}`).join(", "),
      [...features].map(([feature, names]) => `${feature}: ${[...new Set(names)].join(" ")}`),
    ]),
  };
}

function byFile<T>(all: readonly T[], of: (one: T) => [file: string, figures: string, details: readonly string[]]) {
  const rows = all.map(of).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    files: Object.fromEntries(rows.map(([file, figures]) => [file, figures])),
    details: Object.fromEntries(rows.map(([file, , details]) => [file, details])),
  };
}

/** What a person must know if the figures are not those that are kept. */
export function problemsOf({ ceilings, files }: Kept, now: Measured): string[] {
  const all = Object.entries(now.ceilings);
  const higher = all.filter(([figure, value]) => value > ceilings[figure]!);
  const lower = all.filter(([figure, value]) => value < ceilings[figure]!);
  const changed = Object.keys(now.files).filter((file) => now.files[file] !== files[file]);
  return [
    ...higher.map(([figure, value]) => `${figure}: ${value}, more than the ceiling of ${ceilings[figure]}`),
    ...(higher.length > 0 ? changed : []).flatMap((file) => [
      `${file}: ${now.files[file]}; before: ${files[file] ?? "nothing"}`,
      ...now.details[file]!.map((line) => `    ${line}`),
    ]),
    ...lower.map(([figure, value]) => `${figure}: ${value}. Lower the ceiling of ${ceilings[figure]}: npm run ratchet`),
  ];
}

const pathOf = (name: string) => new URL(`${name}.json`, import.meta.url);

export const keptOf = (name: string): Kept => JSON.parse(readFileSync(pathOf(name), "utf8"));

if (import.meta.main) {
  for (const { name, measure } of RATCHETS) {
    const now = measure();
    const { ceilings, files, details } = now;
    console.log(name, ceilings);
    if (process.argv.includes("--list")) console.log(details);
    const kept = keptOf(name);
    const isHigher = Object.entries(ceilings).some(([figure, value]) => value > kept.ceilings[figure]!);
    if (isHigher) {
      console.error(problemsOf(kept, now).join("\n"));
      console.error(`${name}.json stays: raise its ceiling by hand, and say in the commit why it must rise`);
      process.exitCode = 1;
    } else writeFileSync(pathOf(name), `${JSON.stringify({ ceilings, files }, null, 2)}\n`);
  }
}
