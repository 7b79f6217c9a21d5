import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigurationError } from "../../src/config/mistake.ts";
import { redisStore } from "../../src/limiter/stores/redis-store.ts";
import { storeFromEnv } from "../../src/limiter/stores/store-from-env.ts";

const URL = "https://redis.example.com";
const TOKEN = "s3cret-token";

beforeEach(() => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
});
afterEach(() => vi.restoreAllMocks());

const warnings = () => vi.mocked(console.warn).mock.calls.map(([text]) => String(text));

describe("the store of a Worker's env", () => {
  it.each([
    { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN },
    { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN, REDIS_TIMEOUT_MS: 30_000, OTHER: {} },
    { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN, REDIS_TIMEOUT_MS: "1" },
  ])("is Redis where both halves are there: %j", (env) => {
    expect(storeFromEnv(env).kind).toBe("redis");
    expect(warnings()).toEqual([]);
  });

  it.each([
    {},
    { UPSTASH_REDIS_REST_URL: "", UPSTASH_REDIS_REST_TOKEN: "" },
    { UPSTASH_REDIS_REST_URL: undefined, OTHER: 1 },
  ])("is memory where neither is there, and says so once: %j", (env) => {
    const store = storeFromEnv(env);
    expect(store.kind).toBe("memory");
    expect(storeFromEnv(env)).toBe(store);
    expect(warnings()).toEqual([expect.stringMatching(/no UPSTASH_REDIS_REST_URL, .* and no binding COUNTS/)]);
  });

  const COUNTS = { idFromName: (name: string) => `id of ${name}`, get: () => ({}) };

  it("is the Durable Object where only that is bound, and Redis where both are", () => {
    expect(storeFromEnv({ COUNTS, COUNTS_LOCATION: "weur", UPSTASH_REDIS_REST_URL: "" })).toMatchObject({
      kind: "durable-object",
      keySecret: "id of headgate:key",
      timeoutMs: 250,
    });
    const both = { COUNTS, UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN };
    expect(storeFromEnv(both).kind).toBe("redis");
    expect(warnings()).toEqual([]);
  });

  it.each([
    ["a namespace that is none", { COUNTS: {} }, "ERR_COUNTS"],
    ["a location that does not exist", { COUNTS, COUNTS_LOCATION: "mars" }, "ERR_COUNTS_LOCATION"],
    ["no token", { UPSTASH_REDIS_REST_URL: URL }, "ERR_REDIS_TOKEN"],
    ["an empty token", { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: "" }, "ERR_REDIS_TOKEN"],
    ["no URL", { UPSTASH_REDIS_REST_TOKEN: TOKEN }, "ERR_REDIS_URL"],
    [
      "a URL of another kind",
      { UPSTASH_REDIS_REST_URL: "redis://x", UPSTASH_REDIS_REST_TOKEN: TOKEN },
      "ERR_REDIS_URL",
    ],
    [
      "a token with white space",
      { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: `${TOKEN}\n` },
      "ERR_REDIS_TOKEN",
    ],
    [
      "a budget of nothing",
      { UPSTASH_REDIS_REST_URL: URL, UPSTASH_REDIS_REST_TOKEN: TOKEN, REDIS_TIMEOUT_MS: 0 },
      "ERR_REDIS_TIMEOUT_MS",
    ],
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

it.each([
  ["a URL with credentials", { url: "https://user:s3cret-token@redis.example.com", token: "t" }],
  ["a token with a line end", { url: URL, token: `${TOKEN}\n` }],
  ["no token", { url: URL, token: undefined as never }],
])("redisStore refuses what the configuration refuses: %s", (_what, options) => {
  expect(() => redisStore(options)).toThrow(TypeError);
  expect(() => redisStore(options)).not.toThrow(TOKEN);
});
