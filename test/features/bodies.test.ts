// Bodies of requests: who is refused before a byte is read, and what becomes of slow, waiting and long ones.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { withRateLimit } from "../../src/adapters/with-rate-limit.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { remoteStore } from "../../src/stores/remote-store.ts";
import { createEnforce } from "../support/http/enforce.ts";
import { createLimiter } from "../support/limiter.ts";
import type { PolicyInput } from "../support/llm/metered-handler.ts";
import { openBody } from "../support/open-body.ts";
import { recordingStore } from "../support/redis/stores.ts";

// Far from the end of a window.
const NOW_MS = Date.UTC(2026, 10, 22, 10, 10);
const CHAT = "https://gate.example/v1/chat/completions";
const EMBEDDINGS = "https://gate.example/v1/embeddings";
const MCP = "https://gate.example/mcp";
const KIB = 1024;
const MIB = 1024 * KIB;

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date", "setTimeout", "clearTimeout"] }));

/** A body that says whether somebody has asked for its bytes. */
function watchedBody(text: string) {
  let reads = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        reads++;
        controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, reads: () => reads };
}

type Init = Omit<RequestInit, "body"> & { readonly body: ReadableStream<Uint8Array> | string; readonly ip?: string };

function post(url: string, { ip = "192.0.2.1", headers, ...init }: Init): Request {
  const fields = { "CF-Connecting-IP": ip, "Content-Type": "application/json", ...(headers as object) };
  return new Request(url, { method: "POST", duplex: "half", headers: fields, ...init } as RequestInit);
}

function gateway(policies: readonly PolicyInput[], store = recordingStore()) {
  const limiter = createLimiter({ policies, store, onDecision: [] });
  const enforce = createEnforce({ limiter, rateLimitHeaders: "both", regionOf: () => "eu", isGateway: true });
  const work: Promise<unknown>[] = [];
  const handler = vi.fn(async (request: Request) => {
    await request.arrayBuffer();
    return new Response(null, { status: 204 });
  });
  const send = (request: Request, next: (request: Request) => Promise<Response> = handler) =>
    enforce(request, next, { waitUntil: (one) => void work.push(one) });
  /** What is charged at the moment. */
  const charged = async (policy: string) => {
    const { limits } = await limiter.peek(policy, { kind: "global", key: "global" });
    return limits[0]!.limit.limit - limits[0]!.remaining;
  };
  /** What is charged in the end. */
  const used = async (policy: string) => {
    for (let i = 0; i < work.length; i++) await work[i];
    return await charged(policy);
  };
  return { handler, send, used, charged, store };
}

const HOUR = { algorithm: "fixed-window", window: "1h" } as const;
const policy = (name: string, rules: object = {}): PolicyInput => ({
  name,
  key: "global",
  limits: [{ ...HOUR, limit: 1 }],
  ...rules,
});
const roomy = { limits: [{ ...HOUR, limit: 1_000_000 }] };
const tools = policy("tools", { match: { tool: "search" }, ...roomy });
const tokens = policy("tokens", { meter: { unit: "tokens" }, ...roomy });
const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search"}}';
const TEXT = '{"messages":["four"],"max_tokens":5}';

