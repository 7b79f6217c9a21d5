// The gateway's own lines, as people save them: each is read, and nothing that a client has sent.

import { describe, expect, it } from "vitest";
import type { LoggedRequest } from "../../../src/cli/replay/log/format.ts";
import { headgate } from "../../../src/cli/replay/log/formats/headgate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { recordDecisions } from "../../../src/operate/log.ts";

/** Lines of real decisions: two are admitted, the third is refused. */
async function record(): Promise<string[]> {
  const lines: string[] = [];
  const policies = [{ name: "api", limits: [{ limit: 20, window: "1h" }], plans: { free: { api: 2 } } }] as const;
  const onDecision = recordDecisions(1, (line) => void lines.push(line));
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision, region: "eu" });
  for (let i = 0; i < 3; i++) await limiter.take("api", { key: "192.0.2.1", kind: "ip", plan: "free" });
  return lines;
}

/** Cloudflare's event of a request. A tail of `wrangler` writes small letters, Logpush capitals. */
const tailEvent = (messages: readonly string[], userAgent = "curl") => ({
  ...{
    wallTime: 2,
    truncated: false,
    executionModel: "stateless",
    outcome: "ok",
    scriptName: "headgate",
    exceptions: [],
  },
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
  ...{ EventTimestampMs: 1_795_236_443_910, EventType: "fetch", Exceptions: [] },
  Logs: messages.map((message) => ({ Level: "log", Message: [message], TimestampMs: 1_795_236_443_912 })),
  ...{ Outcome: "ok", ScriptName: "headgate" },
});

function read(text: string): LoggedRequest[] {
  const reader = headgate.reader(new Set());
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
    expect(recorded).toMatchObject({ region: "eu" });
    const { policy, kind, cost, plan, partition, refused } = recorded!.takes[0]!;
    expect([policy, kind, cost, plan]).toEqual(PARTS);
    expect(partition).toMatch(/^[\w-]{22}$/);
    expect(refused).toBe(i === 2);
  }
});

describe("in what people save", () => {
  const noise = '{"event":"refused","at":"2026-11-21T12:07:23.912Z","policies":[]}';

  it.each<[name: string, save: (lines: string[]) => string]>([
    ["the console of wrangler dev", (lines) => ["Starting local server…", ...lines, noise].join("\r\n")],
    ["wrangler tail --format json", (lines) => JSON.stringify(tailEvent([noise, ...lines]), null, 2)],
    ["the same without line breaks", (lines) => JSON.stringify(tailEvent([...lines, noise]))],
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
    [change({ at: "today" })]: "not an instant",
    [change({ at: 9e15 })]: "not an instant",
    [change({ takes: [{ policy: "api", kind: "ip", key: "secret", cost: -1 }] })]: "no whole",
    [JSON.stringify(line).slice(0, -1)]: "ends early",
  };
  for (const [text, reason] of Object.entries(wrong)) {
    const said = headgate.reader(new Set()).read(text);
    expect(said).toContain(reason);
    expect(said).not.toMatch(/secret|api|eu/);
  }
});

it.each([
  [JSON.stringify({ EventTimestampMs: 1_795_377_600_000, Logs: [] })],
  [JSON.stringify({ outcome: "ok", logs: [{ message: ["other"] }] })],
  [JSON.stringify({ outcome: "ok", logs: [] }, null, 4)],
])("recognizes events without a decision: %j", (text) => {
  const lines = text.split("\n");
  expect(lines.some((line) => headgate.recognizes(line))).toBe(true);
  expect(lines.flatMap((line) => headgate.reader(new Set()).read(line))).toEqual([]);
});

it("notes a sample of the clients", async () => {
  const [line] = (await record()) as [string];
  const notes = new Set<string>();
  const reader = headgate.reader(notes);
  reader.read(line);
  expect(notes.size).toBe(0);
  reader.read(JSON.stringify({ ...JSON.parse(line), share: 0.1 }));
  expect([...notes].join()).toContain("some of the clients");
});
