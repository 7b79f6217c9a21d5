// `headgate replay` from its command line to its report, over small logs.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { StopSignal } from "../../../src/cli/io.ts";
import type { Summary } from "../../../src/cli/replay/engine/summary.ts";
import { folderWith, headgate } from "../run.ts";

const KEY_SECRET = "an-example-and-no-secret";

/** A configuration with one policy `site` of this limit, and others. */
function wrangler(limit: number, ...others: string[]): string {
  const site = `[[vars.POLICIES]]\nname = "site"\nlimits = [{ algorithm = "fixed-window", limit = ${limit}, window = "1m" }]\n`;
  return [`[vars]\nKEY_SECRET = "${KEY_SECRET}"\n`, site, ...others].join("\n");
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

async function replay(folder: string, ...args: string[]) {
  return headgate(folder, ["replay", "--log", "access.log", ...args]);
}

async function summaryOf(folder: string, ...args: string[]): Promise<Summary> {
  const { status, stdout, stderr } = await replay(folder, "--json", ...args);
  expect([status, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as Summary;
}

it("says what the configuration of this folder would have refused", async () => {
  const { status, stdout, stderr } = await replay(folderWith(FILES));
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^1 file, 1\.\d KiB, 15 lines, 15 requests\n2026-11-21 10:00:00 to 2026-11-21 10:00:22 UTC\n/);
  expect(stdout).toContain("wrangler.toml: 2 of 15 requests refused (13.3 %)\n");
  expect(stdout).toMatch(/\nsite +15 +2 +13\.3 % +2 +1 +50\.0 % +0\n/);
  expect(stdout).toMatch(/\nlogin \(shadow\) +2 +1 +50\.0 % +1 +1 +100 % +0\n/);
});

it("says who would have paid", async () => {
  const policy = (name: string, limit: number, key: string, more = "") =>
    `[[vars.POLICIES]]\nname = "${name}"\nkey = "${key}"\n${more}limits = [{ algorithm = "fixed-window", limit = ${limit}, window = "1h" }]\n`;
  const vars = `[vars]\nKEY_SECRET = "${KEY_SECRET}"\n`;
  const plan = (more = "") => policy("plan", 2, "query:user", `match = { path = "/*" }\n${more}`);
  const files = {
    "wrangler.toml": vars + plan(),
    "candidate.toml": vars + plan('overflow = "team"\n') + policy("team", 3, "query:team"),
    // Four requests of ann, and three of bob: the plan pays for two of each, and the team for three in all.
    "access.log": ["ann", "ann", "ann", "ann", "bob", "bob", "bob", "ann"]
      .map((user, i) => lineOf(i, "203.0.113.7", `GET /?user=${user}&team=red`))
      .join(""),
  };
  const folder = folderWith(files);
  const args = ["--candidate", "candidate.toml", "--html", "report.html"];
  const { status, stdout } = await replay(folder, ...args, "--show-keys", "--fail-if", "refused of plan > 12.5%");
  expect(status).toBe(0);
  expect(stdout).toContain(`candidate.toml: 1 of 8 requests refused (12.5 %)

policy           requests  refused   share  clients  refused   share  near misses
plan                    8        1  12.5 %        2        1  50.0 %            1
team (overflow)         4        1  25.0 %        1        1   100 %            0
`);
  expect(stdout).toContain(`
chain  paid by                      requests  units  clients
plan   plan                                4      4        2
plan   team                                3      3        1
plan   nobody: all of them refused         1      1        1
`);
  expect(stdout).toMatch(
    /\nchain {2}paid most {2}client +hash +requests {2}units\nplan +team +query:team red +\S{22} +3 +3\n/,
  );
  expect(stdout).toContain(`
chain  payer before  payer after  requests  units
plan   nobody        team                3      3
`);
  expect(stdout.match(/paid by/g)).toHaveLength(1);
  const page = readFileSync(join(folder, "report.html"), "utf8");
  for (const text of ["Who paid under candidate.toml", "clients of team that paid most for plan", "Who pays instead"]) {
    expect(page).toContain(text);
  }
  const { configurations, comparison } = await summaryOf(folder, "--candidate", "candidate.toml");
  const [{ payers, refused }] = configurations[1]!.chains as [NonNullable<(typeof configurations)[1]["chains"]>[0]];
  expect([...payers, refused].map(({ policy, requests, units }) => [policy, requests, units])).toEqual([
    ["plan", 4, 4],
    ["team", 3, 3],
    [null, 1, 1],
  ]);
  expect(comparison!.payers).toEqual([{ policy: "plan", before: null, after: "team", requests: 3, units: 3 }]);
});

describe("keys of clients", () => {
  const COMBINED = `[[vars.POLICIES]]
name = "pair"
match = { path = "/pair" }
key = ["ip+query:u"]
limits = [{ limit = 1, window = "1m" }]
`;
  const SECRET = "3:b-c";
  const folder = () =>
    folderWith({
      ...FILES,
      "wrangler.toml": wrangler(10, COMBINED),
      "access.log":
        LOG + lineOf(30, "203.0.113.9", `GET /pair?u=${SECRET}`) + lineOf(31, "203.0.113.9", `GET /pair?u=${SECRET}`),
    });
  const args = ["--candidate", "candidate.toml", "--html", "report.html"];
  const NOTE = "note: This report shows the keys of clients as they stand in the log";

  it("are hashed in every form of the report", async () => {
    const at = folder();
    const { stdout } = await replay(at, ...args);
    const summary = await summaryOf(at, ...args);
    for (const text of [stdout, JSON.stringify(summary), readFileSync(join(at, "report.html"), "utf8")]) {
      for (const key of ["203.0.113.7", "203.0.113.9", SECRET]) expect(text).not.toContain(key);
      expect(text).not.toContain("shows the keys");
    }
  });

  it("are shown beside the hashes with --show-keys, which the report says", async () => {
    const at = folder();
    const { stdout } = await replay(at, "--show-keys", ...args);
    expect(stdout).toContain(NOTE);
    expect(stdout).toMatch(/\nsite +ip 203\.0\.113\.7 +[0-9a-zA-Z_-]{22} +12 +2\n/);
    expect(stdout).toContain(`ip+query:u 203.0.113.9+${SECRET}`);
    expect(stdout).toMatch(/\nnewly refused first.*\n2026-11-21 10:00:05 +ip 203\.0\.113\.7 +site/);

    const { configurations, comparison } = await summaryOf(at, "--show-keys", ...args);
    const [hashed] = (await summaryOf(at, ...args)).configurations[0]!.policies[0]!.topRefused;
    expect(configurations[0]!.policies[0]!.topRefused).toEqual([{ ...hashed, key: "203.0.113.7" }]);
    expect(comparison!.requests.newlyRefused.examples).toMatchObject([{ client: hashed!.client, key: "203.0.113.7" }]);

    expect(readFileSync(join(at, "report.html"), "utf8")).not.toContain("203.0.113.7");
    await replay(at, "--show-keys", ...args);
    expect(readFileSync(join(at, "report.html"), "utf8")).toContain("<code>203.0.113.7</code>");
  });
});

it("compares a candidate, suggests numbers, and writes the same as JSON and as a page", async () => {
  const folder = folderWith(FILES);
  const args = ["--candidate", "candidate.toml", "--suggest", "1%", "--html", "report.html"];
  const summary = await summaryOf(folder, ...args);
  expect(summary.configurations.map(({ name, requests }) => [name, requests])).toEqual([
    ["wrangler.toml", { requests: 15, refused: 2 }],
    ["candidate.toml", { requests: 15, refused: 7 }],
  ]);
  expect(summary.comparison!.requests).toMatchObject({
    newlyRefused: { requests: 5, clients: 1, examples: [{ kind: "ip", policy: "site", request: "GET /v1/items" }] },
    newlyAdmitted: { requests: 0 },
  });
  expect(summary.suggestions).toMatchObject([
    { policy: "site", present: 10, share: 0.01, suggested: 12 },
    { policy: "login" },
  ]);
  expect(readdirSync(folder).sort()).toEqual(["access.log", "candidate.toml", "report.html", "wrangler.toml"]);
  const page = readFileSync(join(folder, "report.html"), "utf8");
  for (const text of ["candidate.toml instead of wrangler.toml", "site: 12 refuses less than 1 % (now 10)"]) {
    expect(page.includes(text), text).toBe(true);
  }
});

it("gives a client one name in both configurations, also without the gateway's secret", async () => {
  const files = Object.entries(FILES).map(([name, text]) => [name, text.replace(/KEY_SECRET.*/, "")]);
  const { configurations } = await summaryOf(folderWith(Object.fromEntries(files)), "--candidate", "candidate.toml");
  const [first, second] = configurations.map(({ policies }) => policies[0]!.topRefused[0]!.client);
  expect(first).toMatch(/^[\w-]{22}$/);
  expect(second).toBe(first);
});

it("reads several logs, compressed ones and the standard input", async () => {
  expect((await summaryOf(folderWith(FILES), "--log", "acc*")).log.requests).toBe(15);
  const half = Math.floor(LOG.split("\n").length / 2);
  const lines = LOG.trimEnd()
    .split("\n")
    .map((line) => `${line}\n`);
  const files = { ...FILES, "a.gz": gzipSync(lines.slice(0, half).join("")), "b.log": lines.slice(half, 14).join("") };
  const stdin = (async function* () {
    yield Buffer.from(lines.slice(14).join(""));
  })();
  const args = ["replay", "--log", "b.log", "a.gz", "--log", "-", "--json"];
  const { status, stdout } = await headgate(folderWith(files), args, {}, { stdin });
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    log: { files: 3, requests: 15 },
    configurations: [{ requests: { refused: 2 } }],
  });
});

