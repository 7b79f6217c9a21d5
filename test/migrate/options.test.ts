// docs/migrate/options.md: it has every option of the packages' types, and what it says of headgate runs.

import { Hono } from "hono";
import { expect, it } from "vitest";
import { rateLimit } from "../../src/adapters/hono.ts";
import { type Decision, type Limiter, live, memoryStore, redisStore } from "../../src/index.ts";
import { fakeClock, storeAt } from "../../src/testing/index.ts";
import { createLimiter } from "../support/limiter.ts";
import { membersOf, namesInTables, readText } from "./guide.ts";

const [[, ...PEERS], , ...CELLS] = readText("docs/migrate/options.md")
  .split(/\n\n/)[2]!
  .split("\n")
  .map((line) => line.split(/ ?\| ?/)) as [string[], string[], ...string[][]];
/** Each row, by the heading of the column. */
const ROWS = CELLS.map(([, ...cells]) => Object.fromEntries(cells.map((cell, i) => [PEERS[i]!, cell])));

const namesIn = (peer: string) =>
  new Set(ROWS.flatMap((row) => [...row[peer]!.matchAll(/`(\w+)`/g)].map(([, name]) => name!)));

const types = (file: string) => readText(`node_modules/${file}`);
const HONO = types("hono-rate-limiter/dist/index.d.ts");
const UPSTASH = types("@upstash/ratelimit/dist/index.d.ts");
const FLEXIBLE = types("rate-limiter-flexible/types.d.ts");

const ofHono = ["CommonConfigType<", "HonoConfigType<", "KeyGeneratorType<", "CloudflareConfigType<", "Options = {"];
const ofUpstash = ["RegionRatelimitConfig = {", "MultiRegionRatelimitConfig = {"];
const ofFlexible = [...FLEXIBLE.matchAll(/^(?:export )?interface (\w*(?:Options|Opts)\w*) /gm)]
  .map(([, name]) => name!)
  // This interface holds the attributes of a MongoDB call.
  .filter((name) => name !== "IRateLimiterMongoFunctionOptions");
const OPTIONS: Readonly<Record<string, string[]>> = {
  "hono-rate-limiter": ofHono.flatMap((type) => membersOf(HONO, `type ${type}`, " {4}")),
  "express-rate-limit": membersOf(types("express-rate-limit/dist/index.d.ts"), "export type Options = {", "\t"),
  "@upstash/ratelimit": ofUpstash.flatMap((type) => membersOf(UPSTASH, `type ${type}`, " {4}")),
  "rate-limiter-flexible": ofFlexible.flatMap((name) => membersOf(FLEXIBLE, `interface ${name} `, " {4}")),
};

it.each(Object.entries(OPTIONS))(
  "has every option of %s, and no other; its guide names only some of them",
  (peer, options) => {
    expect([...namesIn(peer)].sort()).toEqual([...new Set(options)].sort());
    const headings = ["Options", "Options of rateLimiter", "Options of the constructor"];
    const named = namesInTables(peer.replace("@upstash/", "upstash-"), ...headings);
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !options.includes(name))).toEqual([]);
  },
);

