// Keys and conditions from the body over HTTP: who is counted, which requests match, and what nobody can tell.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { fieldsOf } from "../../support/cases/fields.ts";
import { createEnforce } from "../../support/http/enforce.ts";
import { createLimiter } from "../../support/limiter.ts";
import type { PolicyInput } from "../../support/llm/metered-handler.ts";
import { recordingStore } from "../../support/redis/stores.ts";

const muted = () => vi.spyOn(console, "warn").mockImplementation(() => {});
let warn: ReturnType<typeof muted>;
// Ten lines a second are written.
let nowMs = Date.UTC(2026, 10, 29, 10);
beforeEach(() => {
  nowMs += 1_000;
  vi.useFakeTimers({ toFake: ["Date"], now: nowMs });
  warn = muted();
});

const JSON_TYPE = "application/json";
const limits = [{ algorithm: "fixed-window", limit: 100, window: "1d" }] as const;
const policy = (rules: object, name = "login"): PolicyInput => ({ name, limits, ...rules });

interface Sent {
  readonly body?: unknown;
  readonly type?: string;
  readonly ip?: string;
  readonly headers?: Record<string, string>;
  readonly url?: string;
}

function gateway(policies: readonly PolicyInput[], store = recordingStore()) {
  const limiter = createLimiter({ policies, store, onDecision: [] });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", isGateway: true });
  const work: Promise<unknown>[] = [];
  const handled: string[] = [];
  const handler = async (request: Request) => {
    handled.push(await request.text());
    return new Response(null, { status: 204 });
  };
  const send = ({ body, type = JSON_TYPE, ip = "192.0.2.1", headers, url = "https://gate.example/" }: Sent = {}) => {
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    const all = { "CF-Connecting-IP": ip, "Content-Type": type, ...headers };
    const request = new Request(url, {
      method: "POST",
      headers: all,
      ...(text !== undefined && { body: text as string }),
    });
    return enforce(request, handler, { waitUntil: (one) => void work.push(one) });
  };
  /** What is charged to a client. */
  const used = async (key?: string | string[], kind = "body:email", name = "login") => {
    const { limits } = await limiter.peek(name, { ...(key !== undefined && { key }), kind });
    return limits[0]!.limit.limit - limits[0]!.remaining;
  };
  return { limiter, send, used, handled, store, settled: () => Promise.all(work) };
}

const lines = () => warn.mock.calls.map(([line]) => JSON.parse(String(line)) as { event: string; policies: string[] });

