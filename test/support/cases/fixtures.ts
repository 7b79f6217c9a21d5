/** Configurations that are refused, by name: test/kernel/config/mistakes.toml. */

import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../../src/kernel/config/settings.ts";

const FILE = new URL("../../kernel/config/mistakes.toml", import.meta.url);

export interface Fixture {
  readonly name: string;
  readonly bindings: Bindings;
  /** Every message, in order. */
  readonly expected: readonly string[];
}

export function readFixtures(): Fixture[] {
  const rows = parseToml(readFileSync(FILE, "utf8")) as unknown as Readonly<
    Record<string, { readonly vars: Bindings; readonly expected: readonly string[] }>
  >;
  return Object.entries(rows).map(([name, { vars, expected }]) => ({ name, bindings: vars, expected }));
}
