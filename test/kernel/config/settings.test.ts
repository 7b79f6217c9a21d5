import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { describe, expect, it } from "vitest";
import { parseSettings } from "../../../src/features/configuration.ts";
import type { Bindings } from "../../../src/kernel/config/settings.ts";

const POLICIES = [{ name: "default", limits: [{ limit: 60, window: "1m" }] }];
const REDIS = { UPSTASH_REDIS_REST_URL: "https://x.upstash.io", UPSTASH_REDIS_REST_TOKEN: "token" };

function settingsOf(bindings: Bindings) {
  const parsed = parseSettings(bindings);
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return parsed.value;
}

const mistakesOf = (bindings: Bindings) => parseSettings(bindings).mistakes ?? [];
const named = (name: string) => ({ ...POLICIES[0], name });
const namesOf = (bindings: Bindings) => settingsOf(bindings).policies.map(({ name }) => name);

describe("wrangler.toml as it ships", () => {
  const toml = readFileSync(new URL("../../../wrangler.toml", import.meta.url), "utf8");

  it("is valid: one policy, 60 requests a minute for each address", () => {
    const settings = settingsOf(parseToml(toml).vars as Bindings);
    expect(settings.policies).toMatchObject([
      { key: ["ip"], match: {}, limits: [{ algorithm: "sliding-window", limit: 60, bucketMs: 60_000 }] },
    ]);
    expect(settings).toMatchObject({ redis: undefined, origin: { kind: "demo" }, rateLimitHeaders: "both" });
  });

  it("is valid too with every commented default taken in", () => {
    const everything = toml.replace(/^# ([A-Z_]+ = )/gm, "$1").replace("https://<name>", "https://name");
    const vars = parseToml(everything).vars as Bindings;
    expect(Object.keys(vars).sort()).toEqual(
      expect.arrayContaining(["ORIGIN_URL", "RATE_LIMIT_HEADERS", "REDIS_TIMEOUT_MS", "REGION", "REGIONS"]),
    );
    const { REDIS_NODES, UPSTASH_REDIS_REST_URL, ...others } = vars;
    expect(mistakesOf({ ...others, UPSTASH_REDIS_REST_URL, UPSTASH_REDIS_REST_TOKEN: "token" })).toEqual([]);
    const secrets = { REDIS_TOKEN_A: "token", KEY_SECRET: "sixteen letters!" };
    expect(mistakesOf({ ...others, REDIS_NODES, ...secrets })).toEqual([]);
  });
});

describe("settings", () => {
  it("have a default for everything but the policies", () => {
    const { policies, ...rest } = settingsOf({ POLICIES });
    expect(policies).toHaveLength(1);
    expect(rest).toMatchObject({
      ...{ redis: undefined, region: undefined, keySecret: undefined, admin: undefined, rateLimitHeaders: "both" },
      ...{ origin: { kind: "demo" }, regions: { colo: {}, country: {}, continent: {} } },
      ...{ liveRefreshMs: 30_000, stats: { flushMs: 30_000 } },
    });
    expect(settingsOf({ POLICIES, LIVE_REFRESH: "0s" }).liveRefreshMs).toBe(0);
    expect(settingsOf({ POLICIES, ...REDIS }).redis).toEqual({
      nodes: [{ url: "https://x.upstash.io", token: "token" }],
      timeoutMs: 250,
    });
  });

  it("take what is given, numbers and tables as text too", () => {
    const plain = { region: "eu-west_1.a", keySecret: "sixteen letters!", rateLimitHeaders: "legacy" };
    const given = {
      ...{ POLICIES: JSON.stringify(POLICIES), ...REDIS, REDIS_TIMEOUT_MS: "1000", LIVE_REFRESH: "2s" },
      ...{ REGION: plain.region, KEY_SECRET: plain.keySecret, RATE_LIMIT_HEADERS: plain.rateLimitHeaders },
      ...{ ORIGIN_URL: "https://origin.example/base", REGIONS: JSON.stringify({ colo: { fra: "frankfurt" } }) },
      ...{ ADMIN_TOKEN: "thirty-two-characters-or-more-123", ACCESS_TEAM: "Acme", ACCESS_AUD: "4F".repeat(32) },
    };
    expect(settingsOf(given)).toMatchObject({
      ...plain,
      admin: { token: "thirty-two-characters-or-more-123", access: { team: "acme", audience: "4f".repeat(32) } },
      ...{ liveRefreshMs: 2_000, redis: { timeoutMs: 1000 } },
      origin: { kind: "url", url: new URL("https://origin.example/base") },
      regions: { colo: { FRA: "frankfurt" }, country: {}, continent: {} },
    });
  });

  it("treat an empty variable as absent, as `--var NAME:` makes it", () => {
    const names = [
      ...["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "REDIS_TIMEOUT_MS", "ORIGIN_URL", "REGION"],
      ...["REGIONS", "KEY_SECRET", "RATE_LIMIT_HEADERS", "POLICIES_2"],
    ];
    const empty = Object.fromEntries(names.map((name) => [name, ""]));
    expect(settingsOf({ POLICIES, ...empty })).toEqual(settingsOf({ POLICIES }));
  });

  it("know three kinds of origin beside the demo, and refuse two at once", () => {
    const ORIGIN = { fetch: async () => new Response() };
    expect(settingsOf({ POLICIES, ORIGIN_URL: "route" }).origin).toEqual({ kind: "route" });
    expect(settingsOf({ POLICIES, ORIGIN }).origin).toEqual({ kind: "service", service: ORIGIN });
    expect(mistakesOf({ POLICIES, ORIGIN, ORIGIN_URL: "https://origin.example" })).toMatchObject([
      { code: "ERR_ORIGIN_TWICE", path: "ORIGIN_URL", found: '"both"' },
    ]);
    expect(mistakesOf({ POLICIES, ORIGIN: "https://origin.example" })).toMatchObject([
      { code: "ERR_ORIGIN_URL", path: "ORIGIN" },
    ]);
  });

  it.each(["}", "eu}", "{eu}", "a#5:1", "a:b", "a b", "a\n", "\0", "é", "😀", "-a", "x".repeat(33)])(
    "refuse a region that a key of the store could not hold: %j",
    (name) => {
      expect(mistakesOf({ POLICIES, REGION: name })).toMatchObject([{ code: "ERR_REGION" }]);
      expect(mistakesOf({ POLICIES, REGIONS: { colo: { FRA: name } } })).toMatchObject([{ code: "ERR_REGIONS" }]);
      expect(mistakesOf({ POLICIES: [named(name)] })).toMatchObject([{ code: "ERR_POLICY_NAME" }]);
    },
  );

  it("take the Durable Object where no Redis is configured, with the time budget of both", () => {
    const COUNTS = { idFromName: () => ({}), get: () => ({}) };
    expect(settingsOf({ POLICIES, COUNTS })).toMatchObject({ redis: undefined, counts: { timeoutMs: 250 } });
    const placed = settingsOf({ POLICIES, COUNTS, COUNTS_LOCATION: "weur", REDIS_TIMEOUT_MS: "900" });
    expect(placed.counts).toEqual({ namespace: COUNTS, shards: 1, location: "weur", timeoutMs: 900 });
    expect(settingsOf({ POLICIES, COUNTS, COUNTS_SHARDS: "16" }).counts).toMatchObject({ shards: 16 });
    expect(settingsOf({ POLICIES, ...REDIS, COUNTS })).toMatchObject({ redis: {}, counts: undefined });
  });

  it("take nodes as an array or as its JSON, with the tokens of the secrets that they name, the shared ones first", () => {
    const a = { name: "a", url: "https://a.example", token: "TOKEN_A" };
    const eu = { name: "eu", url: "https://eu.example", token: "TOKEN_EU", region: "eu" };
    const secrets = { TOKEN_A: "one", TOKEN_EU: "three", KEY_SECRET: "sixteen letters!" };
    const redis = {
      nodes: [
        { ...a, token: "one" },
        { ...eu, token: "three" },
      ],
      timeoutMs: 250,
    };
    for (const REDIS_NODES of [[eu, a], JSON.stringify([eu, a])]) {
      expect(settingsOf({ POLICIES, ...secrets, REDIS_NODES }).redis).toEqual(redis);
    }
    expect(settingsOf({ POLICIES, ...REDIS, REDIS_NODES: "" }).redis?.nodes).toHaveLength(1);
  });

  it("ask which of several nodes holds the live document, beside an admin API only", () => {
    const nodes = ["a", "b", "c"].map((name) => ({ name, url: `https://${name}.example`, token: "TOKEN" }));
    const found = (live: string, more: object = { ADMIN_TOKEN: "x".repeat(32) }, list = nodes) =>
      mistakesOf({
        ...{ POLICIES, TOKEN: "one", KEY_SECRET: "sixteen letters!", ...more },
        REDIS_NODES: list.map((node) => ({ ...node, ...(live.includes(node.name) && { live: true }) })),
      }).map(({ code, path, found }) => `${code} ${path}: ${found}`);
    const access = { ACCESS_TEAM: "team", ACCESS_AUD: "a".repeat(64) };
    for (const more of [undefined, access]) {
      expect(found("", more)).toEqual(['ERR_REDIS_NODES REDIS_NODES: "no node with it"']);
      expect(found("b", more)).toEqual([]);
      expect(found("", more, nodes.slice(0, 1))).toEqual([]);
      expect(found("ac", more)).toEqual(['ERR_REDIS_NODES REDIS_NODES[2].live: "a second one"']);
    }
    expect(found("", {})).toEqual([]);
    expect(found("bc", {})).toEqual(['ERR_REDIS_NODES REDIS_NODES[2].live: "a second one"']);
  });

  it("refuse more than 100 nodes", () => {
    const nodes = Array.from({ length: 101 }, (_, i) => ({ name: `n${i}`, url: "https://a.example", token: "TOKEN" }));
    const found = mistakesOf({ POLICIES, TOKEN: "t", KEY_SECRET: "k".repeat(16), REDIS_NODES: nodes });
    expect(found).toMatchObject([{ found: '"101 nodes"' }]);
  });

  it("refuse a service binding as COUNTS, which answers to every name, without asking it anything", () => {
    const asked: string[] = [];
    const service = new Proxy({}, { get: (_, name) => () => void asked.push(String(name)) });
    expect(mistakesOf({ POLICIES, COUNTS: service })).toMatchObject([
      { code: "ERR_COUNTS", path: "COUNTS", found: '"a binding of another kind"' },
    ]);
    expect(asked).toEqual([]);
  });
});

describe("POLICIES", () => {
  it("continues in POLICIES_2, POLICIES_3, … in the order of their numbers", () => {
    const bindings = {
      POLICIES_10: [named("ten")],
      POLICIES_2: JSON.stringify([named("two"), named("two-more")]),
      POLICIES: [named("one")],
      POLICIES_3: [],
    };
    expect(namesOf(bindings)).toEqual(["one", "two", "two-more", "ten"]);
    expect(namesOf({ POLICIES_2: [named("two")] })).toEqual(["two"]);
  });

  it("may have 5 KB in each variable, as array or as text, and not a byte more", () => {
    const sized = (bytes: number) => {
      const fill = (host: string) => JSON.stringify([{ ...named("a"), match: { host } }]);
      return fill("h".repeat(bytes - fill("").length));
    };
    const tooLarge = [{ path: "POLICIES_2", code: "ERR_POLICIES_SIZE", found: "5121 bytes" }];
    for (const read of [String, JSON.parse]) {
      expect(mistakesOf({ POLICIES, POLICIES_2: read(sized(5120)) })).toEqual([]);
      expect(mistakesOf({ POLICIES, POLICIES_2: read(sized(5121)) })).toMatchObject(tooLarge);
    }
  });
});

describe("RECORD", () => {
  it.each([
    ["on", 1],
    [undefined, 0],
    ["off", 0],
    ["100%", 1],
    ["0.5%", 0.005],
  ])("%s is a share of %s of the clients", (RECORD, share) => {
    expect(settingsOf({ POLICIES, RECORD }).record).toBeCloseTo(share, 9);
  });

  it.each(["yes", "0.0%", "101%", "10", "-1%", "1e1%", 1, true])("%s is a mistake", (RECORD) => {
    expect(mistakesOf({ POLICIES, RECORD })).toMatchObject([{ code: "ERR_RECORD", path: "RECORD" }]);
  });
});
