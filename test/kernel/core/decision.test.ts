// Everything that is said of a decision follows from its outcome, in one switch: no outcome can be forgotten.

import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { type ByOutcome, byOutcome, type Decision } from "../../../src/kernel/core/decision.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "headgate-outcome-"));
afterAll(() => rmSync(folder, { recursive: true }));

const none = { policies: [], limits: [], shadow: [] };
const DECISIONS: readonly Decision[] = [
  { outcome: "admitted", allowed: true, source: "memory", retryAfterMs: 0, ...none },
  { outcome: "refused", allowed: false, source: "memory", ...none },
  { outcome: "blocked", allowed: false, source: "live", blocked: true, ...none },
  { outcome: "unavailable", allowed: false, source: "fallback", unavailable: true, ...none },
];

it("follows from each outcome, which tells the type of the decision", () => {
  const follows: ByOutcome<string, [more: string]> = {
    admitted: ({ retryAfterMs }, more) => `${retryAfterMs satisfies 0}${more}`,
    refused: ({ unavailable, hold }, more) => `${unavailable satisfies undefined} ${hold satisfies undefined}${more}`,
    blocked: ({ source, remaining }, more) => `${source satisfies "live"} ${remaining satisfies undefined}${more}`,
    unavailable: ({ source, unavailable }) => `${source satisfies "fallback"} ${unavailable satisfies true}`,
  };
  const all = ["0!", "undefined undefined!", "live undefined!", "fallback true"];
  expect(DECISIONS.map((one) => byOutcome(one, follows, "!"))).toEqual(all);
  // @ts-expect-error one outcome is missing
  const three: ByOutcome<number> = { admitted: () => 1, refused: () => 2, blocked: () => 3 };
  expect(Object.keys(three)).toHaveLength(3);
});

it("with one more outcome, and one more word for a policy, nothing compiles that does not say what follows", () => {
  cpSync(join(ROOT, "src"), join(folder, "src"), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "dir");
  const path = join(folder, "src/kernel/core/decision.ts");
  const union = "export type Decision = ";
  const fifth = '(Without<"hold"> & { readonly outcome: "held"; readonly allowed: false })';
  const text = readFileSync(path, "utf8");
  const words = "export type Became =";
  expect(text).toContain(union);
  expect(text).toContain(words);
  writeFileSync(path, text.replace(union, `${union}${fifth} | `).replace(words, `${words}\n  | "held"`));
  const files = ["kernel/http/refusal.ts", "operate/log.ts", "operate/stats/count.ts"];
  const sources = ["kernel/core/decision.ts", ...files].map((file) => `src/${file}`);
  const config = { extends: join(ROOT, "tsconfig.json"), include: [], files: sources };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = spawnSync(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", folder], {
    encoding: "utf8",
  });
  const wrong = new Set([...stdout.matchAll(/src\/(\S+\.ts)\(\d+,\d+\): error/g)].map(([, file]) => file));
  expect([...wrong].sort()).toEqual(files);
});
