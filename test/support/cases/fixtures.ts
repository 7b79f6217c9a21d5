/** Configuration fixtures: wrangler.toml files. Each begins with the messages that refuse it (`# ! …`). */

import { readdirSync, readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import type { Bindings } from "../../../src/kernel/config/settings.ts";

const FOLDER = new URL("../../kernel/config/fixtures/", import.meta.url);

export interface Fixture {
  readonly name: string;
  readonly bindings: Bindings;
  /** Every message, in order. */
  readonly expected: readonly string[];
}

export function readFixtures(): Fixture[] {
  return readdirSync(FOLDER).map((file) => {
    const text = readFileSync(new URL(file, FOLDER), "utf8");
    const expected = [...text.matchAll(/^# ! (.+)$/gm)].map(([, message]) => message!);
    return { name: file.replace(".toml", ""), bindings: (parseToml(text) as { vars: Bindings }).vars, expected };
  });
}
