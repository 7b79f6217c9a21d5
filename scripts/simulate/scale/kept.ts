/** The results that docs/scale.md shows, as they were kept by the last full run. */

import { readFileSync, writeFileSync } from "node:fs";
import type { Measured, Scenario } from "./run.ts";

const FILE = new URL("../../../docs/scale/measured.json", import.meta.url);

interface Kept {
  readonly scenario: Scenario;
  readonly measured: Measured;
}

export function keep(results: readonly Kept[]): void {
  const rounded = (_: string, value: unknown) => (typeof value === "number" ? Number(value.toPrecision(6)) : value);
  writeFileSync(FILE, `${JSON.stringify(results, rounded, 2)}\n`);
}

/** @throws {Error} if the scenario has not been run. */
export function kept(scenario: Scenario): Measured {
  const all: readonly Kept[] = JSON.parse(readFileSync(FILE, "utf8"));
  const wanted = JSON.stringify(scenario);
  const found = all.find((one) => JSON.stringify(one.scenario) === wanted);
  if (!found) throw new Error(`docs/scale/measured.json: expected a result of ${wanted}: npm run docs:scale`);
  return found.measured;
}

/** How much a result may differ from the kept one after a change of the code: this much, plus this part of it. */
const TOLERANCE: Readonly<Record<keyof Measured, readonly [least: number, part: number]>> = {
  requests: [0, 0],
  calls: [20, 0.05],
  busy: [0.01, 0.05],
  p50: [5, 0.05],
  p99: [5, 0.05],
  used: [0.005, 0],
  most: [0.005, 0],
  fallback: [0.005, 0.05],
};

/** What differs from the kept result, in words. Empty: the page is still true. */
export function differences(scenario: Scenario, measured: Measured): string[] {
  const before = kept(scenario);
  return (Object.keys(TOLERANCE) as (keyof Measured)[]).flatMap((name) => {
    const [least, part] = TOLERANCE[name];
    const isSame = Math.abs(measured[name] - before[name]) <= least + part * before[name];
    return isSame ? [] : [`${name}: expected ${before[name]}, found ${measured[name]}`];
  });
}
