// What is only of Hono: its context, its errors, its other middleware. ways-in.test.ts has what all ways in promise.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { compress } from "hono/compress";
import { cors } from "hono/cors";
import { etag } from "hono/etag";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import type { Limiter, LimiterOptions } from "../../src/limiter.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createLimiter } from "../support/limiter.ts";

type PolicyInput = LimiterOptions["policies"][number];

const limiterOf = (...policies: PolicyInput[]): Limiter => createLimiter({ policies, store: memoryStore() });
const policy = (name: string, limit: number): PolicyInput => ({
  name,
  key: "global",
  limits: [{ limit, window: "1h" }],
});

describe("an answer keeps its headers and gets ours", () => {
  const app = new Hono().use(rateLimit(limiterOf(policy("all", 1_000))));
  const own = { "X-Own": "1" };
  app.get("/set", (c) => c.text("set", 200, own));
  app.get("/error", () => Promise.reject(new Error("handler")));
  app.get("/exception", () => {
    throw new HTTPException(418, { res: new Response("teapot", { status: 418, headers: own }) });
  });
  app.onError((error, c) => (error instanceof HTTPException ? error.getResponse() : c.text("sorry", 500, own)));
  app.notFound((c) => c.text("none", 404, own));

  it.each([
    ["/set", 200],
    ["/error", 500],
    ["/exception", 418],
    ["/nowhere", 404],
  ])("%s: %i", async (path, status) => {
    const answer = await app.request(path);
    expect([answer.status, answer.headers.get("X-Own")]).toEqual([status, "1"]);
    expect(fieldsOf(answer)).toMatchObject({ states: { all: {} }, legacy: { limit: 1_000 } });
  });
});

