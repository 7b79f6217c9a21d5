// The tables of docs/configuration.md agree with the code.

import { parse as parseToml } from "smol-toml";
import { expect, it } from "vitest";
import { parsePolicies } from "../../src/config/policies.ts";
import { parseSettings } from "../../src/config/settings.ts";
import { NAMED } from "../../src/core/algorithms.ts";
import { formatDuration } from "../../src/core/duration.ts";
import { blocksOf, read, tableIn } from "./markdown.ts";

const PAGE = read("docs/configuration.md");
const ABSENT = "–";

/** The first table whose first heading is `heading`: from its first cell to the cell under `column`. */
function table(heading: string, column: string): Map<string, string> {
  return new Map(tableIn(PAGE, heading).map((row) => [row[heading]!, row[column]!]));
}

const minimalPolicy = { name: "a", limits: [{ limit: 1, window: "1s" }] };
const ALGORITHMS = Object.keys(NAMED);

it("every algorithm has its promise, its section on its page, and examples that are accepted", () => {
  const page = read("docs/algorithms.md");
  const promised = [...table("Algorithm", "Promise").keys()].map((cell) => cell.split("`")[0]!);
  expect([...new Set(promised)].sort()).toEqual([...ALGORITHMS].sort());
  const sections = [...page.matchAll(/^## ([a-z]+-?[a-z]+)$/gm)].map(([, name]) => name!);
  expect(sections.sort()).toEqual([...ALGORITHMS].sort());

  const examples = blocksOf("docs/algorithms.md", "toml").map(({ text }) => parseToml(text));
  expect(examples.length).toBeGreaterThanOrEqual(ALGORITHMS.length);
  for (const { limits } of examples)
    expect(parsePolicies([{ name: "a", limits }], "POLICIES").mistakes).toBeUndefined();
});

it("the bindings table has every binding that the code reads, and its default", () => {
  const source = ["settings", "store", "redis", "counts", "regions", "admin"]
    .map((name) => read(`src/config/${name}.ts`))
    .join("");
  const names = [...source.matchAll(/"([A-Z][A-Z0-9_]+)"/g)].map(([, name]) => name!);
  const bindings = table("Binding", "Default");
  // ANALYTICS is read only to be refused.
  const known = new Set(names.filter((name) => !name.startsWith("ERR_") && name !== "ANALYTICS"));
  expect([...bindings.keys()].sort()).toEqual([...known].sort());

  const redis = { UPSTASH_REDIS_REST_URL: "https://redis.example.com", UPSTASH_REDIS_REST_TOKEN: "token" };
  const parsed = parseSettings({ ...redis, POLICIES: [minimalPolicy] });
  if (parsed.mistakes) throw new Error("expected no mistakes");
  const {
    redis: store,
    originTimeoutMs,
    ipv6Prefix,
    rateLimitHeaders,
    liveRefreshMs,
    explain,
    record,
    logTokens,
    stats,
  } = parsed.value;
  const counted = parseSettings({ COUNTS: { idFromName() {}, get() {} }, POLICIES: [minimalPolicy] });
  if (counted.mistakes) throw new Error("expected no mistakes");
  const defaults = {
    COUNTS_SHARDS: String(counted.value.counts?.shards),
    REDIS_TIMEOUT_MS: String(store?.timeoutMs),
    ORIGIN_TIMEOUT_MS: String(originTimeoutMs),
    IPV6_PREFIX: String(ipv6Prefix),
    RATE_LIMIT_HEADERS: JSON.stringify(rateLimitHeaders),
    LIVE_REFRESH: JSON.stringify(formatDuration(liveRefreshMs)),
    EXPLAIN: JSON.stringify(explain ? "on" : "off"),
    RECORD: JSON.stringify(record > 0 ? "on" : "off"),
    LOG_TOKENS: JSON.stringify(logTokens ? "on" : "off"),
    STATS_FLUSH: JSON.stringify(formatDuration(stats.flushMs)),
  };
  const documented = [...bindings].filter(([, documentedDefault]) => documentedDefault !== ABSENT);
  expect(Object.fromEntries(documented)).toEqual(defaults);
});
