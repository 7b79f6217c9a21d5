// An option with a wrong name or type is found at construction, not at the first request.

import { describe, expect, it } from "vitest";
import { rateLimit as onExpress } from "../../src/adapters/express.ts";
import { rateLimit } from "../../src/adapters/hono.ts";
import { createLimiter, memoryStore, redisStore, withRateLimit } from "../../src/index.ts";

const policies = [{ name: "one", key: "global", limits: [{ limit: 5, window: "1h" }] }] as const;
const limiter = createLimiter({ policies, store: memoryStore() });
const handler = () => new Response("ok");

/** Options as JavaScript may pass them, without types. */
type Anything = never;

const wrong: [object, RegExp][] = [
  [{ keyGenerator: () => "ann" }, /: unknown option keyGenerator: did you mean key\?$/],
  [{ cots: 2 }, /: unknown option cots: did you mean cost\?$/],
  [{ headers: "both" }, /: unknown option headers: did you mean rateLimitHeaders\?$/],
  [
    { windowMs: 1 },
    /: unknown option windowMs: expected one of rateLimitHeaders, rateLimitHeadersOnCacheable, region, clientIp, key, cost, plan, limits, skip, response(?:, property)?$/,
  ],
  [{ toString: 1 }, /: unknown option toString: /],
  [{ key: "ip" }, /: key: expected function, found string$/],
  [{ response: new Response("no") }, /: response: expected function, found object$/],
  [{ cost: "3" }, /: cost: expected number or function, found string$/],
  [{ cost: 1.5 }, /: cost must be an integer from 0 to 1000000000, found 1\.5$/],
  [{ region: 1 }, /: region: expected string or object or function, found number$/],
  [{ region: { colos: {} } }, /: region: unknown option colos: did you mean colo\?$/],
  [{ rateLimitHeaders: "all" }, /: rateLimitHeaders: expected one of both, draft-11, legacy, none$/],
];

// Express has no region: its limiter has one.
const withoutRegion = wrong.filter(([options]) => !("region" in options || "windowMs" in options));

describe.each<[string, (options: Anything) => unknown, string, typeof wrong]>([
  ["rateLimit of Hono", (options) => rateLimit(limiter, options), "rateLimit", wrong],
  ["withRateLimit", (options) => withRateLimit(handler, limiter, options), "withRateLimit", wrong],
  ["rateLimit of Express", (options) => onExpress(limiter, options), "rateLimit", withoutRegion],
])("%s", (_, make, name, mistakes) => {
  it.each(mistakes)("refuses %o when it is made", (options, message) => {
    expect(() => make(options as Anything)).toThrow(TypeError);
    expect(() => make(options as Anything)).toThrow(message);
    expect(() => make(options as Anything)).toThrow(new RegExp(`^(${name}|take): `));
  });

  it.each([null, "both", 3, limiter.take])("refuses %o in place of options", (options) => {
    expect(() => make(options as Anything)).toThrow(TypeError);
  });

  it("takes an option that is undefined for one that is absent", () => {
    const options = { key: undefined, cost: undefined, skip: undefined, rateLimitHeaders: undefined };
    expect(() => make(options as Anything)).not.toThrow();
  });
});

describe("what is no limiter", () => {
  it.each([undefined, null, {}, { policies, store: memoryStore() }, memoryStore()])("%o is refused", (found) => {
    expect(() => rateLimit(found as Anything)).toThrow(/^rateLimit: expected a limiter made by createLimiter/);
    expect(() => withRateLimit(handler, found as Anything)).toThrow(/^withRateLimit: expected a limiter/);
    expect(() => onExpress(found as Anything)).toThrow(/^rateLimit: expected a limiter made by createLimiter/);
    expect(() => withRateLimit({} as Anything, limiter)).toThrow(TypeError);
  });

  it("is refused when env is known, if a function of env makes it", async () => {
    const wrapped = withRateLimit(handler, (() => Promise.resolve(limiter)) as Anything);
    await expect(wrapped.fetch({} as Anything, {}, {} as Anything)).rejects.toThrow(/expected a limiter/);
  });
});

describe("createLimiter", () => {
  const store = memoryStore();
  it.each<[object, RegExp]>([
    [{ store, secret: "s" }, /^createLimiter: unknown option secret: did you mean keySecret\?$/],
    [
      { store, onDecision: [() => {}, "log"] },
      /^createLimiter: onDecision: expected a function, or a list of functions$/,
    ],
    [{ store, keySecret: "" }, /^createLimiter: keySecret: expected at least 16 characters/],
    [{}, /^createLimiter: store: expected a store$/],
    [{ store: Promise.resolve(store) }, /^createLimiter: store: expected a store$/],
  ])("refuses %o", (options, message) => {
    const make = () => createLimiter({ policies, ...options } as Anything);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
  });
});

// test/stores has what redisStore refuses beside that.
it.each<[string, (options: Anything) => unknown, object | undefined, RegExp]>([
  ["memoryStore", memoryStore, { maxkeys: 5 }, /unknown option maxkeys: did you mean maxKeys\?$/],
  ["memoryStore", memoryStore, { maxKeys: "5" }, /maxKeys: expected number, found string$/],
  [
    "redisStore",
    redisStore,
    { url: "http://a", token: "secret", timeout: 5 },
    /option timeout: did you mean timeoutMs\?$/,
  ],
  ["redisStore", redisStore, undefined, /expected an object of options, found nothing$/],
])("%s refuses what it does not know, and repeats no value", (name, makeWith, options, message) => {
  const make = () => makeWith(options as Anything);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(message);
  expect(make).toThrow(new RegExp(`^${name}: `));
  expect(make).not.toThrow(/secret/);
});

describe("by hand", () => {
  it.each<[string, unknown, object | undefined, RegExp]>([
    ["cots", "one", { cots: 2 }, /^take: unknown option cots: did you mean cost\?$/],
    ["a cost as text", "one", { cost: "2" }, /^take: cost: expected number, found string$/],
    ["a key that is a number", "one", { key: 42 }, /^take: expected key to be a non-empty string, found number$/],
    ["a context in place of background", "one", { ctx: {} }, /^take: unknown option ctx: expected one of key, kind, /],
    ["a misspelt member", [{ policy: "one", Key: "a" }], undefined, /^take: policies\[0\]: unknown option Key: did/],
    [
      "a region of a member",
      [{ policy: "one", region: "eu" }],
      undefined,
      /^take: policies\[0\]: unknown option region: /,
    ],
    [
      "a name in place of a member",
      ["one"],
      undefined,
      /^take: policies\[0\]: expected an object of options, found a /,
    ],
    ["nothing", undefined, undefined, /^take: expected the name of a policy, or a list such as .*; found nothing$/],
    ["a number in place of policies", 5, undefined, /^take: expected the name of .*; found a value of type number$/],
    ["null in place of options", "one", null as never, /^take: expected an object of options, found null$/],
  ])("%s rejects, and nothing is charged", async (_what, policy, options, message) => {
    const fresh = createLimiter({ policies, store: memoryStore() });
    for (const method of ["take", "peek", "reset"] as const) {
      const call = fresh[method](policy as Anything, options as Anything);
      await expect(call).rejects.toThrow(message);
      await expect(call).rejects.toThrow(TypeError);
    }
    expect((await fresh.peek("one")).remaining).toBe(5);
  });
});
