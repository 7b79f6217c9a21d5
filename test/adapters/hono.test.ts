// The middleware on real Hono apps: which headers an answer has, and what the options change.

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
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
import { remoteStore } from "../../src/stores/remote-store.ts";
import { storeFromEnv } from "../../src/stores/store-from-env.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createLimiter } from "../support/limiter.ts";

type PolicyInput = LimiterOptions["policies"][number];

const limiterOf = (...policies: PolicyInput[]): Limiter => createLimiter({ policies, store: memoryStore() });
const policy = (name: string, limit: number): PolicyInput => ({
  name,
  key: "global",
  limits: [{ limit, window: "1h" }],
});

describe("every answer keeps its headers and gets ours", () => {
  const app = new Hono();
  app.use(rateLimit(limiterOf(policy("all", 1_000))));
  app.get("/json", (c) => c.json({}, 200, { "X-Own": "1" }));
  app.get("/raw", () => new Response("raw", { headers: { "X-Own": "1" } }));
  app.get("/set", (c) => {
    c.header("X-Own", "1");
    return c.text("set");
  });
  app.get("/fetched", () => Response.redirect("https://example.com/", 302));
  app.get("/error", () => {
    throw new Error("handler");
  });
  app.get("/exception", () => {
    throw new HTTPException(418, { res: new Response("teapot", { status: 418, headers: { "X-Own": "1" } }) });
  });
  app.get(
    "/limited-by-origin",
    () => new Response("", { headers: { RateLimit: '"theirs";r=5', "X-RateLimit-Remaining": "3" } }),
  );
  app.onError((error, c) =>
    error instanceof HTTPException ? error.getResponse() : c.text("sorry", 500, { "X-Own": "1" }),
  );
  app.notFound((c) => c.text("none", 404, { "X-Own": "1" }));

  it.each([
    ["/json", 200],
    ["/raw", 200],
    ["/set", 200],
    ["/error", 500],
    ["/exception", 418],
    ["/nowhere", 404],
  ])("%s: %i", async (path, status) => {
    const answer = await app.request(path);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("X-Own")).toBe("1");
    expect(fieldsOf(answer)).toMatchObject({ states: { all: {} }, legacy: { limit: 1_000 } });
  });

  it("one with immutable headers, as fetched ones are", async () => {
    const answer = await app.request("/fetched");
    expect([answer.status, answer.headers.get("Location")]).toEqual([302, "https://example.com/"]);
    expect(fieldsOf(answer).states).toHaveProperty("all");
  });

  it("one with fields of another limiter, which stay", async () => {
    const answer = await app.request("/limited-by-origin");
    expect(fieldsOf(answer).states).toMatchObject({ theirs: { r: 5 }, all: {} });
    expect(answer.headers.get("X-RateLimit-Remaining")).toBe("3");
  });
});

describe("of several on one request", () => {
  const stacked = (outer: number, inner: number) => {
    const app = new Hono();
    app.use(rateLimit(limiterOf(policy("outer", outer))));
    app.get("/", rateLimit(limiterOf(policy("inner", inner))), (c) => c.json(c.get("rateLimit")?.limits[0]?.limit.id));
    return app;
  };

  it.each([
    [9, 2, "inner"],
    [2, 9, "outer"],
  ])(
    "%i outside and %i inside: all are listed, the X- fields and c.get are the tighter one's",
    async (outer, inner, tighter) => {
      const answer = await stacked(outer, inner).request("/");
      expect(await answer.json()).toBe(tighter);
      const { policies, states, legacy } = fieldsOf(answer);
      expect(policies).toEqual({ inner: { q: inner, w: 3600 }, outer: { q: outer, w: 3600 } });
      expect(states).toMatchObject({ inner: { r: inner - 1 }, outer: { r: outer - 1 } });
      expect(legacy).toMatchObject({ limit: 2, remaining: 1 });
    },
  );

  it.each([
    [9, 2, "inner"],
    [2, 9, "outer"],
  ])("%i outside and %i inside: the tighter one refuses the third of three at once", async (outer, inner, tighter) => {
    const app = stacked(outer, inner);
    const answers = await Promise.all([1, 2, 3].map(() => app.request("/")));
    // The order of the three requests is not fixed.
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(await refused.json()).toMatchObject({ "violated-policies": [tighter] });
  });
});

