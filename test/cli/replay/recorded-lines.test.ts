// The gateway's own lines, as people save them: each is read, and nothing that a client has sent.

import { describe, expect, it, vi } from "vitest";
import type { ChainSummary } from "../../../src/cli/replay/engine/summary.ts";
import type { LogEntry } from "../../../src/cli/replay/log/format.ts";
import { headgate } from "../../../src/cli/replay/log/formats/headgate.ts";
import { recordDecisions } from "../../../src/http/record.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { run, START_MS } from "./engine/logs.ts";

/** Lines of real decisions: two are admitted, the third is refused. */
async function record(): Promise<string[]> {
  const lines: string[] = [];
  const policies = [{ name: "api", limits: [{ limit: 20, window: "1h" }], plans: { free: { api: 2 } } }] as const;
  const onDecision = recordDecisions(1, (line) => void lines.push(line));
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision, region: "eu" });
  for (let i = 0; i < 3; i++) await limiter.take("api", { key: "192.0.2.1", kind: "ip", plan: "free" });
  return lines;
}

it("reads lines of chains, and replays the payers that were", async () => {
  vi.useFakeTimers({ toFake: ["Date"], now: START_MS });
  const lines: string[] = [];
  const hour = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
  const policies = [
    { name: "plan", key: "header:x-user", limits: hour(4), overflow: "team" },
    { name: "team", key: "header:x-team", limits: hour(6), overflow: "company" },
    { name: "company", key: "global", limits: hour(5) },
  ] as const;
  const onDecision = recordDecisions(1, (line) => void lines.push(line));
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision, region: "eu" });
  const paid = { plan: 0, team: 0, company: 0, nobody: 0 };
  for (let i = 0; i < 40; i++) {
    vi.setSystemTime(START_MS + i);
    const [user, team] = [`user-${i % 5}`, `team-${i % 2}`];
    const { paidBy } = await limiter.take([
      { policy: "plan", key: user, kind: "header:x-user", cost: 1 + (i % 2) },
      { policy: "team", key: team, kind: "header:x-team" },
    ]);
    paid[(paidBy as keyof typeof paid) ?? "nobody"]++;
  }
  vi.useRealTimers();
  expect(Math.min(...Object.values(paid))).toBeGreaterThan(2);
  const { configurations, notes } = await run(read(lines.join("\n")), policies, { log: { isRecorded: true } });
  expect(notes).toEqual([expect.stringContaining("all of 40 decisions")]);
  const [{ payers, refused }] = configurations[0]!.chains as [ChainSummary];
  expect([...payers, refused].map(({ requests }) => requests)).toEqual(Object.values(paid));
});

/** Cloudflare's event of a request. A tail of `wrangler` writes small letters, Logpush capitals. */
const tailEvent = (messages: readonly string[], userAgent = "curl") => ({
  wallTime: 2,
  cpuTime: 1,
  truncated: false,
  executionModel: "stateless",
  outcome: "ok",
  scriptName: "headgate",
  diagnosticsChannelEvents: [],
  exceptions: [],
  logs: messages.map((message) => ({ message: [message], level: "log", timestamp: 1_795_236_443_912 })),
  eventTimestamp: 1_795_236_443_910,
  event: { request: { url: "https://example.com/", method: "GET", headers: { "user-agent": userAgent } } },
});
const logpushEvent = (messages: readonly string[]) => ({
  Event: {
    RayID: "8c2f1a0b9d3e4f5a",
    Request: { URL: "https://example.com/", Method: "GET" },
    Response: { Status: 200 },
  },
  EventTimestampMs: 1_795_236_443_910,
  EventType: "fetch",
  Exceptions: [],
  Logs: messages.map((message) => ({ Level: "log", Message: [message], TimestampMs: 1_795_236_443_912 })),
  Outcome: "ok",
  ScriptName: "headgate",
});

function read(text: string): LogEntry[] {
  const reader = headgate.reader();
  return text.split("\n").flatMap((line) => {
    const entry = reader.read(line);
    if (typeof entry === "string") throw new Error(entry);
    return entry ?? [];
  });
}

const PARTS = ["api", "ip", 1, "free"];

