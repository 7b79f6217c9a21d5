// The package as it would be published: packed, unpacked elsewhere, and every example run in workerd on a real Redis.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { convertV4MiniflareOptions, Miniflare, type V4MiniflareOptions } from "miniflare";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { blocksOf, GUIDES } from "../docs/markdown.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { EXAMPLES, type Example, type Packed, packAndInstall } from "../support/redis/packed.ts";

type V4Worker = NonNullable<Extract<V4MiniflareOptions, { workers: unknown }>["workers"]>[number];
type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

let packed: Packed;
beforeAll(() => {
  packed = packAndInstall();
  // Building takes seconds on a busy machine.
}, 60_000);
afterAll(() => packed?.remove());

/** Runs these Workers. Requests go to the first one, from a client address that no other test has. */
async function start(...workers: V4Worker[]): Promise<Fetch> {
  const miniflare = new Miniflare(convertV4MiniflareOptions({ workers }));
  onTestFinished(() => miniflare.dispose());
  const url = await miniflare.ready;
  const address = `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`;
  return (path, { headers, ...init } = {}) => {
    const all = new Headers(headers);
    all.set("CF-Connecting-IP", address);
    return fetch(new URL(path, url), { ...init, headers: all });
  };
}

function worker(name: string, script: string, options: object = {}): V4Worker {
  const { compatibility_date, compatibility_flags } = wranglerOf("fetch-handler");
  return {
    name,
    modules: [{ type: "ESModule", path: `${name}.js`, contents: script }],
    compatibilityDate: compatibility_date,
    compatibilityFlags: compatibility_flags,
    ...options,
  } as V4Worker;
}

interface Wrangler {
  readonly compatibility_date: string;
  readonly compatibility_flags: string[];
  readonly vars?: Record<string, unknown>;
}

function wranglerOf(example: Example): Wrangler {
  const path = fileURLToPath(new URL(`../../examples/${example}/wrangler.toml`, import.meta.url));
  return parse(readFileSync(path, "utf8")) as unknown as Wrangler;
}

/** An example with the variables of its wrangler.toml, on the Redis of the tests. */
async function example(name: Example, bindings: object = {}, options: object = {}): Promise<V4Worker> {
  const redis = { UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") };
  const all = { ...wranglerOf(name).vars, ...redis, REDIS_TIMEOUT_MS: 10_000, ...bindings };
  return worker(name, await packed.bundle(name), { bindings: all, ...options });
}

const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status).sort();
const threeOf = (ask: () => Promise<Response>) => Promise.all([ask(), ask(), ask()]);