describe("a client that was refused is refused without its body being read", () => {
  const STORES = {
    "a store in memory": () => recordingStore(),
    // What an isolate keeps of a store that is far away.
    "a store that is far away": () => {
      const store = recordingStore();
      return { ...remoteStore({ ...store, kind: "far" }), takes: store.takes, resets: store.resets };
    },
  };
  type Row = readonly [what: string, policies: readonly PolicyInput[], url: string, isEarly: boolean];
  const all = policy("all");
  const meter = { unit: "tokens" } as const;
  const dear = policy("all", { cost: [{ tool: "search", cost: 2 }], limits: [{ ...HOUR, limit: 3 }] });
  const ping = { rpc: "ping", cost: 1 };
  const anyCall = policy("all", { cost: [{ tool: "search", cost: 1 }, ping] });
  const dollars = policy("usd", {
    meter: { unit: "usd", prices: { default: { input: 1, output: 1 } } },
    limits: [{ ...HOUR, limit: 0.00001 }],
  });
  const chained = [policy("all", { overflow: "more" }), policy("more", { match: undefined }), tools];
  const slots = policy("slots", { limits: [{ algorithm: "concurrency", limit: 5 }] });
  const ROWS: readonly Row[] = [
    ["a limit beside tools", [all, tools], MCP, true],
    ["a limit whose cost depends on the tool", [dear], MCP, false],
    ["the same, while no call fits", [anyCall], MCP, true],
    ["a limit with a call that is free", [policy("all", { cost: [{ rpc: "ping", cost: 0 }] })], MCP, false],
    ["a limit with an exception for a tool", [policy("all", { except: { tool: "other" } })], MCP, false],
    ["a limit on a tool", [policy("tool", { match: { tool: "search" } })], MCP, false],
    ["a limit beside a meter", [all, tokens], CHAT, true],
    ["a meter", [policy("tokens", { meter })], CHAT, true],
    ["a meter of dollars", [dollars], CHAT, true],
    ["a meter of embeddings, which may cost nothing", [policy("tokens", { meter })], EMBEDDINGS, false],
    ["a limit with an overflow", chained, MCP, false],
    ["a limit beside one in flight", [all, slots, tools], MCP, true],
    ["a leased limit beside tools", [policy("all", { consistency: "leased" }), tools], MCP, true],
  ];
  describe.each(Object.entries(STORES))("%s", (_, storeOf) => {
    it.each(ROWS)("%s", async (_what, policies, url, isEarly) => {
      const { send, handler, store } = gateway(policies, storeOf());
      const text = url === MCP ? CALL : TEXT;
      // Until the limit is used up, and its refusal is known.
      let last = await send(post(url, { body: text }));
      for (let i = 0; i < 5 && last.status !== 429; i++) last = await send(post(url, { body: text }));
      expect(last.status).toBe(429);
      handler.mockClear();
      const charged = store.takes.filter(({ flag }) => flag !== 3).length;
      const { body, reads } = watchedBody(text);
      const refused = await send(post(url, { body }));
      expect([refused.status, reads() > 0, handler.mock.calls.length]).toEqual([429, !isEarly, 0]);
      if (!isEarly) return;
      expect(refused.headers.get("Retry-After")).toBe("3000");
      expect(refused.headers.get("RateLimit")).toContain("r=0");
      const answer = (await refused.json()) as { id?: unknown; error: object };
      if (url === MCP) expect(answer).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: 429 } });
      else expect(answer).toMatchObject({ error: { type: "rate_limit_error" } });
      expect(charged).toBeGreaterThan(0);
    });
  });

  it("and whoever waits as told is admitted, whatever the body reserves", async () => {
    const limits = [{ limit: 1_000, window: "1m" as const }];
    const { send } = gateway([policy("tokens", { meter: { unit: "tokens", maxOutput: 400 }, limits })]);
    const ask = (max_tokens: number) => send(post(CHAT, { body: JSON.stringify({ max_tokens }) }));
    for (let i = 0; i < 3; i++) expect((await ask(i < 2 ? 400 : 200)).status).toBe(204);
    const { body, reads } = watchedBody(JSON.stringify({ max_tokens: 400 }));
    const refused = await send(post(CHAT, { body }));
    expect([refused.status, reads()]).toEqual([429, 0]);
    vi.setSystemTime(Date.now() + Number(refused.headers.get("retry-after-ms")));
    expect((await ask(400)).status).toBe(204);
  });
});

/** Requests that have begun to send a body of unknown length. */
function slowly(send: (request: Request) => Promise<Response>, count: number, ipOf: (i: number) => string) {
  return Array.from({ length: count }, (_, i) => {
    const { body, ...open } = openBody();
    open.send('{"messages":["');
    void send(post(CHAT, { body, ip: ipOf(i) }));
    return open;
  });
}
const others = (i: number) => `198.51.100.${i % 200}`;
const LONG = JSON.stringify({ messages: ["x".repeat(20_000)], max_tokens: 10 });