it("the guides from rate-limiter-flexible and from Upstash have every method and class", () => {
  const classes = [...FLEXIBLE.matchAll(/^export class (\w+)/gm)].map(([, name]) => name!);
  const flexible = [...membersOf(FLEXIBLE, "export class RateLimiterAbstract {", " {4}"), ...classes];
  // Fields are options. Programs do not use the base classes directly.
  const isPart = (name: string) =>
    OPTIONS["rate-limiter-flexible"]!.includes(name) || /^constructor$|Abstract$|Error$/.test(name);
  const ofGuide = namesInTables("rate-limiter-flexible", "Methods and classes");
  expect(flexible.filter((name) => !isPart(name) && !ofGuide.includes(name))).toEqual([]);

  const members = ["declare abstract class Ratelimit<", "type RatelimitResponse = {"].flatMap((start) =>
    membersOf(UPSTASH, start, " {4}").filter((name) => name !== "constructor"),
  );
  const algorithms = [...UPSTASH.matchAll(/^ {4}static (\w+)\(/gm)].map(([, name]) => name!);
  const named = namesInTables("upstash-ratelimit", "Methods", "Algorithms");
  expect([...members, ...algorithms].filter((name) => !named.includes(name))).toEqual([]);
});

const BASE = { name: "api", key: ["ip"], limits: [{ limit: 5, window: "1m" }] };
type Fields = Readonly<Record<string, unknown>>;

const limiterWith = (fields: Fields = {}, options: Fields = {}): Limiter =>
  createLimiter({ store: memoryStore(), onDecision() {}, ...options, policies: [{ ...BASE, ...fields } as never] });

const appWith = (middleware: ReturnType<typeof rateLimit>, status = 200) =>
  new Hono().use(middleware).get("/", (c) => c.text(`${c.get("apiLimit" as never) !== undefined}`, status as 200));

/** These tests run in Node, where a middleware must be told whose address counts. In a Worker it is this field. */
const limited = (limiter: Limiter, options: Fields = {}) =>
  rateLimit(limiter, { clientIp: { header: "cf-connecting-ip" }, ...options });

const ask = async (app: Hono, headers: Record<string, string> = {}) =>
  await app.request("/", { headers: { "CF-Connecting-IP": "192.0.2.1", ...headers } });

/** What a page's code is evaluated with. */
const seen: string[] = [];
const limiter = limiterWith();
const SCOPE = {
  limiter,
  rateLimit: limited,
  live,
  memoryStore,
  redisStore,
  storeAt,
  fakeClock,
  seen,
  command: async () => [],
  keySecret: "a secret of this test",
  createLimiter: (options: Fields) => {
    const store = options.features ? redisStore({ url: "https://r.example.com", token: "t" }) : memoryStore();
    return createLimiter({ store, policies: [BASE as never], ...options });
  },
};

const evaluate = (code: string): unknown =>
  new Function(...Object.keys(SCOPE), `return (${code});`)(...Object.values(SCOPE));

/** How many of 7 requests of one client are admitted by a policy with these fields, answered with this status. */
async function admitted(fields: unknown, status = 200): Promise<number> {
  const app = appWith(limited(limiterWith(fields as Fields)), status);
  let count = 0;
  for (let i = 0; i < 7; i++) if ((await ask(app)).status === status) count++;
  return count;
}

const failing = { ...memoryStore(), take: () => Promise.reject(new Error("down")) };
const statusWhileDown = async (fields: unknown) => {
  const { remoteStore } = await import("../../src/index.ts");
  const store = remoteStore({ ...failing, kind: "far" }, { onBreakerChange() {} });
  return (await ask(appWith(limited(limiterWith(fields as Fields, { store }))))).status;
};
const asMiddleware = (value: unknown) => value as ReturnType<typeof rateLimit>;

/** What the code of a row must do. The code is read from the page, and evaluated. */
const CHECKS: Readonly<Record<string, (value: never) => unknown>> = {
  '{ limits: [{ limit: 5, window: "1m" }] }': async (fields) => expect(await admitted(fields)).toBe(5),
  "rateLimit(limiter, { limits: () => ({ api: 7 }) })": async (middleware) => {
    const answer = await ask(appWith(asMiddleware(middleware)), { "CF-Connecting-IP": "192.0.2.7" });
    expect(answer.headers.get("X-RateLimit-Limit")).toBe("7");
  },
  '{ limits: [{ algorithm: "token-bucket", limit: 1, window: "1s", burst: 3 }] }': async (fields) =>
    expect(limiterWith(fields).policies[0]!.limits[0]).toMatchObject({ kind: expect.anything(), burst: 3 }),
  '{ limits: [{ limit: 5, window: "1m", buckets: 10 }] }': async (fields) => expect(await admitted(fields)).toBe(5),
  '{ limits: [{ limit: 2, window: "1m" }], ban: { after: 1, within: "1m", for: "1h" } }': async (fields) => {
    expect(await admitted(fields)).toBe(2);
    expect(limiterWith(fields).policies[0]!.ban).toEqual({ after: 1, withinMs: 60_000, forMs: [3_600_000] });
  },
  '{ limits: [{ algorithm: "leaky-bucket", limit: 5, window: "1s", burst: 1, maxDelay: "2s" }] }': async (fields) => {
    const held = limiterWith(fields);
    const delays = [await held.take("api", { key: "k" }), await held.take("api", { key: "k" })];
    expect(delays.map(({ delayMs = 0 }) => delayMs > 0)).toEqual([false, true]);
  },
  'limiter.wait("api", { key: "ann", timeoutMs: 100 })': async (decision) =>
    expect(((await decision) as Decision).allowed).toBe(true),
  'rateLimit(limiter, { key: (c) => c.req.header("X-User") })': async (middleware) => {
    await ask(appWith(asMiddleware(middleware)), { "X-User": "bob" });
    expect((await limiter.peek("api", { key: "bob", cost: 0 })).remaining).toBe(4);
  },
  "createLimiter({ ipv6Prefix: 56 })": async (made: Limiter) => {
    const client = (key: string) => ({ kind: "ip", key });
    await made.take("api", client("2001:db8:0:1100::1"));
    const { remaining } = await made.take("api", client("2001:db8:0:11ff::1"));
    expect(remaining).toBe(3);
  },
  'rateLimit(limiter, { clientIp: { header: "x-forwarded-for", hops: 1 } })': async (middleware) => {
    await ask(appWith(asMiddleware(middleware)), { "X-Forwarded-For": "192.0.2.12, 203.0.113.5" });
    expect((await limiter.peek("api", { kind: "ip", key: "203.0.113.5", cost: 0 })).remaining).toBe(4);
  },
  "rateLimit(limiter, { cost: 3 })": async (middleware) => {
    const answer = await ask(appWith(asMiddleware(middleware)), { "CF-Connecting-IP": "192.0.2.8" });
    expect(answer.headers.get("X-RateLimit-Remaining")).toBe("2");
  },
  'rateLimit(limiter, { skip: (c) => c.req.path === "/" })': async (middleware) =>
    expect((await ask(appWith(asMiddleware(middleware)))).headers.has("RateLimit")).toBe(false),
  '{ exempt: ["192.0.2.0/24"] }': async (fields) => expect(await admitted(fields)).toBe(7),
  '{ count: "successes" }': async (fields) =>
    expect([await admitted(fields, 200), await admitted(fields, 404)]).toEqual([5, 7]),
  '{ count: "failures" }': async (fields) =>
    expect([await admitted(fields, 200), await admitted(fields, 404)]).toEqual([7, 5]),
  'limiter.reserve("api", { key: "ann" })': async (reserving) => {
    const reservation = (await reserving) as Awaited<ReturnType<Limiter["reserve"]>>;
    const { remaining = 0 } = reservation.decision;
    await reservation.release();
    expect((await limiter.peek("api", { key: "ann", cost: 0 })).remaining).toBe(remaining + 1);
  },
  '{ refusal: { status: 503, type: "text/plain", body: "later" } }': async (fields: Fields) => {
    const app = appWith(limited(limiterWith({ ...fields, limits: [{ limit: 1, window: "1m" }] })));
    await ask(app);
    const refused = await ask(app);
    expect([refused.status, await refused.text()]).toEqual([503, "later"]);
  },
  'rateLimit(limiter, { response: () => new Response("later", { status: 420 }) })': async (middleware) => {
    const app = appWith(asMiddleware(middleware));
    const answers = [];
    for (let i = 0; i < 6; i++) answers.push((await ask(app, { "CF-Connecting-IP": "192.0.2.9" })).status);
    expect(answers).toEqual([200, 200, 200, 200, 200, 420]);
  },
  'rateLimit(limiter, { rateLimitHeaders: "legacy" })': async (middleware) => {
    const { headers } = await ask(appWith(asMiddleware(middleware)), { "CF-Connecting-IP": "192.0.2.10" });
    expect([headers.has("RateLimit"), headers.has("X-RateLimit-Limit")]).toEqual([false, true]);
  },
  '{ name: "login" }': async (fields) => {
    const { headers } = await ask(appWith(limited(limiterWith(fields))));
    expect(headers.get("RateLimit")).toContain('"login"');
  },
  'rateLimit(limiter, { property: "apiLimit" })': async (middleware) =>
    expect(await (await ask(appWith(asMiddleware(middleware)), { "CF-Connecting-IP": "192.0.2.11" })).text()).toBe(
      "true",
    ),
  'limiter.reset("api", { key: "ann" })': async (done) => {
    await done;
    expect((await limiter.peek("api", { key: "ann", cost: 0 })).remaining).toBe(5);
  },
  "createLimiter({ store: memoryStore() })": async (made: Limiter) =>
    expect((await made.take("api", { key: "ann" })).source).toBe("memory"),
  'redisStore({ url: "https://r.example.com", token: "t" })': (store: { kind: string }) =>
    expect(store.kind).toBe("redis"),
  "redisStore({ command, keySecret })": (store: { kind: string }) => expect(store.kind).toBe("redis"),
  '{ onStoreFailure: "allow" }': async (fields) => expect(await statusWhileDown(fields)).toBe(200),
  '"deny"': async (word) => expect(await statusWhileDown({ onStoreFailure: word })).toBe(503),
  '{ onStoreFailure: "local" }': async (fields) => expect(await statusWhileDown(fields)).toBe(200),
  'redisStore({ url: "https://r.example.com", token: "t", timeoutMs: 100 })': (store: { timeoutMs: number }) =>
    expect(store.timeoutMs).toBe(100),
  "createLimiter({ features: [live()] })": (made: Limiter) => expect((made as { live?: unknown }).live).toBeDefined(),
  "createLimiter({ onDecision: (decision) => seen.push(decision.outcome) })": async (made: Limiter) => {
    await made.take("api", { key: "ann" });
    expect(seen).toEqual(["admitted"]);
  },
  "createLimiter({ onDecision: [] })": (made: Limiter) => expect(made.policies).toHaveLength(1),
  '{ consistency: "leased" }': (fields) => expect(limiterWith(fields).policies[0]!.consistency).toBe("leased"),
  "storeAt(memoryStore(), fakeClock())": async (store) =>
    expect((await limiterWith({}, { store }).take("api", { key: "ann" })).allowed).toBe(true),
};

const codesOf = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, code]) => code!);

it.each(Object.entries(CHECKS))("what the page says does it: %s", async (code, check) => {
  expect(ROWS.filter(({ headgate }) => codesOf(headgate!).includes(code))).not.toEqual([]);
  await check(evaluate(code) as never);
});

it("every row has code that runs, or says that there is none, and why", () => {
  const without = ROWS.filter(({ headgate }) => !codesOf(headgate!).some((code) => Object.hasOwn(CHECKS, code)));
  const saysWhy = /^none(?: [a-z ]+)?(?::|\.) .{20}|none(?: is)? needed: .{20}|: none, because/;
  expect(without.filter(({ headgate }) => !saysWhy.test(headgate!))).toEqual([]);
  // Code that looks like ours is checked too.
  const ours = ROWS.flatMap(({ headgate }) => codesOf(headgate!)).filter((code) => /^[{]|\w\(.+\)$/.test(code));
  expect(ours.filter((code) => !Object.hasOwn(CHECKS, code))).toEqual([]);
});
