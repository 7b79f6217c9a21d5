// The blocks of docs/replay.md, and the workflow of examples/github-actions.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { blocksOf, read, tableIn } from "../../docs/markdown.ts";
import { folderWith, headgate } from "../run.ts";

const PAGE = "docs/replay.md";
const WORKFLOW = "examples/github-actions/replay.yml";

it("shows what its first commands print", async () => {
  const [commands, printed] = blocksOf(PAGE);
  const [before, replay] = commands!.text.split(/^npx headgate /m);
  const folder = folderWith();
  execFileSync("bash", ["--norc", "-c", before!], { cwd: folder });
  const { status, stdout, stderr } = await headgate(folder, replay!.trim().split(" "));
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(printed!.text);
});

it("has every option and every format", async () => {
  const { stdout } = await headgate("/", ["replay", "--help"]);
  const options = [...stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option]) => option!);
  const rows = tableIn(read(PAGE), "Option").flatMap(({ Option }) => Option!.match(/--[\w-]+/g)!);
  expect(rows.sort()).toEqual(options.filter((option) => option !== "--help").sort());
  const { stderr } = await headgate("/", ["replay", "--format", "other"]);
  const formats = /choices are (.*)\./.exec(stderr)![1]!.split(", ");
  expect(tableIn(read(PAGE), "`--format`").map((row) => row["--format"])).toEqual(formats);
});

/** The script of a step, by the step's name. */
function scriptOf(step: string): string {
  const [, text] = new RegExp(`- name: ${step}\\n(?: {8}\\S.*\\n| {10}.*\\n)*? {8}run: \\|\\n((?: {10}.*\\n)+)`).exec(
    read(WORKFLOW),
  )!;
  return text!.replaceAll(/^ {10}/gm, "");
}

it("has a workflow that replays, comments and fails as its steps say", async () => {
  const folder = folderWith();
  const tools = {
    git: 'echo "$@" > git.txt; cat present.txt',
    npx: 'printf "%s\\n" "$@" > npx.txt; echo report; echo "failed: newly-refused > 0.1%" >&2; exit 1',
    gh: 'printf "%s\\n" "$@" >> gh.txt; if [ "$2" = --paginate ]; then cat own-comments.txt; fi',
  };
  mkdirSync(join(folder, "logs"));
  mkdirSync(join(folder, "bin"));
  for (const [name, script] of Object.entries(tools)) {
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const toml = '[[vars.POLICIES]]\nname = "api"\nlimits = [{ limit = 1, window = "1m" }]\n';
  const line = '203.0.113.7 - - [21/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 12 "-" "curl/8"\n';
  const files = {
    "present.txt": toml.replace("= 1,", "= 5,"),
    "wrangler.toml": toml,
    "logs/a.log": line.repeat(5),
    "logs/b.log": line,
    "own-comments.txt": "",
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const PATH = `${join(folder, "bin")}:${process.env.PATH}`;
  const run = (step: string) => {
    // As the runner does it.
    execFileSync("bash", ["--norc", "-e", "-c", scriptOf(step)], {
      cwd: folder,
      env: { PATH, GITHUB_OUTPUT: "output.txt", PULL_REQUEST: "7", GITHUB_REPOSITORY: "a/b" },
    });
  };
  const written = (name: string) => readFileSync(join(folder, name), "utf8");

  run("Replay it");
  expect([written("git.txt"), written("output.txt")]).toEqual(["show HEAD^1:wrangler.toml\n", "status=1\n"]);
  run("Comment it");
  const comment = written("comment.md");
  expect(comment).toContain("~~~text\nfailed: newly-refused > 0.1%\nreport\n~~~\n");
  const [marker] = comment.split("\n", 1);
  expect(marker).toMatch(/^<!-- .* -->$/);
  const calls = () =>
    written("gh.txt")
      .trimEnd()
      .split(/^api\n/m)
      .slice(1)
      .map((call) => call.trimEnd().split("\n"));
  const own = `.[] | select(.user.login == "github-actions[bot]" and (.body | startswith("${marker}"))) | .id`;
  const look = ["--paginate", "repos/a/b/issues/7/comments", "--jq", own];
  const body = ["--field", "body=@comment.md"];
  expect(calls()).toEqual([look, ["--silent", "repos/a/b/issues/7/comments", ...body]]);
  // The next push changes the comment of this workflow.
  writeFileSync(join(folder, "own-comments.txt"), "41\n42\n");
  run("Comment it");
  expect(calls().slice(2)).toEqual([look, ["--silent", "--method", "PATCH", "repos/a/b/issues/comments/41", ...body]]);

  const [command, ...args] = written("npx.txt").trim().split("\n");
  const { status, stderr } = await headgate(folder, args);
  expect([command, status, stderr]).toEqual([
    "headgate",
    1,
    "failed: newly-refused > 0.1%: 4 of 6 requests of wrangler.toml (66.7 %)\n",
  ]);
  expect(written("replay.html").startsWith("<!doctype html>")).toBe(true);
});