it("says of a log with a field for headers only what the policies and the lines are about", async () => {
  const line = (second: number, method: string) => ({
    EdgeStartTimestamp: Date.UTC(2026, 10, 21, 10, 0, second) + 5,
    ...{ ClientIP: "203.0.113.7", ClientRequestMethod: method, ClientRequestURI: "/", ClientRequestHost: "a.example" },
    ...{ RequestHeaders: { "x-user": "ann" }, WorkerSubrequest: false },
  });
  const lines = ["GET", "OPTIONS", "OPTIONS"].map((method, i) => `${JSON.stringify(line(i, method))}\n`);
  const { notes } = await summaryOf(folderWith({ ...FILES, "access.log": lines.join("") }));
  expect(notes).toEqual([
    "wrangler.toml: 2 OPTIONS requests were counted; the gateway passes CORS preflights, which the log does not show",
  ]);
});

describe("--fail-if", () => {
  it("ends with 1 and says what it found, behind the report", async () => {
    const args = ["--fail-if", "refused > 1%", "--fail-if", "refused of login > 5", "--fail-if", "damaged > 0"];
    const { status, stdout, stderr } = await replay(folderWith(FILES), ...args);
    expect([status, stderr]).toEqual([1, "failed: refused > 1%: 2 of 15 requests (13.3 %)\n"]);
    expect(stdout).toContain("2 of 15 requests refused");
  });

  it("ends with 0 if it found nothing", async () => {
    const args = ["--candidate", "candidate.toml", "--fail-if", "newly-admitted > 0", "--fail-if", "refused > 50 %"];
    expect(await replay(folderWith(FILES), ...args)).toMatchObject({ status: 0, stderr: "" });
  });
});

