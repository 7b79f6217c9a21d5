/** Configurations that are refused: test/kernel/config/mistakes.toml. */

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../../src/kernel/config/settings.ts";

const FILE = new URL("../../kernel/config/mistakes.toml", import.meta.url);
const POLICY = { name: "api", limits: [{ limit: 10, window: "1m" }] };

export interface Fixture {
  readonly bindings: Bindings;
  /** Every message, in order. */
  readonly expected: readonly string[];
}

/** What is wrong, followed by its messages. */
type Rows = readonly (Readonly<Record<string, unknown>> | string)[];

function fixturesOf(rows: Rows, bindingsOf: (wrong: object) => Bindings, path: string): Fixture[] {
  const fixtures: { bindings: Bindings; expected: string[] }[] = [];
  for (const row of rows) {
    if (typeof row === "string") fixtures.at(-1)!.expected.push(withEntry(`${path}${row}`));
    else fixtures.push({ bindings: bindingsOf(row), expected: [] });
  }
  return fixtures;
}

/** A message as it is shown: the code's section of the page about errors follows the code. */
export function withEntry(message: string): string {
  return message.replaceAll(/\((ERR_\w+)\)$/gm, (_, code: string) => `(${code}, docs/errors.md#${code.toLowerCase()})`);
}

export function readFixtures(): Fixture[] {
  const { policies, variables } = parseToml(readFileSync(FILE, "utf8")) as unknown as Record<string, Rows>;
  return [
    ...fixturesOf(policies!, (policy) => ({ POLICIES: [{ ...POLICY, ...policy }] }), "POLICIES[0]."),
    ...fixturesOf(variables!, (given) => ({ POLICIES: [POLICY], ...given }), ""),
  ];
}
