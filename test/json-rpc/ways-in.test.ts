// Bodies of JSON-RPC through the middlewares on Node: what they cost, and that the handler gets them byte for byte.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { getRequestListener } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { rateLimit as onExpress } from "../../src/express.ts";
import { rateLimit as onHono } from "../../src/hono.ts";
import { withRateLimit } from "../../src/http/with-rate-limit.ts";
import { createLimiter, type Limiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { costsOf, RPC_POLICIES, type RpcCase, rpcCases } from "../support/cases/rpc-bodies.ts";

const hash = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const hashed = async (stream: IncomingMessage) => hash(await buffer(stream));
const hashOf = async (request: Request) => new Response(hash(new Uint8Array(await request.arrayBuffer())));

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Every handler answers with the hash of the body that it has read. */
const WAYS: Readonly<Record<string, (limiter: Limiter) => RequestListener>> = {
  Express: (limiter) => {
    const app = express().use(onExpress(limiter));
    return app.post("/mcp", async (req, res) => void res.send(await hashed(req)));
  },
  "Express with a parser of raw bodies behind": (limiter) => {
    const app = express().use(onExpress(limiter), express.raw({ type: () => true, limit: "2mb", inflate: false }));
    // A body that says to be compressed is not for this parser.
    return app.post("/mcp", (req, res) => void res.send(hash(req.body as Buffer)));
  },
  "node:http": (limiter) => {
    const limit = onExpress(limiter);
    return (req, res) => limit(req, res, async () => void res.end(await hashed(req)));
  },
  "node:http, two middlewares": (limiter) => {
    const [first, second] = [
      onExpress(
        createLimiter({
          policies: RPC_POLICIES.map((one) => ({ ...one, name: `${one.name}-b` })),
          store: memoryStore(),
        }),
      ),
      onExpress(limiter),
    ];
    return (req, res) => first(req, res, () => second(req, res, async () => void res.end(await hashed(req))));
  },
  Hono: (limiter) => {
    const app = new Hono().use(onHono(limiter)).post("/mcp", (c) => hashOf(c.req.raw));
    return getRequestListener(app.fetch);
  },
  "Hono behind what has read the body": (limiter) => {
    const app = new Hono();
    app.use(async (c, next) => {
      await c.req.arrayBuffer();
      await next();
    });
    app.use(onHono(limiter)).post("/mcp", (c) => hashOf(c.req.raw));
    return getRequestListener(app.fetch);
  },
  withRateLimit: (limiter) => {
    const { fetch } = withRateLimit((request: Request) => hashOf(request), limiter);
    return getRequestListener((request) => fetch(request, {}, { waitUntil() {} } as never) as Promise<Response>);
  },
};

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

describe.each(Object.entries(WAYS))("%s", (way, listenerOf) => {
  it("charges what each body calls, and hands it on byte for byte", async () => {
    const url = await serve(listenerOf(limiterOf()));
    const all = await rpcCases();
    // That parser answers 415 for a body that says to be compressed.
    const cases = way.includes("parser") ? all.filter(({ headers = {} }) => !("Content-Encoding" in headers)) : all;
    const found = await charge(url, cases, async (answer, one) => {
      expect([answer.status, await answer.text()], one.what).toEqual([200, hash(bytesOf(one))]);
    });
    expect(found).toEqual(Object.fromEntries(cases.map(({ what, costs }) => [what, costs])));
  });
});

it("Express behind its own parser charges what the parser has read", async () => {
  const limiter = limiterOf();
  const app = express().use(express.json({ limit: "2mb" }), onExpress(limiter));
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

it("on Node a body that a platform has read counts, also without the fields that announce one", async () => {
  const limiter = limiterOf();
  const limit = onExpress(limiter);
  const text = '{"method":"tools/call","params":{"name":"search"}}';
  const spent = async (body: unknown, readableDidRead = true) => {
    const before = (await limiter.peek("calls", { kind: "global", key: "global" })).remaining!;
    const req = { method: "POST", url: "/mcp", headers: {}, socket: {}, body, readableDidRead };
    const url = await serve((_, res) => limit(req as never, res, () => void res.end()));
    await (await fetch(url)).arrayBuffer();
    return before - (await limiter.peek("calls", { kind: "global", key: "global" })).remaining!;
  };
  for (const body of [text, Buffer.from(text), JSON.parse(text) as object]) expect(await spent(body)).toBe(10);
  for (const body of [undefined, null, "", {}]) expect(await spent(body)).toBe(1);
  expect(await spent("{")).toBe(25);
  const circle: Record<string, unknown> = { method: "ping" };
  circle.self = circle;
  expect(await spent(circle)).toBe(25);
});

it("HTTP/2, with and without a length", async () => {
  const limit = onExpress(limiterOf());
  const server = http2.createServer((req, res) =>
    limit(req as never, res as never, async () => {
      const body = await buffer(req as never);
      res.end(body.toString());
    }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  const send = async (method: string, body: string | undefined, headers: object = {}) => {
    const stream = client.request(
      { ":path": "/mcp", ":method": method, ...headers },
      { endStream: body === undefined },
    );
    const head = once(stream, "response") as Promise<[Record<string, string>]>;
    if (body !== undefined) stream.end(body);
    const [fields] = await head;
    return [/"calls";r=(\d+)/.exec(fields.ratelimit!)![1], (await buffer(stream)).toString()];
  };
  const body = '{"method":"tools/call","params":{"name":"search"}}';
  expect(await send("POST", body)).toEqual(["99990", body]);
  expect(await send("POST", body, { "content-length": String(body.length) })).toEqual(["99980", body]);
  expect(await send("GET", undefined)).toEqual(["99979", ""]);
});

it("a request without a body calls nothing: policies on tools do not match it", async () => {
  for (const listenerOf of [WAYS.Express!, WAYS.Hono!, WAYS.withRateLimit!]) {
    const url = await serve(listenerOf(limiterOf()));
    for (const method of ["GET", "DELETE", "POST"]) {
      const answer = await fetch(`${url}/mcp`, { method });
      expect(Object.keys(leftOf(answer))).toEqual(["calls", "others"]);
    }
  }
});

it("beside a meter, both read the body, and the handler gets it byte for byte", async () => {
  const tokens = {
    ...{ name: "tokens", key: "global", match: { path: "/mcp" }, meter: { unit: "tokens" as const } },
    limits: [{ algorithm: "fixed-window" as const, limit: 100_000, window: "30d" as const }],
  };
  const limiter = createLimiter({ policies: [...RPC_POLICIES, tokens], store: memoryStore() });
  const usage = { prompt_tokens: 30, completion_tokens: 20, total_tokens: 50 };
  const app = new Hono().use(onHono(limiter)).post("/mcp", async (c) => c.json({ usage, got: await c.req.text() }));
  const url = await serve(getRequestListener(app.fetch));
  const body = '{"method":"tools/call","params":{"name":"search"},"model":"m","messages":[{"content":"Hi"}]}';
  const send = () => fetch(`${url}/mcp`, { method: "POST", body });
  expect(await (await send()).json()).toEqual({ usage, got: body });
  const left = leftOf(await send());
  expect(left).toMatchObject({ calls: 100_000 - 20 });
  // Both are settled after their answers.
  await vi.waitFor(async () =>
    expect((await limiter.peek("tokens", { kind: "global", key: "global" })).remaining).toBe(100_000 - 100),
  );
});

it("a handler on Node that listens to events gets every body, also an empty one of unknown length", async () => {
  const limit = onExpress(limiterOf());
  const url = await serve((req, res) =>
    limit(req, res, () => {
      const pieces: Buffer[] = [];
      req.on("data", (piece: Buffer) => pieces.push(piece)).on("end", () => res.end(hash(Buffer.concat(pieces))));
    }),
  );
  for (const bytes of [0, 1, 65_536, 1_048_576, 1_048_577, 3_000_000]) {
    const sent = new Uint8Array(bytes).fill(0x20);
    for (const body of [sent, new Blob([sent]).stream()]) {
      const init = { method: "POST", body, duplex: "half" } as RequestInit;
      expect([bytes, await (await fetch(`${url}/mcp`, init)).text()]).toEqual([bytes, hash(sent)]);
    }
  }
});

it("a client that leaves while it sends its body is not charged", async () => {
  const limiter = limiterOf();
  const limit = onExpress(limiter);
  const began = Promise.withResolvers<IncomingMessage>();
  let isHandled = false;
  const url = await serve((req, res) => {
    limit(req, res, () => {
      isHandled = true;
    });
    began.resolve(req);
  });
  const left = new AbortController();
  const body = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"method":')),
  });
  const answer = fetch(`${url}/mcp`, { method: "POST", body, duplex: "half", signal: left.signal } as RequestInit);
  const closed = once(await began.promise, "close").catch(() => undefined);
  left.abort();
  await expect(answer).rejects.toThrow();
  await closed;
  await new Promise((resolve) => setImmediate(resolve));
  expect((await limiter.peek("calls", { kind: "global", key: "global" })).remaining).toBe(100_000);
  expect(isHandled).toBe(false);
});
