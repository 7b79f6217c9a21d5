import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigurationError } from "../../src/kernel/config/mistake.ts";
import { createLimiter } from "../../src/limiter.ts";
import { redisStore } from "../../src/stores/redis-store.ts";
import { storeFromEnv } from "../../src/stores/store-from-env.ts";
import { freshImport } from "../support/fresh-import.ts";

const URL = "https://redis.example.com";
const TOKEN = "s3cret-token";
const SECRET = "a secret for tests";
const REDIS = { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN };

beforeEach(() => {
  for (const name of ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN"]) vi.stubEnv(name, "");
  vi.spyOn(console, "warn").mockImplementation(() => {});
});

const warnings = () => vi.mocked(console.warn).mock.calls.map(([text]) => String(text));

describe("the store of a Worker's env", () => {
  const COUNTS = { idFromName: (name: string) => `id of ${name}`, get: () => ({}) };
  let id = 0;

  it.each([REDIS, { ...REDIS, REDIS_TIMEOUT_MS: 30_000, OTHER: {} }, { ...REDIS, REDIS_TIMEOUT_MS: "1" }])(
    "is Redis where both halves are there: %j",
    (env) => {
      expect(storeFromEnv(env).kind).toBe("redis");
      expect(warnings()).toEqual([]);
    },
  );

  it("is one in memory for all that name none, and says so once", async () => {
    // Another test may have had the warning already.
    const path = "stores/store-from-env.ts";
    const { storeFromEnv } = await freshImport<typeof import("../../src/stores/store-from-env.ts")>(path);
    const envs = [
      {},
      { UPSTASH_REDIS_REST_URL: "", UPSTASH_REDIS_REST_TOKEN: "" },
      { UPSTASH_REDIS_REST_URL: undefined, OTHER: 1 },
      { OTHER: 2, requestId: "a" },
      { OTHER: 2, requestId: "b" },
    ];
    const stores = new Set(envs.map(storeFromEnv));
    expect([...stores].map(({ kind }) => kind)).toEqual(["memory"]);
    // On Workers it speaks of isolates, and of the binding.
    const told =
      /no UPSTASH_REDIS_REST_TOKEN: each process counts on its own.*Where that is right.*pass memoryStore\(\)/;
    expect(warnings()).toEqual([expect.stringMatching(told)]);
  });

  it.each<[string, () => object, number]>([
    ["Redis", () => ({ UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: "1", OTHER: {} }), 1],
    ["several Redis", () => ({ REDIS_NODES: [{ name: "a", url: URL, token: "A" }], A: "1", OTHER: `${id++}` }), 1],
    ["a Durable Object", () => ({ COUNTS, COUNTS_LOCATION: "weur" }), 1],
    ["another Durable Object each time", () => ({ COUNTS: { ...COUNTS } }), 3],
    ["another token each time", () => ({ UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: `${id++}` }), 3],
  ])("equal bindings in new objects give the same store: %s", (_what, env, stores) => {
    expect(new Set([env(), env(), env()].map(storeFromEnv)).size).toBe(stores);
  });

  it("is that of the process's variables, if env names none", () => {
    vi.stubEnv("UPSTASH_REDIS_REST_URL", URL);
    vi.stubEnv("UPSTASH_REDIS_REST_TOKEN", "of-the-process");
    const store = storeFromEnv({ remoteAddr: {} });
    expect([store.kind, storeFromEnv({ event: {} }), storeFromEnv(process.env)]).toEqual(["redis", store, store]);
    expect(storeFromEnv({ COUNTS }).kind).toBe("durable-object");
    // A URL and a token of two sources are never put together.
    expect(() => storeFromEnv({ UPSTASH_REDIS_REST_URL: URL })).toThrow("ERR_REDIS_TOKEN");
    vi.stubEnv("UPSTASH_REDIS_REST_TOKEN", "");
    expect(() => storeFromEnv({ event: {} })).toThrow("ERR_REDIS_TOKEN");
    expect(warnings()).toEqual([]);
  });

  // test/kernel/config/mistakes.toml has every mistake.
  it.each([
    ["a namespace that is none", { COUNTS: {} }, "ERR_COUNTS"],
    ["a token with a line end", { ...REDIS, UPSTASH_REDIS_REST_TOKEN: `${TOKEN}\n` }, "ERR_REDIS_TOKEN"],
  ])("is not made from %s: it throws, and repeats no token", (_what, env, code) => {
    const make = () => storeFromEnv(env);
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(code);
    expect(make).not.toThrow(TOKEN);
    expect(warnings()).toEqual([]);
  });

  it.each([undefined, null, "env"])("is not made from %j", (env) => {
    expect(() => storeFromEnv(env)).toThrow(TypeError);
  });
});

const over = (command: unknown, keySecret?: string, more: object = {}) => ({ command, keySecret, ...more });
const command = async () => 1;

it.each<[what: string, options: object, expected: RegExp]>([
  ["a URL with credentials", { url: "https://user:s3cret-token@redis.example.com", token: "t" }, /url/],
  ["a url that is none", { url: "example", token: "t" }, /url/],
  ["a redis:// url", { url: "redis://127.0.0.1", token: "t" }, /over TCP give a command/],
  ["a token with a line end", { url: URL, token: `${TOKEN}\n` }, /token/],
  ["no token", { url: URL, token: "" }, /token/],
  ["a time budget of 0", { url: URL, token: "t", timeoutMs: 0 }, /timeoutMs/],
  ["a time budget of 1.5 ms", { url: URL, token: "t", timeoutMs: 1.5 }, /timeoutMs/],
  ["a short keySecret", over(command, "short"), /at least 16 characters.*not shown/],
  ["a url too", over(command, SECRET, { url: URL }), /either command, or url and token/],
  ["keySecret beside url", { url: URL, token: "t", keySecret: SECRET }, /keySecret belongs to command/],
  ["a client as command", over({}, SECRET), /command: expected function, found object/],
])("redisStore refuses %s when it is made, and repeats no token", (_what, options, expected) => {
  const make = () => redisStore(options as never);
  expect(make).toThrow(TypeError);
  expect(make).toThrow(expected);
  expect(make).not.toThrow(TOKEN);
});

it("over TCP one keySecret is enough: that of the store, or that of the limiter", () => {
  const policies = [{ name: "a", limits: [{ limit: 1, window: "1m" }] }] as const;
  const make = (inStore?: string, keySecret?: string) => () =>
    createLimiter({ policies, store: redisStore(over(command, inStore) as never), ...(keySecret && { keySecret }) });
  for (const made of [make(SECRET), make(undefined, SECRET)]) expect(made).not.toThrow();
  expect(make()).toThrow(/^createLimiter: keySecret: expected at least 16 characters/);
});
