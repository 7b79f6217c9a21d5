// Bodies of JSON-RPC through the middlewares on Node: what they cost behind a parser, without a body, beside a meter.

import type { RequestListener } from "node:http";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import { rateLimit as onExpress } from "../../../src/adapters/express.ts";
import { rateLimit as onHono } from "../../../src/adapters/hono.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { fieldsOf } from "../../support/cases/fields.ts";
import { costsOf, RPC_POLICIES, rpcCases } from "../../support/cases/rpc-bodies.ts";
import { createLimiter } from "../../support/limiter.ts";
import { serve } from "../../support/ways/express-way.ts";

function onNode(limiter: Limiter): RequestListener {
  return getRequestListener(new Hono().use(onHono(limiter)).fetch);
}

const limiterOf = () => createLimiter({ policies: RPC_POLICIES, store: memoryStore() });
const leftOf = (answer: Response) =>
  Object.fromEntries(Object.entries(fieldsOf(answer).states ?? {}).map(([name, { r }]) => [name, r as number]));

// test/adapters/promises.ts does the same in front of handlers that get the bytes.
it("Express behind its own parser charges what the parser has read", async () => {
  const app = express().use(
    express.json({ limit: "2mb" }),
    onExpress(limiterOf(), { body: (req) => req.body as unknown }),
  );
  const onError: express.ErrorRequestHandler = (_error, _req, res, _next) => void res.status(400).end();
  const url = await serve(app.post("/mcp", (_, res) => void res.send("ok")).use(onError));
  let reached = 0;
  const left: Record<string, number> = {};
  for (const { what, body, headers, costs, parsed = costs } of await rpcCases()) {
    // What the parser refuses does not reach the limiter, nor the handler.
    if (headers?.["Content-Type"] === "text/plain") continue;
    const all = { "Content-Type": "application/json", ...headers };
    const answer = await fetch(`${url}/mcp`, { method: "POST", headers: all, body });
    const after = leftOf(answer);
    if (answer.status === 200) expect([what, costsOf(left, after)]).toEqual([what, parsed]);
    if (answer.status === 200) reached++;
    Object.assign(left, after);
  }
  expect(reached).toBeGreaterThan(25);
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
    ...{ name: "tokens", key: "global" as const, match: { path: "/mcp" }, meter: { unit: "tokens" as const } },
    limits: [{ algorithm: "fixed-window" as const, limit: 100_000, window: "30d" as const }],
  };
  const limiter = createLimiter({ policies: [...RPC_POLICIES, tokens], store: memoryStore() });
  const usage = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 };
  const app = new Hono().use(onHono(limiter)).post("/mcp", async (c) => c.json({ usage, got: await c.req.text() }));
  const url = await serve(getRequestListener(app.fetch));
  const body = '{"method":"tools/call","params":{"name":"search"},"model":"m","messages":[{"content":"Hi"}]}';
  const parse = vi.spyOn(JSON, "parse");
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
