// Bodies of JSON-RPC through the middlewares on Node: what they cost, and that the handler gets them byte for byte.

import { createHash } from "node:crypto";
import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { rateLimit as onExpress } from "../../../src/adapters/express.ts";
import { rateLimit as onHono } from "../../../src/adapters/hono.ts";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { fieldsOf } from "../../support/cases/fields.ts";
import { costsOf, RPC_POLICIES, type RpcCase, rpcCases } from "../../support/cases/rpc-bodies.ts";
import { createLimiter } from "../../support/limiter.ts";
import { serve } from "../../support/ways/express-way.ts";

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const hashOf = async (request: Request) => new Response(hash(new Uint8Array(await request.arrayBuffer())));

/** Answers with the hash of the body that it has read. */
function onNode(limiter: Limiter): RequestListener {
  const app = new Hono().use(onHono(limiter)).post("/mcp", (c) => hashOf(c.req.raw));
  return getRequestListener(app.fetch);
}

const limiterOf = () => createLimiter({ policies: RPC_POLICIES, store: memoryStore() });
const leftOf = (answer: Response) =>
  Object.fromEntries(Object.entries(fieldsOf(answer).states ?? {}).map(([name, { r }]) => [name, r as number]));

/** Sends the cases one after another. @returns what each has cost. */
async function charge(url: string, cases: readonly RpcCase[], check: (answer: Response, one: RpcCase) => unknown) {
  const left: Record<string, number> = {};
  const found: Record<string, unknown> = {};
  for (const one of cases) {
    const headers = { "Content-Type": "application/json", ...one.headers };
    const answer = await fetch(`${url}/mcp`, { method: "POST", headers, body: one.body });
    const after = leftOf(answer);
    found[one.what] = costsOf(left, after);
    Object.assign(left, after);
    await check(answer, one);
  }
  return found;
}

const bytesOf = ({ body }: RpcCase) => (typeof body === "string" ? new TextEncoder().encode(body) : body);

// test/worker/calls.test.ts does the same with withRateLimit, and behind what has read the body.
it("Hono charges what each body calls, and hands it on byte for byte", async () => {
  const url = await serve(onNode(limiterOf()));
  const cases = await rpcCases();
  const found = await charge(url, cases, async (answer, one) => {
    expect([answer.status, await answer.text()], one.what).toEqual([200, hash(bytesOf(one))]);
  });
  expect(found).toEqual(Object.fromEntries(cases.map(({ what, costs }) => [what, costs])));
});

it("Express behind its own parser charges what the parser has read", async () => {
  const limiter = limiterOf();
  const app = express().use(express.json({ limit: "2mb" }), onExpress(limiter, { body: (req) => req.body as unknown }));
  const url = await serve(
    app
      .post("/mcp", (_, res) => void res.send("ok"))
      .use(((_e, _q, res, _n) => void res.status(400).end()) as express.ErrorRequestHandler),
  );
  // What the parser refuses does not reach the limiter, nor the handler.
  const cases = (await rpcCases()).filter(({ headers = {} }) => headers["Content-Type"] !== "text/plain");
  const reached: RpcCase[] = [];
  const found = await charge(url, cases, (answer, one) => {
    if (answer.status === 200) reached.push(one);
  });
  expect(reached.length).toBeGreaterThan(25);
  for (const { what, costs, parsed = costs } of reached) expect([what, found[what]]).toEqual([what, parsed]);
});

