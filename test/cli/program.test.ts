// What every command has in common: help, JSON, exit codes.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { cleaned } from "../../src/cli/printable.ts";
import { ROOT } from "../docs/markdown.ts";
import { folderWith, headgate } from "./run.ts";

const ADMIN = "counts reset override block unblock overrides explain mode limits policies".split(" ");
const COMMANDS = ["init", "check", "limits", "replay", "admin live get", "admin live put"].concat(
  ADMIN.map((name) => `admin ${name}`),
);

it.each(COMMANDS)("%s has --help and --json", async (command) => {
  const { status, stdout, stderr } = await headgate("/", [...command.split(" "), "--help"]);
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`Usage: headgate ${command} [options]`);
  expect(stdout).toMatch(/^ +--json /m);
});

it("docs/cli.md shows every command, and docs/operate.md those of admin", () => {
  for (const command of COMMANDS) {
    const name = command.startsWith("admin ") ? "operate" : "cli";
    const page = readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
    expect(page).toContain(`headgate ${command}`);
  }
});

it("tells its version", async () => {
  expect(await headgate("/", ["--version"])).toEqual({ status: 0, stdout: `${packageJson.version}\n`, stderr: "" });
});

it.each([
  ["no command", "", "Usage: headgate"],
  ["no command of admin", "admin", "Usage: headgate admin"],
  ["an unknown command", "chek", "Did you mean check?"],
  ["an unknown option", "check --deploy", "Did you mean --deployed?"],
  ["too many words", "init a b", "too many arguments"],
  ["a missing word", "admin counts api", "missing required argument 'key'"],
  ["a file that is not there", "check nothing.toml", "there is no nothing.toml"],
  ["an environment that is not there", "check --env prod", "wrangler.toml has no environment prod"],
  ["a variable without a name", "check --var 1", "--var: expected NAME:VALUE"],
  ["a file of variables that is not there", "check --env-file nothing", "--env-file: there is no nothing"],
  ["an unknown mode", "admin mode api soon", "Allowed choices are enforce, shadow, default"],
])("misuse ends with 2 and says so: %s", async (_what, command, says) => {
  const folder = folderWith({ "wrangler.toml": "" });
  const { status, stdout, stderr } = await headgate(folder, command.split(" ").filter(Boolean));
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(says);
});

describe("as a process", () => {
  function start(args: readonly string[], cwd = ROOT, stdout: number | "pipe" = "pipe") {
    const command = [join(ROOT, "src/cli/main.ts"), ...args];
    const child = spawn(process.execPath, command, { cwd, stdio: ["ignore", stdout, "pipe"] });
    return { child, ended: Promise.all([once(child, "close").then(([code]) => code), text(child.stderr!)]) };
  }

  it("a reader of its output that has seen enough is no error", async () => {
    const { child, ended } = start(["--help"]);
    child.stdout!.destroy();
    expect(await ended).toEqual([0, ""]);
  });

  it.each([
    ["the disk is full", "ENOSPC: no space left on device"],
    ["nobody has read it to its end", "the pipe was closed"],
  ])("a report that could not be written is said, and ends with 1: %s", async (what, says) => {
    const line = '203.0.113.7 - - [21/Nov/2026:10:00:00 +0000] "GET /v1/items HTTP/1.1" 200 12 "-" "curl/8"\n';
    const policy = '[[vars.POLICIES]]\nname = "site"\nlimits = [{ limit = 1, window = "1m" }]\n';
    const cwd = folderWith({ "wrangler.toml": policy, "access.log": line });
    const isFull = what.startsWith("the disk");
    const { child, ended } = start(
      ["replay", "--log", "access.log"],
      cwd,
      isFull ? openSync("/dev/full", "w") : "pipe",
    );
    child.stdout?.destroy();
    expect(await ended).toEqual([1, `headgate: the report could not be written: ${says}\n`]);
  });
});