it("does not take an empty log for a good one", async () => {
  const folder = folderWith({ ...FILES, "access.log": "" });
  expect(await replay(folder)).toMatchObject({ status: 0, stdout: expect.stringContaining("0 requests") });
  expect(await replay(folder, "--fail-if", "refused > 1%")).toMatchObject({
    status: 1,
    stderr: "failed: the log has no request to judge by\n",
  });
});

describe("a live document", () => {
  const live = (override: object) =>
    JSON.stringify({ version: 3, policies: { site: { limits: { site: 8 } } }, overrides: [override], ignored: [] });

  it("gives a client other limits, and is compared with another one", async () => {
    const [greedy] = (await summaryOf(folderWith(FILES))).configurations[0]!.policies[0]!.topRefused;
    const { client, kind } = greedy!;
    const override = { policy: "site", kind, key: client };
    const files = {
      ...FILES,
      "live.json": live({ ...override, factor: 10 }),
      "next.json": live({ ...override, block: true }),
    };
    const summary = await summaryOf(folderWith(files), "--live", "live.json", "--candidate-live", "next.json");
    expect(summary.configurations.map(({ name, requests }) => [name, requests.refused])).toEqual([
      ["wrangler.toml (live live.json)", 0],
      ["wrangler.toml (live next.json)", 12],
    ]);
  });

  it("is refused with every mistake, but not for what its gateway has ignored", async () => {
    const key = "NTQkC_THbTYbSrPHfiyuUw";
    const document = {
      policies: { site: { limits: { site: 0 } }, gone: { mode: "shadow" } },
      overrides: [{ policy: "site", kind: "ip", key, factor: -1 }],
      ignored: [{ path: "policies.gone", reason: "no policy has this name" }],
    };
    const folder = folderWith({ ...FILES, "live.json": JSON.stringify(document) });
    expect(await replay(folder, "--live", "live.json")).toEqual({
      status: 1,
      stdout: "",
      stderr: `headgate: mistakes in live.json:
policies.site.limits.site: expected an integer from 1 to 1000000000 ("block" in the live document refuses every request of a client); found 0
overrides[0].factor: expected a number above 0; found -1
`,
    });
    writeFileSync(join(folder, "live.json"), "[]");
    expect(await replay(folder, "--live", "live.json")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("live.json: expected a live document as JSON"),
    });
  });

  it("stays in force over a candidate, where what does not fit is noted", async () => {
    const files = {
      ...FILES,
      "other.toml": wrangler(10).replace('"site"', '"web"'),
      "live.json": JSON.stringify({ policies: { site: { limits: { site: 8 } } }, overrides: [] }),
    };
    const { configurations, notes } = await summaryOf(
      folderWith(files),
      "--live",
      "live.json",
      "--candidate",
      "other.toml",
    );
    expect(configurations.map(({ requests }) => requests.refused)).toEqual([4, 2]);
    expect(notes.join("\n")).toContain("other.toml: the live document's policies.site does nothing");
  });
});

