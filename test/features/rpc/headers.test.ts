// The headers of MCP that name the call: how they are read, and when a policy believes them.

import express from "express";
import { describe, expect, it } from "vitest";
import { rateLimit as onExpress } from "../../../src/adapters/express.ts";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { callInHeaders } from "../../../src/features/rpc/headers.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { fieldsOf } from "../../support/cases/fields.ts";
import { createLimiter } from "../../support/limiter.ts";
import { serve } from "../../support/ways/express-way.ts";

const ANY = { rpc: null, tool: null };
const TOOL = "tools/call";
const VERSION = ["MCP-Protocol-Version", "2026-07-28"] as const;

/** The headers of a call of a tool. */
const naming = (tool: string): [string, string][] => [[...VERSION], ["Mcp-Method", TOOL], ["Mcp-Name", tool]];
const named = (headers: readonly (readonly [string, string])[]) => {
  const { calls, ids } = callInHeaders(new Headers(headers as [string, string][]));
  expect([calls.length, calls[0]!.times, ids]).toEqual([1, 1, []]);
  return calls[0]!.call;
};
const encoded = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

describe("the headers name", () => {
  it.each([
    ["search", "search"],
    ["two words", "two words"],
    ["~ab!(c)", "~ab!(c)"],
    // The examples of the specification.
    ["=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界"],
    ["=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?="],
    [encoded("search"), "search"],
    [encoded("a,b"), "a,b"],
    ["x".repeat(1_024), "x".repeat(1_024)],
  ])("the tool %.40s", (header, tool) => {
    expect(named(naming(header))).toEqual({ rpc: TOOL, tool });
  });

  it.each([
    ["two names", "search, delete"],
    ["nothing", ""],
    ["letters that are not ASCII", "\u00e9"],
    ["a control character", "a\u0001b"],
    ["padding that is missing", "=?base64?YQ?="],
    ["base64 in the alphabet of addresses", "=?base64?_-8=?="],
    ["white space in base64", "=?base64?YWFh YWFh?="],
    ["the mark in another case", "=?BASE64?YQ==?="],
    ["a mark without its end", "=?base64?YQ=="],
    ["another encoding", "=?utf-8?B?YQ==?="],
    ["bytes that are not UTF-8", "=?base64?/w==?="],
    ["a byte order mark", encoded("\ufeffa")],
    ["spaces around the name", encoded(" a ")],
    ["a line break", encoded("a\nb")],
    ["more than 1,024 characters", "x".repeat(1_025)],
    ["the same in base64", encoded("x".repeat(800))],
  ])("a tool that may be any: %s", (_, header) => {
    expect(named(naming(header))).toEqual({ rpc: TOOL, tool: null });
  });

  it("a tool that may be any, without a name or with two", () => {
    expect(named([VERSION, ["Mcp-Method", TOOL]])).toEqual({ rpc: TOOL, tool: null });
    expect(named([...naming("a"), ["Mcp-Name", "b"]])).toEqual({ rpc: TOOL, tool: null });
  });

  it("another method, which has no tool", () => {
    expect(named([VERSION, ["Mcp-Method", "ping"]])).toEqual({ rpc: "ping" });
    const read = [VERSION, ["Mcp-Method", "resources/read"], ["Mcp-Name", "file:///a"]] as const;
    expect(named(read)).toEqual({ rpc: "resources/read" });
  });

  it.each([
    ["no version", undefined, "ping"],
    ["a version whose servers look at no header", "2025-11-25", "ping"],
    ["two versions", "2026-07-28, 2025-11-25", "ping"],
    ["a version that is no date", "DRAFT-2026", "ping"],
    ["no method", VERSION[1], undefined],
    ["an empty method", VERSION[1], ""],
    ["two methods", VERSION[1], "ping, tools/call"],
    ["a method in base64", VERSION[1], "=?base64?cGluZw==?="],
  ])("any call: %s", (_, version, method) => {
    const headers: [string, string][] = [["Mcp-Name", "a"]];
    if (version !== undefined) headers.push([VERSION[0], version]);
    if (method !== undefined) headers.push(["Mcp-Method", method]);
    expect(named(headers)).toEqual(ANY);
  });

  it("the same under a later version", () => {
    expect(named([["MCP-Protocol-Version", "2027-01-31"], ...naming("a").slice(1)])).toEqual({ rpc: TOOL, tool: "a" });
  });
});

const policy = (name: string, more: Partial<PolicyInput>): PolicyInput => ({
  ...{ name, key: "global", match: { path: "/mcp" }, limits: [{ limit: 1_000, window: "30d" }] },
  ...more,
});
const cost = [
  { tool: "search", cost: 10 },
  { tool: "delete*", cost: 25 },
];
const trusting = { originChecksMcpHeaders: true } as const;
/** Two that believe the headers, and two that do not. */
const POLICIES = [
  policy("calls", { cost, except: { rpc: "ping" }, ...trusting }),
  policy("deletes", { match: { path: "/mcp", tool: "delete*" }, ...trusting }),
  policy("careful", { cost, except: { rpc: "ping" } }),
];

const LONG = 1_048_577;
const bodyOf = (tool: string) => JSON.stringify({ jsonrpc: "2.0", id: 7, method: TOOL, params: { name: tool } });
const zip = { "Content-Encoding": "gzip" };

