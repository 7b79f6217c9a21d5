import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folderWith, headgate } from "./run.ts";

const FILES = { "wrangler.toml": '[[vars.POLICIES]]\nname = "api"\nlimits = [{ limit = 60, window = "1m" }]\n' };
const NAMES = ["limits.html", "limits.json", "limits.md"];

it("writes the three files, and prints their names", async () => {
  const folder = folderWith(FILES);
  const args = ["limits", "--out", "public"];
  const { status, stdout, stderr } = await headgate(folder, args);
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout.trim().split("\n").sort()).toEqual(NAMES.map((name) => join("public", name)));
  for (const name of NAMES) {
    expect(readFileSync(join(folder, "public", name), "utf8")).toContain("60 per 1m");
  }
});

it("writes to dist/limits, with --json nothing", async () => {
  const folder = folderWith(FILES);
  const { status, stdout } = await headgate(folder, ["limits", "--json"]);
  expect([status, readdirSync(folder)]).toEqual([0, ["wrangler.toml"]]);
  await headgate(folder, ["limits"]);
  expect(readdirSync(join(folder, "dist/limits")).sort()).toEqual(NAMES);
  expect(stdout).toBe(readFileSync(join(folder, "dist/limits/limits.json"), "utf8"));
});

it("writes nothing of a configuration with mistakes", async () => {
  const folder = folderWith({ "wrangler.toml": "[vars]\nPOLICIES = []\n" });
  const { status, stdout, stderr } = await headgate(folder, ["limits"]);
  expect([status, stdout, readdirSync(folder)]).toEqual([1, "", ["wrangler.toml"]]);
  expect(stderr).toContain("ERR_POLICIES_MISSING");
});