it("reads what was recorded", async () => {
  const lines = await record();
  const entries = read(lines.join("\n"));
  expect(entries.map(({ recorded }) => recorded?.allowed)).toEqual([true, true, false]);
  for (const [i, { atMs, recorded }] of entries.entries()) {
    expect(atMs).toBe(JSON.parse(lines[i]!).at);
    expect(recorded).toMatchObject({ region: "eu", source: "memory" });
    const [{ policy, kind, cost, plan, partition, refused }] = recorded!.takes as [
      NonNullable<typeof recorded>["takes"][0],
    ];
    expect([policy, kind, cost, plan]).toEqual(PARTS);
    expect(partition).toMatch(/^[\w-]{22}$/);
    expect(refused).toBe(i === 2 ? true : undefined);
  }
});

describe("in what people save", () => {
  const noise = '{"event":"refused","at":"2026-11-21T12:07:23.912Z","policies":[]}';

  it.each<[name: string, save: (lines: string[]) => string]>([
    ["the console of wrangler dev", (lines) => ["Starting local server…", ...lines, noise].join("\r\n")],
    ["wrangler tail --format json", (lines) => JSON.stringify(tailEvent([noise, ...lines]), null, 2)],
    ["the same without line breaks", (lines) => JSON.stringify(tailEvent([...lines, noise]))],
    [
      "wrangler tail --format pretty",
      (lines) => lines.map((line) => `GET https://a/ - Ok\n  (log) ${line}`).join("\n"),
    ],
    ["Logpush, Workers Trace Events", (lines) => JSON.stringify(logpushEvent([noise, ...lines]))],
  ])("%s: every line, and nothing else", async (_, save) => {
    const lines = await record();
    const text = save(lines);
    expect(text.split("\n").some((line) => headgate.recognizes(line))).toBe(true);
    expect(read(text)).toEqual(read(lines.join("\n")));
  });

  it("a client cannot write a line", async () => {
    const [line] = await record();
    for (const spaces of [0, 2]) {
      const text = JSON.stringify({ ...tailEvent([], line), logs: [{ message: [`it said ${line}`] }] }, null, spaces);
      expect(text).toContain("decision");
      expect(read(text)).toEqual([]);
    }
    expect(read(`Mozilla ${line}`)).toEqual([]);
  });
});

it("says why a line cannot be read, without its text", async () => {
  const [line] = (await record()) as [string];
  const change = (members: object) => JSON.stringify({ ...JSON.parse(line), ...members });
  const wrong = {
    [line.slice(0, -1)]: "ends early",
    [change({ v: 2 })]: "another version",
    [change({ at: "today" })]: "no whole",
    [change({ at: 9e15 })]: "not an instant",
    [change({ takes: [{ policy: "api", kind: "ip", key: "secret", cost: -1 }] })]: "not whole",
    [JSON.stringify(line).slice(0, -1)]: "ends early",
  };
  for (const [text, reason] of Object.entries(wrong)) {
    const said = headgate.reader().read(text);
    expect(said).toContain(reason);
    expect(said).not.toMatch(/secret|api|eu/);
  }
});

it.each([
  [JSON.stringify({ EventTimestampMs: 1_795_377_600_000, Logs: [] })],
  [JSON.stringify({ outcome: "ok", logs: [{ message: ["other"] }] })],
  [JSON.stringify({ outcome: "ok", logs: [] }, null, 4)],
])("recognizes events without a decision, and notes them: %j", async (text) => {
  const lines = text.split("\n");
  expect(lines.some((line) => headgate.recognizes(line))).toBe(true);
  const reader = headgate.reader();
  expect(lines.map((line) => reader.read(line))).toEqual(lines.map(() => undefined));
  expect(reader.notes?.()).toEqual([expect.stringContaining("no recorded decision")]);
  const [line] = (await record()) as [string];
  reader.read(line);
  expect(reader.notes?.()).toEqual([]);
});

it("notes a sample, leases, and decisions without the store", async () => {
  const [line] = (await record()) as [string];
  const reader = headgate.reader();
  for (const members of [{ share: 0.1 }, { source: "lease" }, { source: "fallback" }, { source: "fallback" }]) {
    reader.read(JSON.stringify({ ...JSON.parse(line), ...members }));
  }
  const notes = reader.notes?.().join("\n");
  expect(notes).toContain("10 % of the clients");
  expect(notes).toContain("1 decision came from leases");
  expect(notes).toContain("2 decisions were made without");
  expect(headgate.reader().notes?.()).toEqual([]);
});
