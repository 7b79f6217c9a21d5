// The report for terminals.

import { expect, it } from "vitest";
import type { ChainSummary, Summary } from "../../../src/cli/replay/engine/summary.ts";
import { bytes, duration, percent, share } from "../../../src/cli/replay/report/numbers.ts";
import { textReport } from "../../../src/cli/replay/report/text.ts";
import { ONE, PRESENT, TWO } from "./summary.ts";

it("is readable at a glance", () => {
  expect(textReport(ONE)).toBe(`2 files, 41.2 MiB, 192,007 lines, 192,000 requests
2026-11-21 00:00:00 to 2026-11-21 23:59:59 UTC

wrangler.toml: 29,126 of 192,000 requests refused (15.2 %)

policy          requests  refused   share  clients  refused   share  near misses
api              192,000   29,126  15.2 %    1,234       12  0.97 %           31
login (shadow)   192,000        0     0 %        3        0     0 %           31

limit                                     refused  clients ≤ 50 %  ≤ 80 %  ≤ 100 %
api-1    60 per 1 minute, sliding-window   29,126           1,131      60       31
login-1  5 per 1 minute, sliding-window         0           1,131      60       31

note: the log shows whole seconds: requests of one second keep their order in the file
`);
});

it("compares two configurations, and marks the numbers that a reader looks for", () => {
  const text = textReport(TWO);
  expect(text).toContain("not replayed: slow: the log does not tell how long requests took\n");
  expect(text).toContain(`candidate.toml instead of wrangler.toml

policy        newly refused  clients  newly admitted  clients
all requests          8,123       25               0        0
api                   8,123       25               0        0

only in candidate.toml: search

only in wrangler.toml: login

newly refused first  client                     policy  requests  for example
2026-11-21 12:00:00  ip NTQkC_THbTYbSrPHfiyuUw  api          812  GET /v1/items

api, limit api-1: 145 refuses less than 0.1 % (now 60)

number  refused    share  clients
    42    7,775   4.05 %       78
    50    4,608   2.40 %       47
    60    2,667   1.39 %       27  ← now
`);
  expect(text).toMatch(/\n {3}145 +189 +0\.098 % +2 {2}← less than 0\.1 %\n/);
  expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
});

it("says in dollars what a chain of such a meter paid, and what another policy refused", () => {
  const nobody = { policy: null, requests: 0, units: 0, clients: 0, top: [] };
  const chain: ChainSummary = {
    ...{ policy: "api", unit: "usd" as const, requests: 1_203, refused: nobody },
    payers: [
      { policy: "api", requests: 1_000, units: 1_250_000, clients: 12, top: [] },
      { policy: "team", requests: 200, units: 1, clients: 3, top: [] },
    ],
    spared: { ...nobody, requests: 3, units: 300_000, clients: 1 },
  };
  expect(textReport({ ...ONE, configurations: [{ ...PRESENT, chains: [chain] }] })).toContain(`
chain  paid by                         requests     units  clients
api    api                                1,000    $12.50       12
api    team                                 200  $0.00001        3
api    nobody: all of them refused            0        $0        0
api    nobody: another policy refused         3        $3        1
`);
});

it("leaves out candidates between two that are far apart, and says when no number is high enough", () => {
  const [{ suggested: _, ...suggestion }] = TWO.suggestions as [NonNullable<Summary["suggestions"]>[number]];
  const text = textReport({ ...TWO, suggestions: [suggestion] });
  expect(text).toContain("api-1: no number that was tried refuses less than 0.1 % (now 60)\n");
  const rows = text.slice(text.indexOf("number  refused")).split("\n").slice(1, 10);
  expect(rows.map((row) => row.trim().split(" ")[0])).toEqual([
    "42",
    "50",
    "60",
    "72",
    "86",
    "…",
    "4,210",
    "5,026",
    "6,000",
  ]);
});

it("lets nothing of a log or a file steer the terminal", () => {
  const bad = "\x1b[2J\u202e";
  const [example] = TWO.comparison!.requests.newlyRefused.examples;
  const newlyRefused = {
    requests: 1,
    clients: 1,
    examples: [{ ...example!, request: `GET /${bad}${"x".repeat(80)}` }],
  };
  const top = [{ client: bad, kind: bad, key: bad, requests: 1, units: 1 }];
  const payer = { policy: bad, requests: 1, units: 1, clients: 1, top };
  const chains = [{ policy: bad, requests: 1, payers: [payer], refused: payer, spared: payer }];
  const payers = [{ policy: bad, before: bad, after: bad, requests: 1, units: 1 }];
  const text = textReport({
    ...TWO,
    configurations: [{ ...PRESENT, name: bad, chains, skipped: [{ policy: bad, reason: bad }] }, PRESENT],
    comparison: { ...TWO.comparison!, requests: { ...TWO.comparison!.requests, newlyRefused }, payers, added: [bad] },
    suggestions: TWO.suggestions!.map((one) => ({ ...one, policy: bad, limit: bad })),
    notes: [bad],
  });
  for (const steering of ["\x1b", "\u202e"]) expect(text).not.toContain(steering);
  expect(text).toContain(`GET /?[2J?${"x".repeat(29)}…\n`);
});

it("says what it can of an empty log", () => {
  const log = { files: 1, bytes: 0, lines: 0, requests: 0, fromMs: 0, toMs: 0 };
  const configuration = { ...PRESENT, requests: { requests: 0, refused: 0 }, policies: [] };
  expect(textReport({ log, configurations: [configuration], notes: [] })).toBe(
    "1 file, 0 bytes, 0 lines, 0 requests\n\nwrangler.toml: 0 of 0 requests refused (–)\n",
  );
});

it.each([
  [0, 0, "–"],
  [0, 10, "0 %"],
  [10, 10, "100 %"],
  [1, 8, "12.5 %"],
  [1, 80, "1.25 %"],
  [12, 100_000, "0.012 %"],
  [1, 1_000_000, "< 0.001 %"],
  [999_999, 1_000_000, "> 99.9 %"],
])("tells %i of %i as %s", (part, whole, text) => {
  expect(percent(part, whole)).toBe(text);
});

it("tells sizes, waits and shares with their units", () => {
  expect([0, 1_023, 1_024, 1_500_000, 2 ** 31].map(bytes)).toEqual([
    "0 bytes",
    "1,023 bytes",
    "1.0 KiB",
    "1.4 MiB",
    "2.0 GiB",
  ]);
  expect([400, 60_000, 99_000, 150_000, 7_500_000, 864e6].map(duration)).toEqual([
    "1 s",
    "1 min",
    "99 s",
    "3 min",
    "2 h 5 min",
    "10 d",
  ]);
  expect([0.001, 0.0725, 0.5].map(share)).toEqual(["0.1 %", "7.25 %", "50 %"]);
});