describe("slow bodies of one client", () => {
  // Afterwards none of them is read.
  afterEach(async () => void (await vi.advanceTimersByTimeAsync(60_000)));

  it("take a quarter of the isolate, and others are read at once and charged what they cost", async () => {
    const { send, charged } = gateway([tokens]);
    slowly(send, 40, () => "192.0.2.1");
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await send(post(CHAT, { body: LONG, ip: "198.51.100.1" }))).status).toBe(204);
    const networks = await send(post(CHAT, { body: LONG, ip: "2001:db8::1" }));
    expect([networks.status, await charged("tokens")]).toEqual([204, 2 * 5_010]);
  });

  it("keep its own next body waiting, and not its short ones", async () => {
    const { send, charged } = gateway([tokens]);
    const [first] = slowly(send, 8, () => "192.0.2.1");
    await vi.advanceTimersByTimeAsync(0);
    const next = send(post(CHAT, { body: LONG }));
    const short = post(CHAT, { body: TEXT, headers: { "Content-Length": String(TEXT.length) } });
    expect((await send(short)).status).toBe(204);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await charged("tokens")).toBe(6);
    first!.send('"]}');
    first!.end();
    await vi.advanceTimersByTimeAsync(100);
    expect((await next).status).toBe(204);
  });

  it("of many clients make others wait 10 s, who then get 503 and pay nothing", async () => {
    const { send, charged, handler } = gateway([tokens]);
    const slow = slowly(send, 32, others);
    await vi.advanceTimersByTimeAsync(0);
    const waiting = send(post(CHAT, { body: LONG }));
    await vi.advanceTimersByTimeAsync(9_000);
    // They send just enough.
    for (const one of slow) one.send(16 * KIB);
    await vi.advanceTimersByTimeAsync(2_000);
    const refused = await waiting;
    expect([refused.status, refused.headers.get("Retry-After"), await refused.json()]).toMatchObject([
      503,
      "1",
      { error: { type: "overloaded_error" } },
    ]);
    expect([await charged("tokens"), handler.mock.calls]).toEqual([0, []]);
  });
});

describe("a body without progress", () => {
  it.each<[string, readonly PolicyInput[], string, object]>([
    ["under a meter", [tokens], CHAT, { error: { type: "api_error" } }],
    ["under tools", [tools], MCP, { jsonrpc: "2.0", id: null, error: { code: 408 } }],
    ["under a field", [policy("field", { key: ["body:email", "global"] })], MCP, { status: 408 }],
  ])("%s ends with 408 after 10 s, and costs nothing", async (_, policies, url, form) => {
    const { send, used, handler } = gateway(policies);
    const { body, ...open } = openBody();
    const answer = send(post(url, { body }));
    open.send('{"messages":["');
    await vi.advanceTimersByTimeAsync(9_000);
    // A byte from time to time is no progress.
    open.send(" ");
    await vi.advanceTimersByTimeAsync(1_000);
    const refused = await answer;
    expect([refused.status, await refused.json()]).toMatchObject([408, form]);
    expect([await used(policies[0]!.name), handler.mock.calls, vi.getTimerCount()]).toEqual([0, [], 0]);
  });

  it("is one that sends less than 16 KiB in 10 s", async () => {
    const { send, used } = gateway([tokens]);
    const { body, ...open } = openBody();
    const answer = send(post(CHAT, { body }));
    open.send('{"max_tokens":7,"messages":["');
    for (let i = 0; i < 5; i++) {
      open.send(16 * KIB);
      await vi.advanceTimersByTimeAsync(9_000);
    }
    open.send('"]}');
    open.end();
    expect([(await answer).status, await used("tokens")]).toEqual([204, 7 + (5 * 16 * KIB) / 4]);
  });
});

