// Three ways in: the gateway, withRateLimit and headgate/hono give the same answers, with any handler behind them.

import { createExecutionContext } from "cloudflare:test";
import { Hono } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { createGateway } from "../../src/gateway.ts";
import { memoryStore, type PolicyInput, redisStore, withRateLimit } from "../../src/index.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { createLimiter } from "../support/limiter.ts";
import { DEAD_REDIS, NO_REDIS, redisBindings, uniqueName } from "./support.ts";

type Handler = (request: Request) => Response | Promise<Response>;
type Fetch = (request: Request, env: object, ctx: ExecutionContext) => Response | Promise<Response>;
interface Setup {
  readonly policies: readonly PolicyInput[];
  readonly handler: Handler;
  /** Default: false, the memory store. */
  readonly isRedisAway?: boolean | undefined;
}

const storeOf = ({ isRedisAway }: Setup) =>
  isRedisAway
    ? redisStore({ url: DEAD_REDIS.UPSTASH_REDIS_REST_URL, token: DEAD_REDIS.UPSTASH_REDIS_REST_TOKEN })
    : memoryStore();
const limiterOf = (setup: Setup) => createLimiter({ policies: setup.policies, store: storeOf(setup) });

const WAYS: [string, (setup: Setup) => Fetch][] = [
  [
    "the gateway",
    ({ policies, handler, isRedisAway }) => {
      const store = isRedisAway ? DEAD_REDIS : NO_REDIS;
      const bindings = { ...redisBindings(), ...store, POLICIES: policies, ORIGIN: { fetch: handler } };
      return createGateway(bindings).fetch as Fetch;
    },
  ],
  ["withRateLimit", (setup) => withRateLimit(setup.handler as never, limiterOf(setup)).fetch as never],
  [
    "headgate/hono",
    (setup) => {
      const app = new Hono();
      app.use(rateLimit(limiterOf(setup)));
      app.all("*", (c) => setup.handler(c.req.raw));
      return app.fetch as Fetch;
    },
  ],
];

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const name = uniqueName("ways");
const one = (limit: number, more: Partial<PolicyInput> = {}) =>
  ({ name, key: "global", limits: [{ limit, window: "1h" }], ...more }) as PolicyInput;
const slot = one(1, { limits: [{ algorithm: "concurrency", limit: 1 }] });

