// The tables of docs/configuration.md agree with the code.

import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { expect, it } from "vitest";
import { parsePolicies } from "../../src/config/policies.ts";
import { LIMIT_SCHEMAS, SCHEMAS } from "../../src/config/policy-schema.ts";
import { parseSettings } from "../../src/config/settings.ts";
import { formatDuration } from "../../src/core/duration.ts";
import { blocksOf, read, tableIn } from "./markdown.ts";

const PAGE = read("docs/configuration.md");
const ABSENT = "–";
const { limit: limitSchema, policy: policySchema } = SCHEMAS.none;

/** The first table whose first heading is `heading`: from its first cell to the cell under `column`. */
function table(heading: string, column: string): Map<string, string> {
  return new Map(tableIn(PAGE, heading).map((row) => [row[heading]!, row[column]!]));
}

/** The defaults that a minimal value gets for these fields. */
function defaultsOf(fields: readonly string[], minimal: object, parsed: object): Map<string, string> {
  const defaultOf = (field: string) => {
    const value = (parsed as Record<string, unknown>)[field];
    return /For$/.test(field) && typeof value === "number" ? formatDuration(value) : value;
  };
  return new Map(
    fields.map((field) => [field, field in minimal ? ABSENT : (JSON.stringify(defaultOf(field)) ?? ABSENT)]),
  );
}

const ALGORITHMS = Object.keys(LIMIT_SCHEMAS.none) as (keyof typeof LIMIT_SCHEMAS.none)[];

/** The algorithms that a cell names: `all`, `all but` some, or a list. */
function algorithmsOf(cell: string): string[] {
  const named = [...`\`${cell}\``.matchAll(/`+([a-z-]+)`+/g)].map(([, name]) => name!);
  return cell.startsWith("all") ? ALGORITHMS.filter((name) => !named.includes(name)) : named;
}

const minimalLimit = { limit: 1, window: "1s" };
const minimalPolicy = { name: "a", limits: [minimalLimit] };
const byName = (map: Map<string, string>) => [...map].sort(([a], [b]) => (a < b ? -1 : 1));

it("the policy table has every field and its default", () => {
  const parsed = v.parse(policySchema, minimalPolicy);
  const defaults = defaultsOf(Object.keys(policySchema.entries), minimalPolicy, parsed);
  expect(byName(table("Field", "Default"))).toEqual(byName(defaults));
});

it.each(ALGORITHMS)("the table of a limit has every field of %s and its default", (algorithm) => {
  // Only one algorithm may be left out of a limit.
  const minimal = { ...minimalLimit, ...(algorithm !== "sliding-window" && { algorithm }) };
  const { window: _, ...withoutWindow } = minimal;
  const input =
    algorithm === "concurrency" ? withoutWindow : algorithm === "calendar" ? { ...minimal, window: "day" } : minimal;
  const defaults = defaultsOf(Object.keys(LIMIT_SCHEMAS.none[algorithm].entries), input, v.parse(limitSchema, input));
  const applies = table("Field of a limit", "Algorithm");
  const documented = [...table("Field of a limit", "Default")].filter(([field]) =>
    algorithmsOf(applies.get(field)!).includes(algorithm),
  );
  // The page shows what a file would say.
  const timeout = defaults.get("timeout");
  const written: Record<string, string> = {
    algorithm: '"sliding-window"',
    ...(timeout && { timeout: JSON.stringify(formatDuration(Number(timeout))) }),
  };
  const expected = [...defaults].map(([field, value]) => [field, written[field] ?? value]);
  expect(byName(new Map(documented))).toEqual(byName(new Map(expected as [string, string][])));
});

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
