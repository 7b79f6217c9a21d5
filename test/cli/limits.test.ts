import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWith, headgate } from "./run.ts";

const FILES = { "wrangler.toml": '[[vars.POLICIES]]\nname = "api"\nlimits = [{ limit = 60, window = "1m" }]\n' };
const NAMES = ["limits.html", "limits.json", "limits.md"];

it("writes the three files to dist/limits or where --out says, and prints their names; with --json nothing", async () => {
  const folder = folderWith(FILES);
  const { stdout: json } = await headgate(folder, ["limits", "--json"]);
  expect(readdirSync(folder)).toEqual(["wrangler.toml"]);
  for (const [out, ...args] of [["dist/limits"], ["public", "--out", "public"]] as const) {
    const { status, stdout, stderr } = await headgate(folder, ["limits", ...args]);
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout.trim().split("\n").sort()).toEqual(NAMES.map((name) => join(out, name)));
    const texts = NAMES.map((name) => readFileSync(join(folder, out, name), "utf8"));
    for (const text of texts) expect(text).toContain("60 requests per minute");
    expect(texts[1]).toBe(json);
  }
});