describe("a refusal", () => {
  const PAGE = "https://page.example";
  const STRANGER = "https://stranger.example";
  const CORS = { origin: PAGE, credentials: true };

  it.each<[string, string, () => Hono, origin: string | null, credentials: string | null]>([
    ["the page that cors() allowed", PAGE, () => new Hono().use(cors(CORS)), PAGE, "true"],
    ["no page that cors() rejected", STRANGER, () => new Hono().use(cors(CORS)), null, "true"],
    ["any page after cors() for any", STRANGER, () => new Hono().use(cors()), "*", null],
    ["no page without cors()", PAGE, () => new Hono(), null, null],
  ])("is for %s", async (_whom, from, appWith, origin, credentials) => {
    const app = appWith();
    app.use(rateLimit(limiterOf(policy("one", 1))));
    app.get("/", (c) => c.text("ok"));
    const ask = () => app.request("/", { headers: { Origin: from } });
    await ask();
    const { status, headers } = await ask();
    const told = ["Access-Control-Allow-Origin", "Access-Control-Allow-Credentials"].map((name) => headers.get(name));
    expect([status, ...told]).toEqual([429, origin, credentials]);
  });

  const OF_THE_ANSWER = {
    "Cache-Control": "public, max-age=3600",
    ...Object.fromEntries(
      [
        ...[
          "CDN-Cache-Control",
          "Cloudflare-CDN-Cache-Control",
          "Surrogate-Control",
          "ETag",
          "Last-Modified",
          "Expires",
        ],
        ...["Age", "Content-Encoding", "Content-Length", "Content-Disposition", "Content-Language", "Content-Location"],
        ...["Content-Range", "Accept-Ranges", "Repr-Digest"],
      ].map((name) => [name, "3"]),
    ),
  };
  const OF_THE_APP = {
    "Content-Security-Policy": "default-src 'self'",
    "Strict-Transport-Security": "max-age=31536000",
    "Access-Control-Allow-Origin": PAGE,
    "X-DNS-Prefetch-Control": "off",
    "X-Request-Id": "42",
    "Server-Timing": "db;dur=1",
  };

  /** An app whose outer middleware sets many headers before the limiter refuses. */
  function busyApp(options: Parameters<typeof rateLimit>[1]) {
    const app = new Hono();
    app.use(async (c, next) => {
      for (const [name, value] of Object.entries({ ...OF_THE_ANSWER, ...OF_THE_APP })) c.header(name, value);
      c.header("Vary", "Accept-Language");
      c.header("Link", '</style.css>; rel="preload"');
      c.header("Retry-After", "9999");
      c.header("Set-Cookie", "a=1", { append: true });
      c.header("Set-Cookie", "b=2", { append: true });
      await next();
    });
    app.use(rateLimit(limiterOf(policy("one", 1)), options));
    app.get("/", () => new Response("ok"));
    return app;
  }

  it.each<[string, Parameters<typeof rateLimit>[1], number, string]>([
    ["the standard one", {}, 429, "Quota Exceeded"],
    ["one by c.text()", { response: (_, c) => (c as Context).text("slow down", 409) }, 409, "slow down"],
    ["one of another status", { response: (_, c) => (c as Context).json({ slow: "down" }) }, 200, "down"],
  ])(
    "is stored by nobody, and keeps what the app says of all its answers: %s",
    async (_which, options, status, text) => {
      const app = busyApp(options);
      await app.request("/");
      const answer = await app.request("/");
      expect([answer.status, await answer.text()]).toEqual([status, expect.stringContaining(text)]);
      expect(answer.headers.get("Cache-Control")).toBe("no-store");
      const { "Cache-Control": _, ...others } = OF_THE_ANSWER;
      for (const name of Object.keys(others)) expect([name, answer.headers.get(name)]).toEqual([name, null]);
      for (const [name, value] of Object.entries(OF_THE_APP)) expect(answer.headers.get(name)).toBe(value);
      expect(answer.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
      expect(answer.headers.get("Vary")!.match(/Accept-Language/g)).toHaveLength(1);
      expect(answer.headers.get("Link")!.match(/style\.css/g)).toHaveLength(1);
      const { retryAfter, states } = fieldsOf(answer);
      expect(retryAfter).toBeLessThanOrEqual(7_200);
      expect(states).toMatchObject({ one: { r: 0 } });
    },
  );

  it("gets no validator, and no 304, from middleware around it", async () => {
    const app = new Hono();
    app.use(etag(), compress({ threshold: 0 }), secureHeaders());
    app.use(rateLimit(limiterOf(policy("one", 1))));
    app.get("/", (c) => c.text("ok"));
    const tag = (await app.request("/")).headers.get("ETag")!;
    const headers = { "If-None-Match": tag, "Accept-Encoding": "gzip" };
    const answer = await app.request("/", { headers });
    expect([answer.status, answer.headers.get("ETag")]).toEqual([429, null]);
    expect(answer.headers.get("X-Frame-Options")).toBe("SAMEORIGIN");
    const text = await new Response(answer.body!.pipeThrough(new DecompressionStream("gzip"))).text();
    expect(JSON.parse(text)).toMatchObject({ status: 429, "violated-policies": ["one"] });
  });
});

describe("options", () => {
  const post = { method: "POST", body: '{"n":3}', headers: { "Content-Type": "application/json" } };

  it.each<[option: string, value: unknown, left: number]>([
    ["cost", 3, 7],
    ["key", "ann", 9],
    ["plan", "pro", 9],
    ["limits", { ten: 3 }, 2],
  ])("%s: may read the body, which the handler sends on", async (option, value, left) => {
    const read = async (c: Context) => ((await c.req.json<object>()) ? value : undefined);
    const app = new Hono().use(rateLimit(limiterOf(policy("ten", 10)), { [option]: read }));
    app.post("/", async (c) => c.json(await new Request("https://origin.example/", c.req.raw).json()));
    const answer = await app.request("/", post);
    expect(await answer.json()).toEqual({ n: 3 });
    expect(fieldsOf(answer).states).toMatchObject({ ten: { r: left } });
  });

  it("property: a decision under a name of its own, with its type; without a name the tighter one of two", async () => {
    const app = new Hono<{ Bindings: { SECRET: string } }>()
      .use(rateLimit(limiterOf(policy("outer", 9))), rateLimit(limiterOf(policy("inner", 3))))
      .get("/", rateLimit(limiterOf(policy("page", 5)), { property: "pageLimit" }), (c) => {
        // @ts-expect-error: no middleware has this name
        const none = c.var.otherLimit;
        return c.json([c.var.pageLimit?.remaining, c.get("rateLimit")?.remaining, none ?? "none"]);
      });
    expect(await (await app.request("/")).json()).toEqual([4, 2, "none"]);
    expect(() => rateLimit(limiterOf(policy("one", 1)), { property: "" })).toThrow(TypeError);
  });
});

describe("a function of c.env makes a limiter", () => {
  it("once, and again when a text or number has changed, though each request brings new objects", async () => {
    const make = vi.fn((_env: object) => limiterOf(policy("two", 2)));
    const app = new Hono().use(rateLimit(make)).get("/", (c) => c.text("ok"));
    const env = (A: number) => ({ A, event: {} });
    const envs = [env(1), env(1), env(1), env(2), { ...env(1), event: "text" }, env(1), undefined, {}, { event: {} }];
    const statuses: number[] = [];
    for (const each of envs) statuses.push((await app.request("/", {}, each)).status);
    expect(statuses).toEqual([200, 200, 429, 200, 200, 429, 200, 200, 429]);
    expect(make.mock.calls).toEqual([envs[0], envs[3], envs[4], {}].map((each) => [each]));
  });

  it("on Node once, from the variables of the process: each request has a c.env of its own", async () => {
    const make = vi.fn((_env: object) => limiterOf(policy("two", 2)));
    const app = new Hono().use(rateLimit(make)).get("/", (c) => c.text("ok"));
    // `serve` replaces these two for the whole process.
    const { Request, Response } = globalThis;
    const server = serve({ fetch: app.fetch, port: 0 });
    onTestFinished(() => {
      server.close();
      Object.defineProperty(globalThis, "Request", { value: Request });
      Object.defineProperty(globalThis, "Response", { value: Response });
    });
    await once(server, "listening");
    const url = `http://localhost:${(server.address() as AddressInfo).port}/`;
    const statuses = [(await fetch(url)).status, (await fetch(url)).status, (await fetch(url)).status];
    expect(statuses).toEqual([200, 200, 429]);
    expect(make.mock.calls.map(([env]) => env === process.env)).toEqual([true]);
  });

  it("and a binding named incoming, also of a service with every property, is no sign of Node", async () => {
    const service = new Proxy(() => {}, { get: () => service }) as object;
    const make = vi.fn((_env: object) => limiterOf(policy("two", 2)));
    const app = new Hono().use(rateLimit(make)).get("/", (c) => c.text("ok"));
    const envs = [
      { incoming: service, N: 1 },
      { incoming: {}, N: 2 },
    ];
    for (const env of envs) expect((await app.request("/", {}, env)).status).toBe(200);
    expect(make.mock.calls.map(([env]) => env)).toEqual(envs);
  });
});