describe("a body beyond 1 MiB", () => {
  const FIRST = MIB / 4 + 4_096;
  const long = (limit = 100_000_000) =>
    gateway([policy("tokens", { meter: { unit: "tokens" }, limits: [{ ...HOUR, limit }] })]);
  const announced = { "Content-Length": String(90 * MIB) };
  /** Reads what comes as it comes. */
  const origin = () => {
    let [bytes, hasFailed] = [0, false];
    const handler = async (request: Request) => {
      try {
        for await (const chunk of request.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
      } catch {
        hasFailed = true;
        return new Response(null, { status: 502 });
      }
      return new Response(null, { status: 204 });
    };
    return { handler, bytes: () => bytes, hasFailed: () => hasFailed };
  };
  const look = async ({ charged }: ReturnType<typeof gateway>) => await charged("tokens");
  const turns = () => vi.advanceTimersByTimeAsync(0);

  it("reserves the first 1 MiB, whatever length it announces, and is charged while it passes", async () => {
    const gate = long();
    const { body, ...open } = openBody();
    const provider = origin();
    const answer = gate.send(post(CHAT, { body, headers: announced }), provider.handler);
    await turns();
    expect(await look(gate)).toBe(FIRST);
    for (let mib = 1; mib <= 4; mib++) {
      for (let i = 0; i < 16; i++) open.send(64 * KIB);
      await turns();
      expect([provider.bytes(), await look(gate)]).toEqual([mib * MIB, FIRST + ((mib - 1) * MIB) / 4]);
    }
    open.send(400);
    open.end();
    expect((await answer).status).toBe(204);
    expect(await gate.used("tokens")).toBe(FIRST + (3 * MIB + 400) / 4);
  });

  it("that a limit refuses while it passes is charged above the limit in the end", async () => {
    const gate = long(FIRST + MIB / 4);
    const { body, ...open } = openBody();
    const answer = gate.send(post(CHAT, { body, headers: announced }), origin().handler);
    for (let i = 0; i < 4; i++) open.send(MIB);
    open.end();
    await answer;
    // At most half of the limit is reserved. All the rest does not fit.
    expect(await gate.used("tokens")).toBe(FIRST + MIB / 4);
  });

  it("without progress is ended at the origin after 10 s, and pays what has passed", async () => {
    const gate = long();
    const { body, ...open } = openBody();
    const provider = origin();
    const answer = gate.send(post(CHAT, { body, headers: announced }), provider.handler);
    open.send(1_200_000);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(provider.hasFailed()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await answer).status).toBe(408);
    expect([provider.hasFailed(), open.isCancelled(), await gate.used("tokens")]).toEqual([true, true, 300_000]);
  });

  it("that waits for a slow origin makes progress", async () => {
    const gate = long();
    const gone = Promise.withResolvers<void>();
    const slow = async (request: Request) => {
      await gone.promise;
      await request.arrayBuffer();
      return new Response(null, { status: 204 });
    };
    const { body, ...open } = openBody();
    const answer = gate.send(post(CHAT, { body, headers: announced }), slow);
    for (let i = 0; i < 3; i++) open.send(MIB);
    open.end();
    await vi.advanceTimersByTimeAsync(60_000);
    gone.resolve();
    expect((await answer).status).toBe(204);
  });
});

it("a body is read, and a slot is released, also if the platform has no background for that", async () => {
  const limits = [{ algorithm: "concurrency", limit: 1, timeout: "5s" }] as const;
  const match = { rpc: "tools/call" };
  const limiter = createLimiter({ policies: [{ name: "p", key: "global", match, limits }], store: memoryStore() });
  const background = {
    waitUntil() {
      throw new Error("no context");
    },
  };
  const { fetch } = withRateLimit({ fetch: () => new Response("ok") }, limiter);
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "a" } });
  for (let i = 0; i < 2; i++) {
    const answer = await fetch(new Request(MCP, { method: "POST", body }), undefined, background);
    expect([answer.status, await answer.text()]).toEqual([200, "ok"]);
  }
});