describe("a key from the body", () => {
  it("counts whoever a body names, wherever it comes from, and hands the body on", async () => {
    const { send, used, handled } = gateway([policy({ key: ["body:email", "ip"] })]);
    await send({ body: { email: "ann" } });
    await send({ body: "email=ann", type: "application/x-www-form-urlencoded", ip: "192.0.2.2" });
    await send({ body: { email: "bob" } });
    expect([await used("ann"), await used("bob"), await used("192.0.2.1", "ip")]).toEqual([2, 1, 0]);
    expect(handled).toEqual(['{"email":"ann"}', "email=ann", '{"email":"bob"}']);
  });

  it("is absent without a body, and without such a field: the next one counts", async () => {
    const { send, used, store } = gateway([policy({ key: ["body:email", "header:x-user", "ip"] })]);
    for (const body of [undefined, "", { mail: "ann" }, { email: ["ann"] }, { email: "" }]) await send({ body });
    await send({ body: {}, headers: { "x-user": "ann" } });
    expect([await used("192.0.2.1", "ip"), await used("ann", "header:x-user")]).toEqual([5, 1]);
    expect(store.takes.filter(({ flag }) => flag !== 3)).toHaveLength(6);
    expect(lines()).toEqual([]);
  });

  it.each<[string, Sent]>([
    ["a member twice", { body: '{"email":"ann","email":"bob"}' }],
    ["another case", { body: { Email: "ann" } }],
    ["no JSON", { body: "email=ann" }],
    ["compressed", { body: { email: "ann" }, headers: { "Content-Encoding": "br" } }],
    ["too long", { body: { email: "ann", a: "a".repeat(1_048_576) } }],
    ["JSON called a form", { body: { email: "ann" }, type: "application/x-www-form-urlencoded" }],
  ])("that nobody can tell counts in one partition of the policy, with a line: %s", async (_, sent) => {
    const { send, used, handled } = gateway([policy({ key: ["body:email", "ip"] }), policy({ key: "ip" }, "all")]);
    await send({ ...sent, ip: "192.0.2.1" });
    await send({ ...sent, ip: "192.0.2.2" });
    expect([await used(undefined, "unread"), await used("192.0.2.1", "ip", "all")]).toEqual([2, 1]);
    expect(handled).toHaveLength(2);
    expect(
      lines()
        .filter(({ event }) => event === "body-unread")
        .map(({ policies }) => policies),
    ).toEqual([["login"], ["login"]]);
  });

  it("combines with others, and needs all of them", async () => {
    const { send, used } = gateway([policy({ key: ["body:email+header:x-tenant", "ip"] })]);
    await send({ body: { email: "ann" }, headers: { "x-tenant": "t" } });
    await send({ body: { email: "ann" } });
    await send({ body: { email: "ann", Email: "b" }, headers: { "x-tenant": "t" } });
    // Without the header, nobody has to know the body.
    await send({ body: { email: "ann", Email: "b" } });
    expect(await used(["ann", "t"], "body:email+header:x-tenant")).toBe(1);
    expect([await used("192.0.2.1", "ip"), await used(undefined, "unread")]).toEqual([2, 1]);
  });

  it("is not asked before the body is read, and a limit beside it still refuses early", async () => {
    const one = [{ algorithm: "fixed-window", limit: 1, window: "1d" }];
    const { send, used } = gateway([policy({ key: ["body:email", "ip"], limits: one }), policy({ key: "ip" }, "all")]);
    expect((await send({ body: { email: "ann" } })).status).toBe(204);
    expect((await send({ body: { email: "ann" } })).status).toBe(429);
    // The address has been counted nowhere, and ann's refusal is not everybody's.
    expect((await send({ body: { email: "bob" } })).status).toBe(204);
    expect((await send({})).status).toBe(204);
    expect((await send({})).status).toBe(429);
    expect([await used("ann"), await used("bob"), await used("192.0.2.1", "ip")]).toEqual([1, 1, 1]);
  });

  it("of an overflow is read too", async () => {
    const one = [{ algorithm: "fixed-window", limit: 1, window: "1d" }];
    const { send, used } = gateway([
      policy({ key: "ip", limits: one, overflow: "more" }, "all"),
      policy({ key: ["body:email"] }, "more"),
    ]);
    for (let i = 0; i < 3; i++) await send({ body: { email: "ann" } });
    expect([await used("192.0.2.1", "ip", "all"), await used("ann", "body:email", "more")]).toEqual([1, 2]);
  });

  const two = [{ algorithm: "fixed-window", limit: 2, window: "1d" }];
  it.each<[string, object, number?]>([
    ["in shadow", { mode: "shadow" }, 204],
    ["leased", { consistency: "leased" }],
    ["shared", { consistency: "shared" }],
    ["counted by its status", { count: "successes" }],
    ["with plans", { plan: "header:x-plan", plans: { pro: { login: 200 } } }],
    ["with once", { once: "header:idempotency-key" }],
    ["that folds", { fold: true }],
  ])("counts each client by itself under a policy %s", async (_, rules, third = 429) => {
    const { send, settled } = gateway([policy({ key: ["body:email", "ip"], limits: two, ...rules })]);
    const statuses: number[] = [];
    for (const email of ["ann", "ann", "ann", "bob"]) statuses.push((await send({ body: { email } })).status);
    await settled();
    expect(statuses).toEqual([204, 204, third, 204]);
  });

  it("by hand is the client of requests, and a policy that does not read bodies has no kind for unread ones", async () => {
    const { limiter, send } = gateway([policy({ key: ["body:email"] }), policy({ key: "ip" }, "all")]);
    await limiter.take("login", { kind: "body:email", key: "ann" });
    await limiter.take("login", { kind: "unread" });
    expect(fieldsOf(await send({ body: { email: "ann" } })).states!.login).toMatchObject({ r: 98 });
    expect(fieldsOf(await send({ body: "{" })).states!.login).toMatchObject({ r: 98 });
    await limiter.reset("login", { kind: "unread" });
    expect((await limiter.peek("login", { kind: "unread" })).remaining).toBe(100);
    await expect(limiter.peek("all", { kind: "unread" })).rejects.toThrow(
      "expected kind to be one of ip, anonymous under policy all",
    );
  });

  it.each([
    ["a meter", { meter: { unit: "tokens" }, limits: [{ algorithm: "fixed-window", limit: 5_000, window: "1d" }] }],
    ["calls", { cost: [{ tool: "search", cost: 2 }], limits: [{ algorithm: "fixed-window", limit: 2, window: "1d" }] }],
  ])("is not that of another client before the body is read, beside %s", async (_, rules) => {
    const { send } = gateway([policy({ key: ["body:user", "ip"], ...rules })]);
    const url = "https://gate.example/v1/chat/completions";
    const chat = (more: object) => send({ body: { messages: [], max_tokens: 3_000, ...more }, url });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await chat({})).status);
    expect(statuses.at(-1)).toBe(429);
    expect((await chat({ user: "ann" })).status).toBe(204);
  });

  it("gives way to the program's own, and nobody misses a body or an address then", async () => {
    const limiter = createLimiter({ policies: [policy({ key: "body:email" })], store: memoryStore() });
    const rules = { key: () => "me" };
    const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", rules });
    const address = () => {
      throw new Error("nobody knows it");
    };
    for (const body of ['{"email":"ann"}', "{}", "no JSON"]) {
      const request = new Request("https://gate.example/", { method: "POST", body });
      await enforce(request, () => new Response(), undefined, { address });
    }
    expect([(await limiter.peek("login", { key: "me" })).remaining, lines()]).toEqual([97, []]);
  });
});

