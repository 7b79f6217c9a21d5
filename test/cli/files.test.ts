// Every command that takes a path, and every way in which a path is not what it should be: one clear sentence, the
// right exit code, and nothing that looks like a fault of the program.

import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { systemMessage } from "../../src/cli/io.ts";
import { quoted } from "../../src/cli/printable.ts";
import { folderWith, headgate } from "./run.ts";

const TOML = '[[vars.POLICIES]]\nname = "a"\nkey = ["ip"]\nlimits = [{ limit = 1, window = "1m" }]\n';
const AT = ["--url", "http://localhost:1", "--token", "t"];

/** The commands that read a file, by the words around its name. */
const READS: readonly (readonly [what: string, words: (file: string) => readonly string[]])[] = [
  ["check", (file) => ["check", file]],
  ["check --env-file", (file) => ["check", "right.toml", "--env-file", file]],
  ["limits", (file) => ["limits", file, "--json"]],
  ["replay --config", (file) => ["replay", "--log", "log", "--config", file]],
  ["replay --log", (file) => ["replay", "--config", "right.toml", "--log", file]],
  ["admin live put", (file) => ["admin", "live", "put", file, ...AT]],
];

/** What may be in a file's place. */
const WRONG: Readonly<Record<string, (path: string) => void>> = {
  nothing: () => {},
  "a path through a file": () => {},
  "a folder": (path) => mkdirSync(path),
  "a link that leads nowhere": (path) => symlinkSync("nowhere", path),
  "a link to itself": (path) => symlinkSync("wrong", path),
  "a link to a folder": (path) => symlinkSync(".", path),
};

const folder = () => folderWith({ "right.toml": TOML, log: "" });

/** A sentence about the file that is meant, and no trace of the program. */
function expectSentence(stderr: string, name: string) {
  expect(stderr).toMatch(/^headgate: [^\n]+\n$/);
  expect(stderr).toContain(name);
  expect(stderr).not.toMatch(/EISDIR|ENOENT|ENOTDIR|node:|\.ts:/);
}

describe.each(READS)("%s", (_, words) => {
  it.each(Object.keys(WRONG))("with %s in the place of the file", async (what) => {
    const cwd = folder();
    WRONG[what]!(join(cwd, "wrong"));
    const file = what === "a path through a file" ? "right.toml/wrong" : "wrong";
    const { status, stdout, stderr } = await headgate(cwd, words(file));
    // A log that cannot be read may be one of many.
    expect([status, stdout]).toEqual([what.endsWith("itself") && words("").includes("--log") ? status : 2, ""]);
    expectSentence(stderr, "wrong");
  });
});

it.each([".dev.vars", ".dev.vars.prod"])("a folder of the name %s is named, as it would hold secrets", async (name) => {
  const cwd = folderWith({ "wrangler.toml": `${TOML}[env.prod.vars]\nPOLICIES = []\n` });
  mkdirSync(join(cwd, name));
  const { status, stderr } = await headgate(cwd, ["check", ...(name.endsWith("prod") ? ["--env", "prod"] : [])]);
  expect([status, stderr]).toEqual([2, `headgate: ${name}: expected a file; found a folder\n`]);
});

it("a folder of the name .env is no file of variables: wrangler passes over it too", async () => {
  const cwd = folderWith({ "wrangler.toml": TOML });
  mkdirSync(join(cwd, ".env"));
  expect(await headgate(cwd, ["check", "--memory", "--quiet"])).toEqual({ status: 0, stdout: "", stderr: "" });
});

describe("init", () => {
  it.each([
    ["a file in the place of the folder", (path: string) => writeFileSync(path, "")],
    ["a file above it", (path: string) => writeFileSync(path, ""), "gate/below"],
    ["a link that leads nowhere in the place of the folder", (path: string) => symlinkSync("no/where", path)],
  ])("says that it could not write: %s", async (_, make, target = "gate") => {
    const cwd = folder();
    make(join(cwd, "gate"));
    const { status, stdout, stderr } = await headgate(cwd, ["init", target]);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^headgate: gate\/[^\n]+ could not be written: E[A-Z]+: [^\n]+\n$/);
  });

  it("overwrites no link that leads nowhere", async () => {
    const cwd = folder();
    mkdirSync(join(cwd, "gate"));
    symlinkSync("nowhere", join(cwd, "gate/wrangler.toml"));
    expect(await headgate(cwd, ["init", "gate"])).toEqual({
      ...{ status: 1, stdout: "" },
      stderr: "headgate: nothing was written: gate has wrangler.toml already\n",
    });
  });

  it.each([
    ["a b", 'cd "a b"'],
    ["a'b", `cd "a'b"`],
    ['a $HOME `b` "c"', "cd 'a $HOME `b` \"c\"'"],
    ["it's $5", "cd 'it'\\''s $5'"],
    ["sub/demo", "cd sub/demo"],
  ])("prints a command that leads into %j", async (name, command) => {
    const { stdout } = await headgate(folder(), ["init", name]);
    expect(stdout).toContain(`\n  ${command}\n  npm install\n`);
  });

  it("a folder that begins with a hyphen is no option", () => {
    expect([quoted("-x"), quoted("-a b"), quoted("C:\\a")]).toEqual(["./-x", '"./-a b"', "C:\\a"]);
  });
});

it.each([
  ["a file in the place of the folder", "right.toml"],
  ["a file above it", "right.toml/below"],
])("limits --out says that it could not write: %s", async (_, out) => {
  const { status, stdout, stderr } = await headgate(folder(), ["limits", "right.toml", "--out", out]);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^headgate: right\.toml\/[^\n]+ could not be written: E[A-Z]+: [^\n]+\n$/);
});

it("what may not be read is said to be so", async () => {
  const cwd = folder();
  chmodSync(join(cwd, "right.toml"), 0o000);
  const { status, stderr } = await headgate(cwd, ["check", "right.toml"]);
  // Who runs as root may read everything.
  const isRoot = process.getuid?.() === 0 || process.platform === "win32";
  expect([status, stderr.includes("right.toml: expected a file; found one that may not be read")]).toEqual(
    isRoot ? [1, false] : [2, true],
  );
});

it("a message of the system has no path of this machine", () => {
  const error = Object.assign(new Error("ENOSPC: no space left on device, write '/home/me/x'"), { code: "ENOSPC" });
  expect(systemMessage(error)).toBe("ENOSPC: no space left on device");
});