describe("on Express", () => {
  const body = (req: { readonly body?: unknown }) => req.body;
  const warned = () => vi.spyOn(console, "warn").mockImplementation(() => {});

  it("a policy with tool or rpc needs the option body", () => {
    const limits = [{ limit: 1, window: "1h" as const }];
    for (const rules of [{ match: { tool: "a" } }, { except: { rpc: "a" } }, { cost: [{ tool: "a", cost: 1 }] }]) {
      const limiter = createLimiter({
        policies: [{ name: "some", key: "global", ...rules, limits }],
        store: memoryStore(),
      });
      expect(() => onExpress(limiter)).toThrow("policy some reads the body of a request (tool, rpc or body)");
      expect(() => onExpress(limiter)).toThrow("rateLimit(limiter, { body: (request) => request.body })");
      onExpress(limiter, { body });
    }
    expect(() => onExpress(limiterOf(), { body: "body" as never })).toThrow(TypeError);
  });

  it("a body that is missing or not parsed may be any call, with one line; without any body there is no call", async () => {
    const warn = warned();
    const limiter = limiterOf();
    const spent = async (given: unknown, headers: object, more: object = {}) => {
      const before = (await limiter.peek("calls", { kind: "global", key: "global" })).remaining!;
      const req = { method: "POST", url: "/mcp", headers, socket: {}, ...more };
      const url = await serve((_, res) => limit(req as never, res, () => void res.end()));
      const limit = onExpress(limiter, { body: () => given });
      await (await fetch(url)).arrayBuffer();
      return before - (await limiter.peek("calls", { kind: "global", key: "global" })).remaining!;
    };
    const text = '{"method":"tools/call","params":{"name":"search"}}';
    const length = { "content-length": "9" };
    for (const headers of [length, {}]) {
      const parsed: unknown = JSON.parse(text);
      for (const one of [parsed, Promise.resolve(parsed)]) expect(await spent(one, headers)).toBe(10);
      for (const one of [text, Buffer.from(text), 7, "{"]) expect(await spent(one, headers)).toBe(25);
    }
    expect(await spent([], length)).toBe(1);
    warn.mockClear();
    for (const none of [undefined, null, "", {}]) {
      for (const [headers, more] of [
        [length, {}],
        [{ "transfer-encoding": "chunked" }, {}],
        [{}, { stream: { endAfterHeaders: false } }],
      ] as const) {
        expect(await spent(none, headers, more)).toBe(25);
      }
      expect(await spent(none, { "content-length": "0" })).toBe(1);
      expect(await spent(none, {}, { stream: { endAfterHeaders: true } })).toBe(1);
    }
    expect(warn).toHaveBeenCalledTimes(4 * 3);
    expect(warn.mock.calls[0]![0]).toContain("put express.json() in front");
  });

  it("there is one line for many bodies that no parser has read", async () => {
    const warn = warned();
    const app = express().use(onExpress(limiterOf(), { body }));
    const url = await serve(app.post("/mcp", (_, res) => void res.end()));
    for (let i = 0; i < 3; i++)
      expect(leftOf(await fetch(`${url}/mcp`, { method: "POST", body: "{}" }))).toMatchObject({
        calls: 100_000 - 25 * (i + 1),
      });
    expect(warn.mock.calls.filter(([line]) => String(line).includes("put express.json() in front"))).toHaveLength(1);
  });
});

it("a request without a body calls nothing: policies on tools do not match it", async () => {
  const onExpressApp = (limiter: Limiter): RequestListener =>
    express().use(
      express.json(),
      onExpress(limiter, { body: (req) => req.body as unknown }),
      (_, res) => void res.end(),
    );
  for (const listenerOf of [onExpressApp, onNode]) {
    const url = await serve(listenerOf(limiterOf()));
    for (const method of ["GET", "DELETE", "POST"]) {
      const answer = await fetch(`${url}/mcp`, { method });
      expect(Object.keys(leftOf(answer))).toEqual(["calls", "others"]);
    }
  }
});

it("beside a meter the body is read once for both, and the handler gets it byte for byte", async () => {
  const tokens = {
    ...{ name: "tokens", key: "global", match: { path: "/mcp" }, meter: { unit: "tokens" as const } },
    limits: [{ algorithm: "fixed-window" as const, limit: 100_000, window: "30d" as const }],
  };
  const limiter = createLimiter({ policies: [...RPC_POLICIES, tokens], store: memoryStore() });
  const usage = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 };
  const app = new Hono().use(onHono(limiter)).post("/mcp", async (c) => c.json({ usage, got: await c.req.text() }));
  const url = await serve(getRequestListener(app.fetch));
  const body = '{"method":"tools/call","params":{"name":"search"},"model":"m","messages":[{"content":"Hi"}]}';
  const parse = vi.spyOn(JSON, "parse");
  onTestFinished(() => parse.mockRestore());
  const send = () => fetch(`${url}/mcp`, { method: "POST", body });
  expect(await (await send()).json()).toEqual({ usage, got: body });
  const left = leftOf(await send());
  expect(left).toMatchObject({ calls: 100_000 - 20 });
  // Each once.
  expect(parse.mock.calls.filter(([text]) => text === body)).toHaveLength(2);
  // Both are settled after their answers.
  await vi.waitFor(async () =>
    expect((await limiter.peek("tokens", { kind: "global", key: "global" })).remaining).toBe(100_000 - 100),
  );
});

it("a client that leaves while it sends its body is not charged", async () => {
  const limiter = limiterOf();
  const handler = vi.fn(() => new Response());
  const { fetch } = withRateLimit(handler, limiter);
  const left = new AbortController();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"method":'));
      left.signal.addEventListener("abort", () => controller.error(left.signal.reason));
    },
  });
  const request = new Request("https://a.test/mcp", {
    method: "POST",
    body,
    signal: left.signal,
    duplex: "half",
  } as RequestInit);
  const answer = fetch(request as never, {}, { waitUntil() {} } as never) as Promise<Response>;
  await new Promise((resolve) => setImmediate(resolve));
  left.abort();
  expect((await answer).status).toBe(499);
  expect((await limiter.peek("calls", { kind: "global", key: "global" })).remaining).toBe(100_000);
  expect(handler).not.toHaveBeenCalled();
});