it("compares environments of one file", async () => {
  const staging = wrangler(5).replaceAll("[vars", "[env.staging.vars").replaceAll("[[vars", "[[env.staging.vars");
  const folder = folderWith({ ...FILES, "wrangler.toml": `${wrangler(10)}\n${staging}` });
  const { configurations } = await summaryOf(folder, "--candidate-env", "staging");
  expect(configurations.map(({ name, requests }) => [name, requests.refused])).toEqual([
    ["wrangler.toml (environment none)", 2],
    ["wrangler.toml (environment staging)", 7],
  ]);
});

it("says which field of the log a policy lacks, and replays it when no request has that part", async () => {
  const bearer =
    '[[vars.POLICIES]]\nname = "tokens"\nkey = ["bearer", "ip"]\nlimits = [{ limit = 3, window = "1m" }]\n';
  const folder = folderWith({ ...FILES, "wrangler.toml": wrangler(10, bearer) });
  const [lacking] = (await summaryOf(folder)).configurations;
  expect(lacking!.policies.map(({ policy }) => policy)).toEqual(["site"]);
  expect(lacking!.skipped).toEqual([
    { policy: "tokens", reason: expect.stringContaining("its key bearer needs "), mode: "enforce" },
  ]);
  const [whole] = (await summaryOf(folder, "--absent", "bearer")).configurations;
  expect(whole).toMatchObject({ policies: [{ policy: "site" }, { policy: "tokens", refused: 9 }], skipped: [] });
  expect(await replay(folder, "--fail-if", "skipped > 0")).toMatchObject({
    status: 1,
    stderr: "failed: skipped > 0: 1 of 2 policies (50.0 %)\n",
  });
});

describe("a damaged log", () => {
  it("that ends too early is replayed as far as it goes, and ends with 1", async () => {
    const lines = Array.from({ length: 3_000 }, (_, i) => lineOf(i % 60, `203.0.${i % 100}.${i % 97}`))
      .sort()
      .join("");
    const whole = gzipSync(lines);
    const folder = folderWith({ ...FILES, "access.log": whole.subarray(0, whole.length >> 1), "old.html": "old" });
    const { status, stdout, stderr } = await replay(folder, "--html", "new.html", "--json");
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^incomplete: access\.log: .*gzip.*\n$/)]);
    const { log, notes } = JSON.parse(stdout) as Summary;
    expect(log.requests).toBeGreaterThan(100);
    expect(notes[0]).toMatch(/^The log is incomplete\. access\.log: /);
    expect(readFileSync(join(folder, "new.html"), "utf8").includes("The log is incomplete.")).toBe(true);
  });

  it("tells lines that are no requests, without their text", async () => {
    const folder = folderWith({ ...FILES, "access.log": `${LOG}secret-token-of-somebody\n` });
    const { status, stdout } = await replay(folder, "--fail-if", "damaged >= 1");
    expect([status, stdout.includes("secret")]).toEqual([1, false]);
    expect(stdout).toContain("note: 1 line could not be read, and is left out. First: access.log, line 16: ");
  });
});