describe("a refusal", () => {
  it("has the headers of middleware before it, CORS for example", async () => {
    const app = new Hono();
    app.use(cors({ origin: "https://page.example", exposeHeaders: ["X-Total"] }));
    app.use(rateLimit(limiterOf(policy("none", 1))));
    app.get("/", (c) => c.text("ok"));
    const ask = () => app.request("/", { headers: { Origin: "https://page.example" } });
    for (const status of [200, 429]) {
      const answer = await ask();
      expect(answer.status).toBe(status);
      expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("https://page.example");
      const exposed = answer.headers.get("Access-Control-Expose-Headers")!.split(/, ?/);
      expect(exposed).toEqual(expect.arrayContaining(["X-Total", "RateLimit"]));
    }
  });

  const PAGE = "https://page.example";
  const STRANGER = "https://stranger.example";
  const CORS = { origin: PAGE, credentials: true };

  /** The CORS headers of the app's second answer, which is a refusal. */
  async function refusalTo(app: Hono, origin: string) {
    const ask = () => app.request("/", { headers: { Origin: origin } });
    await ask();
    const refused = await ask();
    expect(refused.status).toBe(429);
    return {
      origin: refused.headers.get("Access-Control-Allow-Origin"),
      credentials: refused.headers.get("Access-Control-Allow-Credentials"),
      vary: refused.headers.get("Vary")?.split(", ") ?? [],
    };
  }

  it.each<[string, string, () => Hono, { origin: string | null; credentials: string | null }]>([
    ["the page that cors() allowed", PAGE, () => new Hono().use(cors(CORS)), { origin: PAGE, credentials: "true" }],
    ["no page that cors() rejected", STRANGER, () => new Hono().use(cors(CORS)), { origin: null, credentials: "true" }],
    ["any page after cors() for any", STRANGER, () => new Hono().use(cors()), { origin: "*", credentials: null }],
    ["no page without cors()", PAGE, () => new Hono(), { origin: null, credentials: null }],
  ])("is for %s", async (_whom, origin, appWith, expected) => {
    const app = appWith();
    app.use(rateLimit(limiterOf(policy("one", 1))));
    app.get("/", (c) => c.text("ok"));
    expect(await refusalTo(app, origin)).toMatchObject(expected);
  });

  it("is for no page if cors() comes after it, because cors() did not run", async () => {
    const app = new Hono();
    app.use(rateLimit(limiterOf(policy("one", 1))));
    app.use(cors(CORS));
    app.get("/", (c) => c.text("ok"));
    for (const origin of [PAGE, STRANGER]) expect(await refusalTo(app, origin)).toMatchObject({ origin: null });
  });

  it("is for the page that the cors() of its route allowed", async () => {
    const app = new Hono();
    app.get("/", cors(CORS), rateLimit(limiterOf(policy("one", 1))), (c) => c.text("ok"));
    const allowed = await refusalTo(app, PAGE);
    expect(allowed).toMatchObject({ origin: PAGE, credentials: "true" });
    expect(allowed.vary).toContain("Origin");
    expect(await refusalTo(app, STRANGER)).toMatchObject({ origin: null });
  });

  it("is for the page that middleware around it allows afterwards, and for no other", async () => {
    const app = new Hono();
    app.use(async (c, next) => {
      await next();
      if (c.req.header("Origin") === PAGE) c.header("Access-Control-Allow-Origin", PAGE);
    });
    app.use(rateLimit(limiterOf(policy("one", 1))));
    app.get("/", (c) => c.text("ok"));
    expect(await refusalTo(app, PAGE)).toMatchObject({ origin: PAGE });
    expect(await refusalTo(app, STRANGER)).toMatchObject({ origin: null });
  });

  const OF_THE_ANSWER = {
    "Cache-Control": "public, max-age=3600",
    "CDN-Cache-Control": "max-age=3600",
    "Cloudflare-CDN-Cache-Control": "max-age=3600",
    "Surrogate-Control": "max-age=3600",
    ETag: '"v1"',
    "Last-Modified": "Sat, 21 Nov 2026 00:00:00 GMT",
    Expires: "Sun, 22 Nov 2026 00:00:00 GMT",
    Age: "5",
    "Content-Encoding": "gzip",
    "Content-Length": "3",
    "Content-Disposition": "attachment",
    "Content-Language": "de",
    "Content-Location": "/v1",
    "Content-Range": "bytes 0-2/3",
    "Accept-Ranges": "bytes",
    "Repr-Digest": "sha-256=:AAAA:",
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
    ["one by itself", { response: () => new Response("slow down", { status: 409 }) }, 409, "slow down"],
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

  it("keeps what its own response says of its body, also that it is encoded", async () => {
    const body = new Response("slow down").body!.pipeThrough(new CompressionStream("gzip"));
    const app = busyApp({ response: () => new Response(body, { headers: { "Content-Encoding": "br" } }) });
    await app.request("/");
    expect((await app.request("/")).headers.get("Content-Encoding")).toBe("br");
  });

  it("answered by the app without Retry-After, gets one all the same; the app's own Retry-After stays", async () => {
    const answered = async (response: () => Response) => {
      const app = new Hono();
      app.use(rateLimit(limiterOf(policy("one", 1)), { response }));
      app.get("/", (c) => c.text("ok"));
      await app.request("/");
      return await app.request("/", { headers: { Origin: PAGE } });
    };
    const silent = await answered(() => new Response("slow down", { status: 429 }));
    expect(fieldsOf(silent).retryAfter).toBeGreaterThan(0);
    expect(silent.headers.get("Access-Control-Expose-Headers")).toContain("Retry-After");
    const own = await answered(() => new Response("slow down", { status: 429, headers: { "Retry-After": "7" } }));
    expect(fieldsOf(own).retryAfter).toBe(7);
    for (const name of ["retry-after-ms", "X-Should-Retry"]) expect(own.headers.has(name)).toBe(false);
  });

  it("can be answered by the app, with the fields", async () => {
    const app = new Hono();
    const response = vi.fn((decision, c, standard: Response) =>
      c.text(`no: ${decision.retryAfterMs > 0}`, 420, { "Retry-After": standard.headers.get("Retry-After") }),
    );
    app.use(rateLimit(limiterOf(policy("one", 1)), { response }));
    app.get("/", (c) => c.text("ok"));
    await app.request("/");
    const answer = await app.request("/");
    expect([answer.status, await answer.text()]).toEqual([420, "no: true"]);
    expect(fieldsOf(answer)).toMatchObject({ states: { one: { r: 0 } }, retryAfter: expect.any(Number) });
    expect(response).toHaveBeenCalledTimes(1);
  });

  it("names the same wait in all fields, however long the app takes for its answer", async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10, 10), toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const app = new Hono();
    const response = async (_: unknown, _c: unknown, standard: Response) => {
      vi.setSystemTime(Date.now() + 2_500);
      return standard;
    };
    const log = { ...policy("one", 1), limits: [{ algorithm: "sliding-log", limit: 1, window: "1h" } as const] };
    app.use(rateLimit(limiterOf(log), { response }));
    app.get("/", (c) => c.text("ok"));
    await app.request("/");
    const answer = fieldsOf(await app.request("/"));
    expect(answer).toMatchObject({ states: { one: { r: 0, t: 3_600 } }, retryAfter: 3_600 });
    expect(answer.legacy?.resetAt).toBe(Date.UTC(2026, 10, 22, 11, 10) / 1_000);
  });
});

