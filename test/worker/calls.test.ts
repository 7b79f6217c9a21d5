// Bodies of JSON-RPC inside workerd, through the gateway, withRateLimit and headgate/hono: the same costs, and the
// handler gets each body byte for byte.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { Hono } from "hono";
import { expect, it } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { createGateway } from "../../src/gateway.ts";
import { createLimiter, memoryStore, rpc, withRateLimit } from "../../src/index.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { costsOf, RPC_POLICIES, rpcCases } from "../support/cases/rpc-bodies.ts";
import { NO_REDIS, redisBindings } from "./support.ts";

type Fetch = (request: Request, env: object, ctx: ExecutionContext) => Response | Promise<Response>;

const limiter = () => createLimiter({ policies: RPC_POLICIES, store: memoryStore(), features: [rpc()] });
const bytesOf = async (request: Request) => new Response(await request.arrayBuffer());

const WAYS: Readonly<Record<string, () => Fetch>> = {
  "the gateway": () => {
    const bindings = { ...redisBindings(), ...NO_REDIS, POLICIES: RPC_POLICIES, ORIGIN: { fetch: bytesOf } };
    return createGateway(bindings).fetch as Fetch;
  },
  withRateLimit: () => withRateLimit(bytesOf as never, limiter()).fetch as never,
  "headgate/hono": () => {
    const app = new Hono().use(rateLimit(limiter())).all("*", (c) => bytesOf(c.req.raw));
    return app.fetch as Fetch;
  },
  "headgate/hono, with a body that was read before": () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.text();
      await next();
    });
    app.use(rateLimit(limiter())).all("*", async (c) => new Response(await c.req.arrayBuffer()));
    return app.fetch as Fetch;
  },
};

it.each(Object.entries(WAYS))("%s", async (way, make) => {
  const fetch = make();
  const left: Record<string, number> = {};
  for (const { what, body, headers, costs } of await rpcCases()) {
    const all = { "Content-Type": "application/json", ...headers };
    const request = new Request("https://gate.example/mcp", { method: "POST", headers: all, body });
    const ctx = createExecutionContext();
    const answer = await fetch(request, {}, ctx);
    const sent = typeof body === "string" ? new TextEncoder().encode(body) : body;
    const got = new Uint8Array(await answer.arrayBuffer());
    await waitOnExecutionContext(ctx);
    // A text that was read before is no longer the bytes that were sent.
    if (!way.includes("before"))
      expect([what, got.length, got.every((byte, i) => byte === sent[i])]).toEqual([what, sent.length, true]);
    const after = Object.fromEntries(
      Object.entries(fieldsOf(answer).states!).map(([name, { r }]) => [name, r as number]),
    );
    const isDecoded = way.includes("before") && typeof body !== "string" && !headers;
    if (!isDecoded) expect([what, costsOf(left, after)]).toEqual([what, costs]);
    Object.assign(left, after);
  }
});