it.each([
  ["no log", [], "required option '--log <file...>' not specified"],
  ["a log that is not there", ["--log", "gone.log"], "--log: there is no gone.log"],
  ["a pattern that no log fits", ["--log", "gone*.gz"], "--log: gone*.gz: no file has such a name."],
  ["no standard input", ["--log", "-"], "--log -: there is no standard input"],
  ["another format", ["--log", "access.log", "--format", "iis"], "Allowed choices are headgate, logpush, combined"],
  ["a share without a unit", ["--log", "access.log", "--suggest", "0.1"], "Expected a percentage between 0% and 100%"],
  ["a share of nothing", ["--log", "access.log", "--suggest", "0%"], "Expected a percentage between 0% and 100%"],
  ["a condition that is none", ["--log", "access.log", "--fail-if", "refused < 1%"], "--fail-if: expected <what>"],
  ["a comparison with nothing", ["--log", "access.log", "--fail-if", "newly-refused > 0"], "there is no candidate"],
  [
    "a part that no key has",
    ["--log", "access.log", "--absent", "barer"],
    "expected a part of the policies' keys: ip; found barer",
  ],
  ["a candidate that is not there", ["--log", "access.log", "--candidate", "gone.toml"], "there is no gone.toml"],
  ["a live document that is not there", ["--log", "access.log", "--live", "gone.json"], "there is no gone.json"],
  [
    "a folder that is not there",
    ["--log", "access.log", "--html", "gone/report.html"],
    "--html: expected a file in a folder that exists",
  ],
  [
    "a folder in place of a file",
    ["--log", "access.log", "--html", "."],
    "--html: expected a file in a folder that exists",
  ],
])("misuse ends with 2 and says so: %s", async (_what, args, says) => {
  const { status, stdout, stderr } = await headgate(folderWith(FILES), ["replay", ...args]);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(says);
});

it("ends with 1 for mistakes in a configuration, as `headgate limits` does", async () => {
  const folder = folderWith({ ...FILES, "candidate.toml": "[vars]\nPOLICIES = []\n" });
  const { status, stdout, stderr } = await replay(folder, "--candidate", "candidate.toml");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^headgate: mistakes in candidate\.toml:\nPOLICIES: .*\(ERR_POLICIES_MISSING\)\n$/);
  writeFileSync(join(folder, "candidate.toml"), "[");
  expect(await replay(folder, "--candidate", "candidate.toml")).toMatchObject({ status: 1, stdout: "" });
});

it("ends with 1 for a log in no known format", async () => {
  const { status, stdout, stderr } = await replay(folderWith({ ...FILES, "access.log": "one\ntwo\nthree\n" }));
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toMatch(/^headgate: .*access\.log/);
});

it("ends with 1 and leaves the last report as it was if the new one cannot be written", async () => {
  const folder = folderWith(FILES);
  const { status, stdout, stderr } = await replay(folder, "--html", "/dev/full");
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toBe("headgate: --html /dev/full could not be written: ENOSPC: no space left on device\n");
});

it("ends with 1 if the report was not read to its end", async () => {
  const written = async () => "the pipe was closed";
  const ran = await headgate(folderWith(FILES), ["replay", "--log", "access.log"], {}, { written });
  expect([ran.status, ran.stderr]).toEqual([1, "headgate: the report could not be written: the pipe was closed\n"]);
});

describe("progress", () => {
  it("is shown on a terminal and cleared, and not in a pipe or with --quiet", async () => {
    const folder = folderWith(FILES);
    const on = (terminalColumns: number, ...more: string[]) =>
      headgate(folder, ["replay", "--log", "access.log", ...more], {}, { terminalColumns });
    const { stderr } = await on(120);
    const [first, drawn, ...rest] = stderr.split("\r\x1b[K");
    expect([first, drawn, rest]).toEqual(["", expect.stringMatching(/^100 % █{24} 15 requests/), [""]]);
    expect((await on(120, "--quiet")).stderr).toBe("");
    expect((await replay(folder)).stderr).toBe("");
  });
});

it.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("%s stops it: exit code %i and no report, also while it waits for its input", async (signal, code) => {
  let stop: ((signal: StopSignal) => void) | undefined;
  let isForgotten = false;
  const onStop = (callback: (signal: StopSignal) => void) => {
    stop = callback;
    return () => {
      isForgotten = true;
    };
  };
  const stdin = (async function* () {
    yield Buffer.from(LOG);
    stop!(signal);
    await new Promise(() => {});
  })();
  const folder = folderWith(FILES);
  const args = ["replay", "--log", "-", "--html", "report.html"];
  const { status, stdout, stderr } = await headgate(folder, args, {}, { stdin, onStop });
  expect([status, stdout, isForgotten]).toEqual([code, "", true]);
  expect(stderr).toMatch(new RegExp(`^headgate: stopped by ${signal} .*: there is no report\\n$`));
  expect(existsSync(join(folder, "report.html"))).toBe(false);
});