describe.each(WAYS)("%s", (_way, make) => {
  /** Asks, and lists the requests that reached the handler. */
  function start(
    policies: readonly PolicyInput[],
    { handler = () => new Response("ok"), isRedisAway }: Partial<Setup> = {},
  ) {
    vi.spyOn(console, "log").mockImplementation(() => {});
    vi.spyOn(console, "error").mockImplementation(() => {});
    const handled: Request[] = [];
    const fetch = make({
      policies,
      isRedisAway,
      handler: (request) => {
        handled.push(request);
        return handler(request);
      },
    });
    const ask = async (init?: RequestInit, path = "/") =>
      await fetch(new Request(`https://ways.example${path}`, init as never), {}, createExecutionContext());
    return { ask, handled };
  }

  it("refuses with a problem that nobody may store, and HEAD without a body", async () => {
    const { ask, handled } = start([one(1)]);
    expect(fieldsOf(await ask()).states).toMatchObject({ [name]: { r: 0 } });
    const [get, head] = [await ask(), await ask({ method: "HEAD" })];
    for (const refused of [get, head]) {
      expect([refused.status, refused.headers.get("Cache-Control")]).toEqual([429, "no-store"]);
      expect(fieldsOf(refused)).toMatchObject({
        retryAfter: expect.any(Number),
        states: { [name]: { r: 0 } },
        legacy: { remaining: 0 },
      });
    }
    expect(await get.json()).toMatchObject({ status: 429, "violated-policies": [name] });
    expect(await head.text()).toBe("");
    expect(handled).toHaveLength(1);
  });

  it("says at which second there is more, in seconds from now and as an instant, neither before it nor late", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    // 0.7 s before the hour ends. Rounding twice would tell 2 s.
    vi.setSystemTime(3_600_000 * Math.ceil(Date.now() / 3_600_000) + 3_599_300);
    const { ask } = start([one(1, { limits: [{ algorithm: "fixed-window", limit: 1, window: "1h" }] })]);
    await ask();
    const refused = await ask();
    const { retryAfter, legacy } = fieldsOf(refused);
    expect([retryAfter, legacy!.resetAt]).toEqual([1, (Date.now() + 700) / 1000]);
    expect(refused.headers.get("retry-after-ms")).toBe("700");
    expect(refused.headers.has("X-Should-Retry")).toBe(false);
  });

  it.each([
    ["60s", null],
    ["61s", "false"],
  ] as const)("tells SDKs not to wait for longer than 60 s: %s", async (window, shouldRetry) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { ask } = start([one(1, { limits: [{ algorithm: "sliding-log", limit: 1, window }] })]);
    await ask();
    const refused = await ask({ headers: { Origin: "https://page.example" } });
    expect(refused.headers.get("X-Should-Retry")).toBe(shouldRetry);
    expect(refused.headers.get("retry-after-ms")).toBe(`${window.slice(0, -1)}000`);
    // An app decides with its own middleware which pages may read its answers, but names our fields all the same.
    const exposed = refused.headers.get("Access-Control-Expose-Headers")!.split(", ");
    expect(exposed).toEqual(expect.arrayContaining(["Retry-After", "retry-after-ms"]));
    expect(exposed.includes("X-Should-Retry")).toBe(shouldRetry !== null);
  });

  it("counts preflights apart from other requests, by a count that no header shows, and as another OPTIONS with a body", async () => {
    const { ask, handled } = start([one(2, { consistency: "leased" })]);
    const headers = { Origin: "https://page.example", "Access-Control-Request-Method": "PUT" };
    const preflights = [];
    for (let i = 0; i < 4; i++) preflights.push(await ask({ method: "OPTIONS", headers }));
    expect(preflights.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
    expect(preflights.map(fieldsOf)).toEqual([{}, {}, ...[1, 2].map(() => ({ retryAfter: expect.any(Number) }))]);
    expect(fieldsOf(await ask({ method: "OPTIONS" })).states).toMatchObject({ [name]: { r: 1 } });
    expect(fieldsOf(await ask({ method: "OPTIONS", headers, body: "x" })).states).toMatchObject({ [name]: { r: 0 } });
    expect((await ask({ method: "OPTIONS" })).status).toBe(429);
    expect(handled).toHaveLength(4);
  });

  it("hands on what it has counted of a parameter that comes twice, with all that Cloudflare says", async () => {
    vi.spyOn(console, "warn").mockImplementation(() => {});
    const { ask, handled } = start([one(1, { key: "query:user" })]);
    const init = { cf: { colo: "FRA" }, method: "POST", body: "hello" } as RequestInit;
    expect((await ask(init, "/?user=ann&user=1")).status).toBe(200);
    expect((await ask(init, "/?user=ann&user=2")).status).toBe(429);
    const [request] = handled;
    expect([request!.url, request!.method, request!.cf]).toEqual([
      "https://ways.example/?user=ann",
      "POST",
      { colo: "FRA" },
    ]);
    expect(await request!.text()).toBe("hello");
  });

  it("leaves what no policy matches as it is", async () => {
    const { ask } = start([one(1, { match: { path: "/v1/*" } })]);
    for (let i = 0; i < 3; i++) {
      const answer = await ask();
      expect([answer.status, fieldsOf(answer)]).toEqual([200, {}]);
    }
  });

  it("keeps the fields of a limiter behind it, and adds its own", async () => {
    const theirs = { RateLimit: '"theirs";r=5', "RateLimit-Policy": '"theirs";q=9;w=1', "X-RateLimit-Remaining": "0" };
    const { ask } = start([one(9)], { handler: () => new Response("ok", { headers: theirs }) });
    const answer = await ask();
    expect(Object.keys(fieldsOf({ headers: withoutLegacy(answer.headers) }).states!)).toEqual(["theirs", name]);
    expect(answer.headers.get("X-RateLimit-Remaining")).toBe("0");
  });

  it("never refuses by a policy in shadow, and never shows it", async () => {
    const shadow = { ...one(1), name: `${name}-tried`, mode: "shadow" } as const;
    const { ask } = start([shadow, one(3)]);
    for (let i = 0; i < 3; i++) {
      const answer = await ask();
      expect(answer.status).toBe(200);
      expect(JSON.stringify([...answer.headers])).not.toContain("tried");
    }
    const refused = await ask();
    expect(refused.status).toBe(429);
    expect(JSON.stringify([...refused.headers, await refused.text()])).not.toContain("tried");
  });

  describe("of a leaky bucket", () => {
    const leaky = one(1, {
      limits: [{ algorithm: "leaky-bucket", limit: 1, window: "1m", burst: 1, maxDelay: "1m" }],
    });

    it("holds a request until its time", async () => {
      vi.useFakeTimers();
      const { ask, handled } = start([leaky]);
      const answers = [ask(), ask()];
      await vi.advanceTimersByTimeAsync(59_999);
      expect(handled).toHaveLength(1);
      // A timer may fire a millisecond early: the wait is a millisecond longer.
      await vi.advanceTimersByTimeAsync(2);
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 200]);
      expect(handled).toHaveLength(2);
    });

    it("does not hand on a held request whose client has gone away", async () => {
      vi.useFakeTimers();
      const { ask, handled } = start([leaky]);
      await ask();
      const client = new AbortController();
      const held = ask({ signal: client.signal });
      await vi.advanceTimersByTimeAsync(1_000);
      client.abort();
      expect((await held).status).toBe(499);
      expect(handled).toHaveLength(1);
    });
  });

  it("does not hand on a request whose client went away during the decision", async () => {
    const { ask, handled } = start([one(5)]);
    const client = new AbortController();
    const answer = ask({ signal: client.signal });
    client.abort();
    expect((await answer).status).toBe(499);
    expect(handled).toHaveLength(0);
    expect(fieldsOf(await ask()).states).toMatchObject({ [name]: { r: 3 } });
  });

  describe("holds a slot", () => {
    it("until the body of the answer has ended", async () => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      const bodies: BodyInit[] = [readable];
      const { ask } = start([slot], { handler: () => new Response(bodies.shift() ?? null) });
      const first = await ask();
      expect(fieldsOf(await ask())).toMatchObject({ retryAfter: 1, states: { [name]: { r: 0 } } });
      const read = first.text();
      await writable.close();
      await read;
      await expect.poll(async () => (await ask()).status).toBe(200);
    });

    it("until the handler has failed", async () => {
      const failing = () => {
        throw new Error("handler");
      };
      const { ask, handled } = start([slot], { handler: failing });
      const askAndRead = async () => {
        const answer = await ask().catch(() => new Response(null, { status: 500 }));
        await answer.text();
        return answer.status;
      };
      for (let i = 1; i <= 3; i++) await expect.poll(askAndRead).toBeOneOf([500, 502]);
      expect(handled).toHaveLength(3);
    });
  });

  describe("while Redis is away", () => {
    it("answers 503 by `deny`, with a wait and without numbers, and does not hand the request on", async () => {
      const { ask, handled } = start([one(5, { onStoreFailure: "deny" })], { isRedisAway: true });
      const answer = await ask();
      expect([answer.status, answer.headers.get("Cache-Control")]).toEqual([503, "no-store"]);
      expect(fieldsOf(answer)).toEqual({ retryAfter: 1 });
      expect(await answer.json()).toMatchObject({ status: 503, title: "Temporary Reduced Capacity" });
      expect(handled).toHaveLength(0);
    });

    it.each(["local", "allow"] as const)("shows no numbers under `%s`", async (onStoreFailure) => {
      const { ask } = start([one(1, { onStoreFailure })], { isRedisAway: true });
      const first = await ask();
      expect([first.status, fieldsOf(first)]).toEqual([200, {}]);
      const second = await ask();
      if (onStoreFailure === "allow") return expect([second.status, fieldsOf(second)]).toEqual([200, {}]);
      expect([second.status, fieldsOf(second)]).toEqual([429, { retryAfter: expect.any(Number) }]);
    });
  });
});

