/** Configurations that are refused: test/kernel/config/mistakes.toml. */

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../../src/kernel/config/settings.ts";

const FILE = new URL("../../kernel/config/mistakes.toml", import.meta.url);
const POLICY = { name: "api", limits: [{ limit: 10, window: "1m" }] };

export interface Fixture {
  readonly name: string;
  readonly bindings: Bindings;
  /** Every message, in order. */
  readonly expected: readonly string[];
}

/** Each with its message behind it. */
type Rows = readonly (Readonly<Record<string, unknown>> | string)[];

function pairsOf(rows: Rows, fixtureOf: (wrong: object, message: string) => Omit<Fixture, "name">): Fixture[] {
  return rows.flatMap((wrong, i) => {
    if (typeof wrong === "string") return [];
    const message = String(rows[i + 1]);
    return { name: message, ...fixtureOf(wrong, message) };
  });
}

export function readFixtures(): Fixture[] {
  const { policies, variables, ...tables } = parseToml(readFileSync(FILE, "utf8")) as unknown as Readonly<
    Record<string, { readonly vars: Bindings; readonly expected: readonly string[] }>
  > & { readonly policies: Rows; readonly variables: Rows };
  return [
    ...pairsOf(policies, (policy, message) => {
      return { bindings: { POLICIES: [{ ...POLICY, ...policy }] }, expected: [`POLICIES[0].${message}`] };
    }),
    ...pairsOf(variables, (given, message) => ({ bindings: { POLICIES: [POLICY], ...given }, expected: [message] })),
    ...Object.entries(tables).map(([name, { vars, expected }]) => ({ name, bindings: vars, expected })),
  ];
}
