// `headgate replay` from its command line to its report, over small logs.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Summary } from "../../../src/cli/replay/engine/replay.ts";
import { folderWith, headgate } from "../run.ts";

/** A configuration with one policy `site` of this limit, and others. */
function wrangler(limit: number, ...others: string[]): string {
  const limits = `[{ algorithm = "fixed-window", limit = ${limit}, window = "1m" }]`;
  return [`[[vars.POLICIES]]\nname = "site"\nlimits = ${limits}\n`, ...others].join("\n");
}

const LOGIN = `[[vars.POLICIES]]
name = "login"
mode = "shadow"
match = { method = "POST", path = "/login" }
limits = [{ limit = 1, window = "1m" }]
`;

/** A line as nginx writes it. */
const lineOf = (second: number, address: string, request = "GET /v1/items") =>
  `${address} - - [21/Nov/2026:10:00:${String(second).padStart(2, "0")} +0000] "${request} HTTP/1.1" 200 12 "-" "curl/8"\n`;

/** In one minute: 12 requests of one client and 3 of another one, of which 2 are logins. */
const LOG =
  Array.from({ length: 12 }, (_, i) => lineOf(i, "203.0.113.7")).join("") +
  lineOf(20, "203.0.113.9", "POST /login") +
  lineOf(21, "203.0.113.9", "POST /login") +
  lineOf(22, "203.0.113.9");

const FILES = {
  "wrangler.toml": wrangler(10, LOGIN),
  "candidate.toml": wrangler(5, LOGIN),
  "access.log": LOG,
};

const replay = (folder: string, ...args: string[]) => headgate(folder, ["replay", "--log", "access.log", ...args]);

it("compares candidates, suggests numbers, and writes the same as JSON and as a page, without keys", async () => {
  const folder = folderWith({ ...FILES, "third.toml": wrangler(12, LOGIN) });
  const args = "--candidate candidate.toml --candidate third.toml --suggest 1% --html report.html".split(" ");
  const { stdout } = await replay(folder, ...args, "--json");
  const summary = JSON.parse(stdout) as Summary;
  expect(summary.configurations.map(({ name, requests }) => [name, requests.refused])).toEqual([
    ["wrangler.toml", 2],
    ["candidate.toml", 7],
    ["third.toml", 0],
  ]);
  const changes = summary.configurations.map(({ requests }) => requests.changes?.newlyRefused.requests);
  expect(changes).toEqual([undefined, 5, 0]);
  expect(summary.suggestions).toMatchObject([{ limit: "site", present: 10, share: 0.01, suggested: 12 }, {}]);
  const page = readFileSync(join(folder, "report.html"), "utf8");
  const { stdout: text } = await replay(folder, ...args);
  for (const report of [page, text]) {
    expect(report).toContain("candidate.toml instead of wrangler.toml");
    expect(report).toContain("site, limit site: 12 refuses less than 1 % (now 10)");
    expect(report).not.toContain("203.0.113");
  }
});

describe("--fail-if", () => {
  it("ends with 1 and says what it found, behind the report", async () => {
    const args = ["--fail-if", "refused > 1%", "--fail-if", "refused of login > 5"];
    const { status, stdout, stderr } = await replay(folderWith(FILES), ...args);
    expect([status, stderr]).toEqual([1, "failed: refused > 1%: 2 of 15 requests of wrangler.toml (13.3 %)\n"]);
    expect(stdout).toContain("2 of 15 requests refused");
  });

  it.each([
    ["newly-refused > 0", 1],
    ["newly-refused of site > 4", 1],
    ["newly-refused > 5", 0],
    ["newly-admitted > 0", 0],
    ["refused > 46.7%", 0],
    ["refused > 46.6 %", 1],
    ["refused of other > 0", 2],
    ["refused >= 5", 2],
    ["most > 1", 2],
    ["damaged > 1", 2],
  ])("'%s': %i", async (condition, status) => {
    const args = ["--candidate", "candidate.toml", "--fail-if", condition];
    expect((await replay(folderWith(FILES), ...args)).status).toBe(status);
  });

  it("does not know what policies would refuse that were not replayed", async () => {
    const bearer = '[[vars.POLICIES]]\nname = "keys"\nkey = ["bearer"]\nlimits = [{ limit = 1, window = "1m" }]\n';
    const both = { "wrangler.toml": wrangler(10, bearer), "candidate.toml": wrangler(10, bearer) };
    const folder = folderWith({ ...FILES, ...both });
    const candidate = ["--candidate", "candidate.toml"];
    expect((await replay(folder, ...candidate, "--fail-if", "newly-refused > 0")).stderr).toContain("without keys");
    expect((await replay(folder, ...candidate, "--fail-if", "newly-refused of site > 0")).status).toBe(0);
    expect((await replay(folder, "--fail-if", "refused > 50%")).stderr).toContain("not known for wrangler.toml");
  });

  it("needs a candidate to compare with, and a request to judge by", async () => {
    const folder = folderWith({ ...FILES, "access.log": "" });
    expect(await replay(folder, "--fail-if", "newly-refused > 0")).toMatchObject({ status: 2 });
    const { status, stderr } = await replay(folder, "--fail-if", "refused > 1%");
    expect([status, stderr]).toEqual([1, "failed: the log has no request to judge by\n"]);
  });
});

it("ends with 1 for an incomplete log, behind the report", async () => {
  const packed = gzipSync(LOG.repeat(50));
  const folder = folderWith({ ...FILES, "access.log": packed.subarray(0, packed.length - 20) });
  const { status, stdout, stderr } = await replay(folder);
  expect([status, stderr]).toEqual([1, "incomplete: access.log: its gzip data end too early\n"]);
  expect(stdout).toContain("The log is incomplete.");
});

it("shows how far it is on a terminal", async () => {
  const folder = folderWith({ ...FILES, "access.log": LOG.repeat(500) });
  const args = ["replay", "--log", "access.log"];
  const { stderr } = await headgate(folder, args, {}, { terminalColumns: 60 });
  expect(stderr).toMatch(/\d+ % [█░]{24} [\d,]+ requests/);
  expect(stderr.endsWith("\r\u001b[K")).toBe(true);
  expect((await headgate(folder, args)).stderr).toBe("");
});

it.each([
  [["--suggest", "2"], 2, "Expected a percentage"],
  [["--html", "none/report.html"], 2, "no such folder"],
  [["--log", "missing.log"], 2, "missing.log: there is no such file.\n"],
  [["--candidate", "missing.toml"], 2, "missing.toml"],
  [["--fail-if", "refused of other > 1%"], 2, ": no policy is named other; there are site, login\n"],
  [["--format", "other"], 2, "choices are headgate, logpush, combined"],
  [["--candidate", "access.log"], 1, ""],
])("says what is wrong with %j", async (args, status, message) => {
  const ran = await replay(folderWith(FILES), ...args);
  expect([ran.status, ran.stdout]).toEqual([status, ""]);
  expect(ran.stderr).toContain(message);
});