it("only src/cli imports commander and what is of Node", () => {
  const src = join(ROOT, "src");
  const users = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
    (file) =>
      /\.tsx?$/.test(file) &&
      /from "(?:commander|node:|smol-toml|strip-json)/.test(readFileSync(join(src, file), "utf8")),
  );
  expect(users).toContain(join("cli", "program.ts"));
  expect(users.filter((file) => !file.startsWith("cli") && !file.startsWith("testing"))).toEqual([]);
});

describe("what others have written neither steers the terminal nor looks like a line of ours", () => {
  const EVIL = "x\u001b[2J\r\n::error::forged\n  ::warning::too\u202e\u009b1m";

  it("where text is printed, also if a command forgot it", () => {
    const printed: string[] = [];
    const print = (text: string) => printed.push(text);
    const io = cleaned({ cwd: "", env: {}, out: print, err: print });
    io.out("a\u001b[2J\r\nb\u202e\n");
    io.err("\u009b1m\n");
    io.draw?.("\u001b[K");
    expect(printed).toEqual(["a?[2J?\nb?\n", "?1m\n", "\u001b[K"]);
  });
  const NAME = JSON.stringify(EVIL);
  const toml = (policy: string, rest = "") =>
    `${rest}\n[[vars.POLICIES]]\nname = "api"\nkey = ["ip"]\n${policy}\nlimits = [{ limit = 1, window = "1m" }]\n`;
  const FILES = {
    "field.toml": toml(`${NAME} = 1`),
    "plan.toml": toml(`plans = { ${NAME} = { ${NAME} = 1 } }`),
    "value.toml": toml(`mode = ${NAME}`),
    "variable.toml": `[vars]\n${JSON.stringify(`POLICIES_${EVIL}`)} = []\n${toml("")}`,
    "environment.toml": toml("", `[env.${NAME}]\n`),
    "region.toml": toml("", `[vars]\nREGIONS = { ${NAME} = 1 }\n`),
    "node.toml": toml("", `[vars]\nREDIS_NODES = [{ ${NAME} = 1 }]\n`),
    "method.toml": toml(`match = { method = "GETT" }`, `[vars]\n${NAME} = 1\n`),
    "broken.toml": `${EVIL} = = 1`,
    "right.toml": toml(""),
    "log.json": `${JSON.stringify({ [EVIL]: EVIL })}\n`,
  };
  const tomls = Object.keys(FILES).filter((name) => name.endsWith(".toml"));
  const REPLAY = ["replay", "--log", "log.json", "--config"];

  const commands: (readonly string[])[] = [
    ...tomls.flatMap((name) => [
      ["check", name],
      ["check", name, "--json"],
      ["check", name, "--env", EVIL],
      ["limits", name, "--json"],
      [...REPLAY, name],
    ]),
    ["check", "environment.toml", "--env", "none"],
    ["check", EVIL],
    ["check", `--${EVIL}`],
    ["check", "right.toml", "--env-file", EVIL],
    [EVIL],
    [...REPLAY, EVIL],
    [...REPLAY, "right.toml", "--fail-if", EVIL],
    ["replay", "--config", "right.toml", "--log", EVIL],
    ["limits", "right.toml", "--out", EVIL],
    ["init", EVIL],
    ["init", "taken"],
    ["admin", "override", "api", "key", "--limit", EVIL, "--url", "http://localhost:1", "--token", "t"],
    ["admin", "live", "put", EVIL, "--url", "http://localhost:1", "--token", "t"],
  ];

  it.each(commands)("%j %j %j", async (...args) => {
    const folder = folderWith({ ...FILES, [`taken/${EVIL.replaceAll("/", "")}`]: "" });
    const { stdout, stderr } = await headgate(folder, args);
    const printed = stdout + stderr;
    expect(printed).not.toBe("");
    expect(printed.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    expect(printed.split("\n").filter((one) => /^\s*::/.test(one))).toEqual([]);
  });
});