describe("a condition on the body", () => {
  /** What a body costs under a policy. undefined: it does not match. */
  const cost = async (rules: object, sent: Sent) => {
    const { send, used } = gateway([policy({ key: "global", ...rules }), policy({ key: "ip" }, "all")]);
    const before = fieldsOf(await send(sent)).states?.login;
    return before === undefined ? undefined : await used("global", "global");
  };
  const gpt5 = { match: { body: { model: "gpt-5*" } } };
  const PERHAPS: Sent = { body: '{"model":"a","model":"b"}' };

  it.each<[string, object, Sent, number | undefined]>([
    ["matches", gpt5, { body: { model: "gpt-5-mini" } }, 1],
    ["matches in any case", gpt5, { body: { model: "GPT-5" } }, 1],
    ["does not match", gpt5, { body: { model: "gpt-4" } }, undefined],
    ["does not match a body without the field", gpt5, { body: {} }, undefined],
    ["does not match no body", gpt5, {}, undefined],
    ["matches in doubt", gpt5, PERHAPS, 1],
    ["matches in doubt: no JSON", gpt5, { body: "model=gpt-4" }, 1],
    ["matches what some servers trim", gpt5, { body: { model: " gpt-5" } }, 1],
    ["matches what some servers drop", gpt5, { body: { model: "gpt\u200b-5" } }, 1],
    [
      "matches behind more than it sees that some servers trim",
      gpt5,
      { body: { model: `${" ".repeat(999)}gpt-5` } },
      1,
    ],
    ["matches behind all that could be trimmed", gpt5, { body: { model: `${"\u200b".repeat(5_000)}gpt-4` } }, 1],
    ["does not match a long text", gpt5, { body: { model: `${"gpt 5 ".repeat(5_000)}` } }, undefined],
    ["sees 256 characters", { match: { body: { a: "*z" } } }, { body: { a: `${"a".repeat(255)}zz` } }, 1],
    [
      "sees no more than 256 characters",
      { match: { body: { a: "*z" } } },
      { body: { a: `${"a".repeat(256)}z` } },
      undefined,
    ],
    ["matches one of a list", { match: { body: { n: ["1", "2"] } } }, { body: { n: 2 } }, 1],
    ["matches a boolean", { match: { body: { stream: "true" } } }, { body: { stream: true } }, 1],
    ["needs all fields", { match: { body: { a: "1", b: "2" } } }, { body: { a: 1, b: 3 } }, undefined],
    ["needs all fields, and has them", { match: { body: { a: "1", b: "2" } } }, { body: { a: 1, b: 2 } }, 1],
    ["needs the head too", { match: { path: "/v1", body: { a: "1" } } }, { body: { a: 1 } }, undefined],
    ["leaves out", { except: { body: { model: "free*" } } }, { body: { model: "free-1" } }, undefined],
    [
      "leaves out nothing that only some servers read so",
      { except: { body: { model: "free" } } },
      { body: { model: "free " } },
      1,
    ],
    ["leaves out nothing without a body", { except: { body: { model: "free*" } } }, {}, 1],
    ["has a cost", { cost: [{ body: { model: "gpt-5*" }, cost: 7 }] }, { body: { model: "gpt-5" } }, 7],
    ["looks at a form", gpt5, { body: "model=gpt-5", type: "application/x-www-form-urlencoded" }, 1],
  ])("%s", async (_, rules, sent, expected) => {
    expect(await cost(rules, sent)).toBe(expected);
  });

  it("stands beside one on calls, whose costs are added up", async () => {
    const rules = {
      match: { tool: "search", body: { tier: "paid" } },
      cost: [
        { tool: "search", body: { size: "big" }, cost: 5 },
        { rpc: "tools/*", cost: 2 },
      ],
    };
    const call = { method: "tools/call", params: { name: "search" } };
    expect(await cost(rules, { body: { ...call, tier: "paid", size: "big" } })).toBe(5);
    expect(await cost(rules, { body: { ...call, tier: "paid" } })).toBe(2);
    expect(await cost(rules, { body: { ...call, tier: "free" } })).toBe(undefined);
    expect(await cost(rules, { body: { method: "ping", tier: "paid" } })).toBe(undefined);
    expect(await cost(rules, { body: "no JSON" })).toBe(5);
    // A policy that only looks at the body costs once, however many calls there are.
    expect(
      await cost({ match: { body: { "0.method": "ping" } } }, { body: [{ method: "ping" }, { method: "ping" }] }),
    ).toBe(1);
    expect(await cost({ match: { rpc: "ping" } }, { body: [{ method: "ping" }, { method: "ping" }] })).toBe(2);
  });
});