describe("of three at once under a limit of two, one is refused", () => {
  it("by withRateLimit", async () => {
    const fetch = await start(await example("fetch-handler"));
    const answers = await threeOf(() => fetch("/"));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    const refused = answers.find(({ status }) => status === 429)!;
    expect(fieldsOf(refused)).toMatchObject({ states: { hello: { r: 0 } }, retryAfter: expect.any(Number) });
    expect(await refused.json()).toMatchObject({ "violated-policies": ["hello"] });
  });

  it("by the Hono middleware, of two on one route", async () => {
    const fetch = await start(await example("hono-middleware"));
    const answers = await threeOf(() => fetch("/login", { method: "POST" }));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    for (const answer of answers) {
      const { policies, states, legacy } = fieldsOf(answer);
      expect(policies).toEqual({ login: { q: 2, w: 60 }, site: { q: 100, w: 60 } });
      expect(states).toMatchObject({ login: {}, site: {} });
      // The X- fields describe the tighter limit.
      expect(legacy).toMatchObject({ limit: 2, remaining: states!.login!.r });
    }
    const left = await Promise.all(answers.filter(({ ok }) => ok).map((answer) => answer.json()));
    expect(left.map((body) => (body as { left: number }).left).sort()).toEqual([0, 1]);
    expect(fieldsOf(await fetch("/")).states).toMatchObject({ site: { r: 96 } });
  });

  it("by the gateway", async () => {
    const fetch = await start(await example("gateway"));
    const answers = await threeOf(() => fetch("/v1/items"));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    expect((await fetch("/elsewhere")).headers.has("RateLimit")).toBe(false);
  });

  it("by RPC to a gateway", async () => {
    const gateway = await example("gateway");
    const binding = { HEADGATE: { name: "gateway", entrypoint: "RateLimitService" } };
    const caller = await example("service-binding", {}, { serviceBindings: binding });
    const fetch = await start(caller, gateway);
    const headers = { "X-User": uniqueName("ann") };
    const answers = await threeOf(() => fetch("/", { headers }));
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    expect(Number(answers.find(({ status }) => status === 429)!.headers.get("Retry-After"))).toBeGreaterThan(0);
  });

  it("by the cost that its body says", async () => {
    const seen: string[] = [];
    const openai = async (request: { text(): Promise<string> }) => {
      seen.push(await request.text());
      return new globalThis.Response("{}", { headers: { "X-Request-Id": "7" } });
    };
    // The Worker's fetches go to the origin above, except those to the Redis bridge.
    const outboundService = async (request: Request) =>
      request.url.startsWith(inject("restUrl"))
        ? await globalThis.fetch(request.url, {
            method: "POST",
            headers: [...request.headers],
            body: await request.text(),
          })
        : await openai(request);
    const fetch = await start(await example("openai-proxy", {}, { outboundService }));
    const body = JSON.stringify({ messages: [{ content: "x".repeat(2_000) }], max_tokens: 4_000 });
    const ask = (init: RequestInit = {}) => {
      const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
      return fetch("/v1/chat/completions", { method: "POST", headers, body, ...init });
    };
    const token = uniqueName("token");

    const answers = await threeOf(ask);
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    expect(seen).toEqual([body, body]);
    const admitted = answers.find(({ status }) => status === 200)!;
    expect(admitted.headers.get("X-Request-Id")).toBe("7");
    expect(Object.keys(fieldsOf(admitted).states!)).toEqual(["tokens", "tokens-address"]);

    const huge = await ask({ body: "x".repeat(1_000_001) });
    expect([huge.status, await huge.json()]).toMatchObject([429, { retry: "never" }]);
  });
});

it("a limiter at module scope works in workerd, and counts for the whole isolate", async () => {
  const script = await packed.bundleText(`
    import { createLimiter, memoryStore, redisStore, withRateLimit } from "headgate";
    import { rateLimit } from "headgate/hono";
    const policies = [{ name: "two", key: "global", limits: [{ limit: 2, window: "1h" }] }];
    rateLimit(createLimiter({ policies, store: redisStore({ url: "https://redis.example", token: "unused" }) }));
    export default withRateLimit(() => new Response("ok"), createLimiter({ policies, store: memoryStore() }));
  `);
  const fetch = await start(worker("module-scope", script));
  expect(statusesOf(await threeOf(() => fetch("/")))).toEqual([200, 200, 429]);
});

it("a thousand requests create one limiter", async () => {
  const script = await packed.bundleText(`
    import { createLimiter, memoryStore, withRateLimit } from "headgate";
    import { rateLimit } from "headgate/hono";
    import { Hono } from "hono";
    let made = 0;
    const limiter = (env) => {
      made++;
      return createLimiter({ policies: env.POLICIES, store: memoryStore() });
    };
    const app = new Hono();
    app.use(rateLimit(limiter));
    app.get("*", (c) => c.json(made));
    export default withRateLimit(app, limiter);
  `);
  const POLICIES = [{ name: "all", limits: [{ limit: 10_000, window: "1h" }] }];
  const fetch = await start(worker("thousand", script, { bindings: { POLICIES } }));
  let last: Response | undefined;
  for (let i = 0; i < 20; i++) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => fetch("/")));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    last = answers[0];
  }
  // One from the wrapper, one from the middleware.
  expect(await last!.json()).toBe(2);
  expect(last!.headers.get("RateLimit")).toMatch(/"all";r=90\d\d.*"all";r=90\d\d/);
});

it("all examples and the blocks of the guides are well typed under strict, libraries included", () => {
  for (const [i, { text }] of GUIDES.flatMap((page) => blocksOf(page, "ts")).entries()) {
    const folder = join(packed.directory, `examples/block-${i}/src`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "index.ts"), text);
  }
  expect(packed.check()).toBe("");
  expect(EXAMPLES).toHaveLength(5);
});