describe("options", () => {
  it("key: the app's, or the policy's if the app gives none", async () => {
    const app = new Hono<{ Variables: { user: string } }>();
    app.use(
      rateLimit<{ Variables: { user: string } }>(limiterOf(policy("one", 1)), { key: (c) => c.req.header("X-User") }),
    );
    app.get("/", (c) => c.text("ok"));
    const statuses: number[] = [];
    for (const user of ["ann", "ann", "bob", "", ""]) {
      statuses.push((await app.request("/", { headers: { "X-User": user } })).status);
    }
    expect(statuses).toEqual([200, 429, 200, 200, 429]);
  });

  it("key: the same count as by hand", async () => {
    const limiter = limiterOf(policy("two", 2));
    const app = new Hono();
    app.use(rateLimit(limiter, { key: () => "ann" }));
    app.get("/", (c) => c.text("ok"));
    await limiter.take("two", { key: "ann" });
    expect(fieldsOf(await app.request("/")).states).toMatchObject({ two: { r: 0 } });
  });

  const post = { method: "POST", body: '{"n":3}', headers: { "Content-Type": "application/json" } };

  it.each<[string, (c: { req: { json(): Promise<{ n: number }>; raw: Request } }) => Promise<unknown>]>([
    ["c.req", (c) => c.req.json()],
    ["c.req.raw", (c) => c.req.raw.json()],
    ["c.req.raw, sent on", (c) => new Request("https://origin.example/", c.req.raw).json()],
  ])("cost: may read the body, which the handler reads again by %s", async (_how, read) => {
    const app = new Hono();
    app.use(rateLimit(limiterOf(policy("ten", 10)), { cost: async (c) => (await c.req.json()).n }));
    app.post("/", async (c) => c.json(await read(c)));
    const answer = await app.request("/", post);
    expect(await answer.json()).toEqual({ n: 3 });
    expect(fieldsOf(answer).states).toMatchObject({ ten: { r: 7 } });
  });

  it("cost: a number; any other value is an error that charges nothing", async () => {
    const limiter = limiterOf(policy("ten", 10));
    const app = new Hono();
    app.use("/four", rateLimit(limiter, { cost: 4 }));
    app.use("/nan", rateLimit(limiter, { cost: () => Number.NaN }));
    app.get("*", (c) => c.text("ok"));
    app.onError((error, c) => c.text(error.name, 500));
    expect(await (await app.request("/nan")).text()).toBe("TypeError");
    expect(fieldsOf(await app.request("/four")).states).toMatchObject({ ten: { r: 6 } });
    expect(() => rateLimit(limiter, { cost: 1.5 })).toThrow(TypeError);
  });

  it("plan and limits: the client's numbers, in the fields, refusals and decisions", async () => {
    const planned = { ...policy("ten", 2), plan: "header:x-tier", plans: { pro: { ten: 3 }, team: { ten: 4 } } };
    const app = new Hono();
    app.use(
      rateLimit(limiterOf(planned), {
        plan: async (c) => c.req.query("plan"),
        limits: (c) => (c.req.query("limit") ? { ten: Number(c.req.query("limit")) } : undefined),
      }),
    );
    app.get("/", (c) => c.text(String(c.get("rateLimit")!.limits[0]!.limit.limit)));
    app.onError((error, c) => c.text(`${error}`, 500));
    const ask = async (query: string, headers = {}) => {
      const answer = await app.request(`/?${query}`, { headers });
      return [answer.status, fieldsOf(answer).policies?.ten?.q, fieldsOf(answer).legacy?.limit, await answer.text()];
    };
    expect(await ask("")).toEqual([200, 2, 2, "2"]);
    expect(await ask("plan=pro")).toEqual([200, 3, 3, "3"]);
    expect(await ask("plan=pro&limit=5")).toEqual([200, 5, 5, "5"]);
    // The program says nothing: the policy's own source does. The program comes first.
    expect(await ask("", { "X-Tier": "team" })).toEqual([200, 4, 4, "4"]);
    expect(await ask("plan=gold", { "X-Tier": "team" })).toEqual([
      429,
      2,
      2,
      expect.stringContaining("ten (2 per 1h)"),
    ]);
    expect(await ask("limit=0.5")).toEqual([500, undefined, undefined, expect.stringContaining("an integer from 1")]);
  });

  it("plan and limits: may read the body, which the handler reads again", async () => {
    const app = new Hono();
    const read = async (c: Context) => (await c.req.json<{ n: number }>()).n;
    const options = {
      plan: async (c: Context) => `p${await read(c)}`,
      limits: async (c: Context) => ({ ten: await read(c) }),
    };
    app.use(rateLimit(limiterOf(policy("ten", 10)), options));
    app.post("/", async (c) => c.json(await c.req.raw.json()));
    const answer = await app.request("/", post);
    expect(await answer.json()).toEqual({ n: 3 });
    expect(fieldsOf(answer).policies).toMatchObject({ ten: { q: 3 } });
  });

  it("property: each decision under a name of its own, with its type", async () => {
    const app = new Hono<{ Bindings: { SECRET: string } }>()
      .use(rateLimit(limiterOf(policy("site", 10)), { property: "siteLimit" }))
      .get("/", rateLimit(limiterOf(policy("page", 5)), { property: "pageLimit" }), (c) => {
        const left: (number | undefined)[] = [c.get("siteLimit")?.remaining, c.var.pageLimit?.remaining];
        // @ts-expect-error: no middleware has this name
        const none = c.var.otherLimit;
        return c.json([...left, c.get("rateLimit") ?? none ?? "none"]);
      });
    expect(await (await app.request("/")).json()).toEqual([9, 4, "none"]);
    for (const property of ["", 1]) {
      expect(() => rateLimit(limiterOf(policy("one", 1)), { property: property as string })).toThrow(TypeError);
    }
  });

  it("skip: goes on without a charge and without fields", async () => {
    const limiter = limiterOf(policy("one", 1));
    const app = new Hono();
    app.use(rateLimit(limiter, { skip: (c) => c.req.path === "/health" }));
    app.get("*", (c) => c.text("ok"));
    for (let i = 0; i < 3; i++) expect((await app.request("/health")).headers.has("RateLimit")).toBe(false);
    expect((await app.request("/")).status).toBe(200);
  });

  it("rateLimitHeaders and the limiter are checked when it is made", () => {
    expect(() => rateLimit(limiterOf(policy("one", 1)), { rateLimitHeaders: "all" as never })).toThrow(TypeError);
    expect(() => rateLimit(undefined as never)).toThrow(TypeError);
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

  it("and requests that run when a text changes give their slots back to the limiter that they began with", async () => {
    const limit = { algorithm: "concurrency", limit: 1, timeout: "1h" } as const;
    const make = vi.fn((_env: object) => limiterOf({ name: "slots", key: "global", limits: [limit] }));
    const ends: (() => void)[] = [];
    const app = new Hono().use(rateLimit(make));
    app.get("/", (c) => c.text("ok"));
    app.get("/slow", async (c) => {
      await new Promise<void>((resolve) => ends.push(resolve));
      return c.text("ok");
    });
    const context = { waitUntil() {}, passThroughOnException() {}, props: {} };
    const ask = (A: string, path = "/") => app.request(path, {}, { A }, context);
    const slow = ask("old", "/slow");
    await vi.waitFor(() => expect(ends).toHaveLength(1));
    const newer = await ask("new");
    expect([newer.status, await newer.text(), (await ask("old")).status]).toEqual([200, "ok", 429]);
    ends[0]!();
    expect(await (await slow).text()).toBe("ok");
    await vi.waitFor(async () => expect((await ask("old")).status).toBe(200));
    expect(make).toHaveBeenCalledTimes(2);
  });

  it("and two functions over one env share the breaker of their store", async () => {
    const asked = vi.spyOn(globalThis, "fetch").mockRejectedValue(new Error("away"));
    onTestFinished(() => asked.mockRestore());
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const env = { UPSTASH_REDIS_REST_URL: "https://away.example", UPSTASH_REDIS_REST_TOKEN: "token" };
    const limited = (name: string) =>
      rateLimit((bindings) => createLimiter({ policies: [policy(name, 1_000)], store: storeFromEnv(bindings) }));
    const app = new Hono().get("/a", limited("a")).get("/b", limited("b"));
    app.get("*", (c) => c.text(c.get("rateLimit")!.source));
    const ask = async (path: string) => await (await app.request(path, {}, { ...env, event: {} })).text();
    for (let n = 0; n < 30; n++) expect(await ask("/a")).toBe("fallback");
    const before = asked.mock.calls.length;
    expect(await ask("/b")).toBe("fallback");
    expect([before < 30, asked.mock.calls.length - before]).toEqual([true, 0]);
  });
});

describe("on Node, where each request has a c.env of its own", () => {
  async function statusesOnNode(app: Hono) {
    // `serve` replaces these two for the whole process.
    const { Request, Response } = globalThis;
    const server = serve({ fetch: app.fetch, port: 0 });
    onTestFinished(() => {
      server.close();
      Object.defineProperty(globalThis, "Request", { value: Request });
      Object.defineProperty(globalThis, "Response", { value: Response });
    });
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const statuses: number[] = [];
    for (let n = 0; n < 3; n++) statuses.push((await fetch(`http://localhost:${port}/`)).status);
    return statuses;
  }

  it("a function makes one limiter, from the variables of the process", async () => {
    const make = vi.fn((_env: object) => limiterOf(policy("two", 2)));
    const app = new Hono().use(rateLimit(make)).get("/", (c) => c.text("ok"));
    expect(await statusesOnNode(app)).toEqual([200, 200, 429]);
    expect(make.mock.calls.map(([env]) => env === process.env)).toEqual([true]);
  });

  it("a limiter that was made before holds its limit, for the address of the connection", async () => {
    const addresses: unknown[] = [];
    const key = (c: Context) => {
      const { address } = getConnInfo(c).remote;
      addresses.push(address);
      return address;
    };
    const limiter = limiterOf({ ...policy("two", 2), key: "ip" });
    const app = new Hono().use(rateLimit(limiter, { key })).get("/", (c) => c.text("ok"));
    expect(await statusesOnNode(app)).toEqual([200, 200, 429]);
    expect(addresses).toEqual(Array(3).fill(expect.stringMatching(/^(::1|(::ffff:)?127\.0\.0\.1)$/)));
  });

  it("a binding of that name, also of a service with every property, is no sign of Node", async () => {
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

it("answers under `shared` while the store does not, and tells it in the background of the request", async () => {
  const central = memoryStore();
  const told: number[] = [];
  const asked = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const far = remoteStore(
    {
      ...central,
      kind: "far",
      async take(request) {
        asked.resolve();
        await reached.promise;
        told.push(...request.keys.map(({ cost }) => cost));
        return central.take(request);
      },
    },
    { timeoutMs: 10_000 },
  );
  const app = new Hono();
  app.use(rateLimit(createLimiter({ policies: [{ ...policy("all", 2), consistency: "shared" }], store: far })));
  app.get("/", (c) => c.text("hello"));
  const works: Promise<unknown>[] = [];
  const context = {
    waitUntil: (work: Promise<unknown>) => void works.push(work),
    passThroughOnException() {},
    props: {},
  };
  const answers: Response[] = [];
  for (let i = 0; i < 3; i++) {
    answers.push(await app.request("/", {}, {}, context));
    // The first unit is told alone, in the next turn.
    await asked.promise;
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(Number(answers[2]!.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
  expect(told).toEqual([]);
  reached.resolve();
  // In real time: the second unit is told after `sync`, 1 s, by a timer of the request.
  await Promise.all(works);
  expect(told).toEqual([1, 1]);
});