/** What a request costs, by policy. */
type Costs = Readonly<Record<string, number>>;
const CAREFUL = { careful: 25 };

describe("a policy whose origin checks them", () => {
  const passed: string[] = [];
  const limiter = createLimiter({ policies: POLICIES, store: memoryStore() });
  const { fetch: ask } = withRateLimit(async (request) => {
    passed.push(`${request.headers.get("Mcp-Name")} ${(await request.text()).length}`);
    return new Response("ok");
  }, limiter);
  const left: Record<string, number> = {};

  async function costsOf(body: string, headers: readonly (readonly [string, string])[]): Promise<Costs> {
    const request = new Request("https://gate.example/mcp", { method: "POST", body, headers: headers as never });
    const answer = (await ask(request, {}, { waitUntil() {} } as never)) as Response;
    expect(answer.status).toBe(200);
    const costs: Record<string, number> = {};
    for (const [name, { r }] of Object.entries(fieldsOf(answer).states ?? {})) {
      costs[name] = (left[name] ?? 1_000) - (r as number);
      left[name] = r as number;
    }
    return costs;
  }

  it.each<[what: string, body: string, headers: Record<string, string>, tool: string, costs: Costs]>([
    ["a body that can be read, and says the same", bodyOf("search"), {}, "search", { calls: 10, careful: 10 }],
    ["a body that says another tool", bodyOf("delete"), {}, "search", { calls: 25, deletes: 1, careful: 25 }],
    ["a body that says a cheaper tool", bodyOf("echo"), {}, "delete", { calls: 1, careful: 1 }],
    ["a long body", bodyOf("delete").padEnd(LONG), {}, "search", { calls: 10, ...CAREFUL }],
    ["a long body, and a tool in base64", bodyOf("a").padEnd(LONG), {}, encoded("echo"), { calls: 1, ...CAREFUL }],
    ["a compressed body", "zipped", zip, "delete", { calls: 25, deletes: 1, ...CAREFUL }],
    ["a body that is not JSON", "{", {}, "search", { calls: 10, ...CAREFUL }],
    ["two names", "{", {}, "echo, search", { calls: 25, deletes: 1, ...CAREFUL }],
    ["an older version", "{", { "MCP-Protocol-Version": "2025-11-25" }, "echo", { calls: 25, deletes: 1, ...CAREFUL }],
  ])("%s", async (_, body, more, tool, costs) => {
    const headers = Object.entries({ ...Object.fromEntries(naming(tool)), ...more });
    expect(await costsOf(body, headers)).toEqual(costs);
    // A mismatch is the server's business.
    expect(passed.at(-1)).toBe(`${tool} ${body.length}`);
  });

  it("leaves out a method that the headers name, if nobody can read the body", async () => {
    const ping = [VERSION, ["Mcp-Method", "ping"]] as const;
    expect(await costsOf("{", ping)).toEqual(CAREFUL);
    expect(await costsOf(bodyOf("echo"), ping)).toEqual({ calls: 1, careful: 1 });
  });

  it("refuses in the form of JSON-RPC, with the id null where it read none", async () => {
    const once = policy("once", { match: { tool: "search" }, limits: [{ limit: 1, window: "30d" }], ...trusting });
    const { fetch } = withRateLimit(
      () => new Response("ok"),
      createLimiter({ policies: [once], store: memoryStore() }),
    );
    const send = async (tool: string) => {
      const init = { method: "POST", body: "{", headers: naming(tool) };
      return (await fetch(new Request("https://gate.example/mcp", init), {}, { waitUntil() {} } as never)) as Response;
    };
    expect((await send("search")).status).toBe(200);
    expect((await send("echo")).status).toBe(200);
    const refused = await send("search");
    expect([refused.status, await refused.json()]).toMatchObject([429, { id: null, error: { code: 429 } }]);
  });

  it("does the same on Express, for what its parser has not read", async () => {
    const limiter = createLimiter({ policies: POLICIES, store: memoryStore() });
    const url = await serve(
      express().use(onExpress(limiter, { body: () => "not parsed" }), (_, res) => void res.end()),
    );
    const answer = await fetch(`${url}/mcp`, { method: "POST", body: bodyOf("delete"), headers: naming("search") });
    expect(fieldsOf(answer).states).toMatchObject({ calls: { r: 990 }, careful: { r: 975 } });
  });
});

it('with `method = "POST"` the GET and the DELETE of a session are free', async () => {
  const limiter = createLimiter({
    policies: [policy("posts", { match: { path: "/mcp", method: "POST" }, cost })],
    store: memoryStore(),
  });
  const { fetch } = withRateLimit(() => new Response("ok"), limiter);
  for (const [method, states] of [
    ["GET", undefined],
    ["DELETE", undefined],
    ["POST", { posts: { r: 999 } }],
  ] as const) {
    const request = new Request("https://gate.example/mcp", { method, headers: { "Mcp-Session-Id": "a" } });
    const answer = (await fetch(request, {}, { waitUntil() {} } as never)) as Response;
    expect([method, fieldsOf(answer).states]).toEqual([
      method,
      states && { posts: expect.objectContaining(states.posts) },
    ]);
  }
});