// A configuration refuses such a cost. Only code can ask for more than the limit ever admits.
describe.each<[string, () => Fetch]>([
  [
    "withRateLimit",
    () =>
      withRateLimit(() => new Response("ok"), createLimiter({ policies: [one(5)], store: memoryStore() }), { cost: 6 })
        .fetch as never,
  ],
  [
    "headgate/hono",
    () =>
      new Hono().use(rateLimit(createLimiter({ policies: [one(5)], store: memoryStore() }), { cost: 6 }))
        .fetch as Fetch,
  ],
])("%s", (_way, make) => {
  it("says of a cost that can never pass that trying again is of no use, also to a page of another origin", async () => {
    const request = new Request("https://ways.example/", { headers: { Origin: "https://page.example" } });
    const refused = await make()(request, {}, createExecutionContext());
    expect([refused.status, refused.headers.get("X-Should-Retry")]).toEqual([429, "false"]);
    expect(refused.headers.has("Retry-After")).toBe(false);
    expect(refused.headers.get("Access-Control-Expose-Headers")).toContain("X-Should-Retry");
    expect(await refused.json()).toMatchObject({ retry: "never" });
  });
});

function withoutLegacy(headers: Headers): Headers {
  return new Headers([...headers].filter(([name]) => !name.startsWith("x-ratelimit")));
}
