// What the README's tables and blocks say is what the code does.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { parse as parseToml } from "smol-toml";
import * as v from "valibot";
import { afterEach, expect, it, vi } from "vitest";
import { parsePolicies } from "../../src/config/policies.ts";
import { LIMIT_SCHEMAS, limitSchema, policySchema } from "../../src/config/policy-schema.ts";
import { parseSettings } from "../../src/config/settings.ts";
import { createLimiter } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const README = read("README.md");
const ABSENT = "–";

afterEach(() => vi.restoreAllMocks());

/**
 * The rows of the table whose first heading is `heading`, as first cell → the cell under `column`, without backticks.
 */
function table(heading: string, column: string): Map<string, string> {
  const lines = README.split("\n");
  const start = lines.findIndex((line) => line.startsWith(`| ${heading} |`));
  const length = lines.slice(start).findIndex((line) => !line.startsWith("|"));
  const [headings = [], , ...rows] = lines.slice(start, start + length).map(cells);
  return new Map(rows.map((row) => [unquote(row[0]!), unquote(row[headings.indexOf(column)]!)]));
}

function cells(line: string): string[] {
  return line
    .split("|")
    .map((cell) => cell.trim())
    .slice(1, -1);
}

function unquote(cell: string): string {
  return cell.replace(/^`(.*)`$/, "$1");
}

/** These fields, and the default of each that a minimal value gets. */
function defaultsOf(fields: readonly string[], minimal: object, parsed: object): Map<string, string> {
  const defaultOf = (field: string) => (parsed as Record<string, unknown>)[field];
  return new Map(
    fields.map((field) => [field, field in minimal ? ABSENT : (JSON.stringify(defaultOf(field)) ?? ABSENT)]),
  );
}

const ALGORITHMS = Object.keys(LIMIT_SCHEMAS) as (keyof typeof LIMIT_SCHEMAS)[];

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
  // The algorithm itself may be left out for one of them only.
  const minimal = { ...minimalLimit, ...(algorithm !== "sliding-window" && { algorithm }) };
  const { window: _, ...withoutWindow } = minimal;
  const input = algorithm === "concurrency" ? withoutWindow : minimal;
  const defaults = defaultsOf(Object.keys(LIMIT_SCHEMAS[algorithm].entries), input, v.parse(limitSchema, input));
  const applies = table("Field of a limit", "Algorithm");
  const documented = [...table("Field of a limit", "Default")].filter(([field]) =>
    algorithmsOf(applies.get(field)!).includes(algorithm),
  );
  const expected = [...defaults].map(([field, value]) => [field, field === "algorithm" ? '"sliding-window"' : value]);
  expect(byName(new Map(documented))).toEqual(byName(new Map(expected as [string, string][])));
});

it("every algorithm has its promise in the README, its section on its page, and examples that are accepted", () => {
  const page = read("docs/algorithms.md");
  const promised = [...table("Algorithm", "Promise").keys()].map((cell) => cell.split("`")[0]!);
  expect([...new Set(promised)].sort()).toEqual([...ALGORITHMS].sort());
  const sections = [...page.matchAll(/^## ([a-z]+-?[a-z]+)$/gm)].map(([, name]) => name!);
  expect(sections.sort()).toEqual([...ALGORITHMS].sort());

  const examples = [...page.matchAll(/```toml\n(.*?)```/gs)].map(([, text]) => parseToml(text!));
  expect(examples.length).toBeGreaterThanOrEqual(ALGORITHMS.length);
  for (const { limits } of examples)
    expect(parsePolicies([{ name: "a", limits }], "POLICIES").mistakes).toBeUndefined();
});

it("the bindings table has every binding that the code reads, and its default", () => {
  const source = ["settings", "redis", "regions"].map((name) => read(`src/config/${name}.ts`)).join("");
  const names = [...source.matchAll(/"([A-Z][A-Z_]+)"/g)].map(([, name]) => name!);
  const bindings = table("Binding", "Default");
  expect([...bindings.keys()].sort()).toEqual([...new Set(names.filter((name) => !name.startsWith("ERR_")))].sort());

  const redis = { UPSTASH_REDIS_REST_URL: "https://redis.example.com", UPSTASH_REDIS_REST_TOKEN: "token" };
  const parsed = parseSettings({ ...redis, POLICIES: [minimalPolicy] });
  if (parsed.mistakes) throw new Error("expected no mistakes");
  const { redis: store, originTimeoutMs, rateLimitHeaders } = parsed.value;
  const defaults = {
    REDIS_TIMEOUT_MS: String(store?.timeoutMs),
    ORIGIN_TIMEOUT_MS: String(originTimeoutMs),
    RATE_LIMIT_HEADERS: JSON.stringify(rateLimitHeaders),
  };
  const documented = [...bindings].filter(([, documentedDefault]) => documentedDefault !== ABSENT);
  expect(Object.fromEntries(documented)).toEqual(defaults);
});

it("every npm script that the documentation names exists", () => {
  const { scripts } = JSON.parse(read("package.json")) as { scripts: Record<string, string> };
  const pages = [
    ...["README.md", "lua/README.md", "examples/README.md", "docs/architecture.md", "docs/algorithms.md"],
    ...["docs/failure-modes.md", "docs/consistency.md", "docs/client.md", "docs/threat-model.md", "docs/api.md"],
    "docs/decisions/0002-generated-script.md",
  ];
  const named = pages.flatMap((page) => [...read(page).matchAll(/npm (?:run ([\w:-]+)|(start|test)\b)/g)]);
  const missing = named.map(([, run, builtIn]) => (run ?? builtIn)!).filter((name) => !(name in scripts));
  expect(named.length).toBeGreaterThan(10);
  expect(missing).toEqual([]);
});

const blocksOf = (page: string) => [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code]) => code!);

it("every TypeScript block is the whole source of an example, which test/examples checks and runs", () => {
  const blocks = blocksOf(README);
  const names = ["fetch-handler", "hono-middleware", "service-binding"];
  expect(blocks).toEqual(names.map((name) => read(`examples/${name}/src/index.ts`)));
  // The first one is all that a newcomer types.
  expect(blocks[0]!.split("\n").length).toBeLessThanOrEqual(16);
});

it.each(blocksOf(README))("this runs as it stands, and refuses the third of three:\n%s", async (contents) => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const { outputFiles } = await build({
    stdin: { contents, loader: "ts", resolveDir: ROOT },
    alias: { "headgate/hono": join(ROOT, "src/hono.ts"), headgate: join(ROOT, "src/index.ts") },
    bundle: true,
    format: "esm",
    write: false,
  });
  const module = await import(`data:text/javascript,${encodeURIComponent(outputFiles[0]!.text)}`);
  const { default: worker } = module as { default: { fetch(...args: unknown[]): Promise<Response> } };
  const HEADGATE = createLimiter({
    policies: [{ name: "api", limits: [{ limit: 2, window: "1m" }] }],
    store: memoryStore(),
  });
  const ctx = { waitUntil() {}, passThroughOnException() {} };
  const [env, statuses]: [object, number[]] = [{ HEADGATE }, []];
  const [, method = "GET", path = "/"] = /app\.(post)\("(.+?)"/.exec(contents) ?? [];
  for (let i = 0; i < 3; i++) {
    const request = new Request(`https://gate.example${path}`, { method: method.toUpperCase() });
    statuses.push((await worker.fetch(request, env, ctx)).status);
  }
  expect(statuses).toEqual([200, 200, 429]);
});

it("every other page with TypeScript has a test of it, or is made from the types", () => {
  const pages = ["README.md", "examples/README.md", "lua/README.md"];
  for (const name of readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })) {
    if (name.endsWith(".md")) pages.push(`docs/${name}`);
  }
  const withCode = pages.filter((page) => /```(?:ts|tsx|typescript|js|javascript)\n/.test(read(page)));
  // docs/client.md: test/client/docs.test.ts. docs/api.md: scripts/docs/build-api.ts.
  expect(withCode.sort()).toEqual(["README.md", "docs/api.md", "docs/client.md"]);
});

it("every policy in a TOML block is accepted", () => {
  const blocks = [...README.matchAll(/```toml\n(.*?)```/gs)].map(([, text]) => parseToml(text!.replace(/^ {3}/gm, "")));
  const withPolicies = blocks
    .map(({ vars }) => vars as Record<string, unknown> | undefined)
    .filter((vars) => vars?.POLICIES);
  expect(withPolicies.length).toBeGreaterThan(0);
  for (const vars of withPolicies) expect(parseSettings(vars!).mistakes).toBeUndefined();
});

it("files that the documentation links to exist", () => {
  for (const page of [
    "README.md",
    "lua/README.md",
    "examples/README.md",
    "docs/architecture.md",
    "docs/algorithms.md",
    "docs/failure-modes.md",
    "docs/consistency.md",
    "docs/client.md",
    "docs/threat-model.md",
  ]) {
    const folder = page.includes("/") ? page.slice(0, page.lastIndexOf("/") + 1) : "";
    const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]+\.(?:md|ts))\)/g)].map(([, target]) => target!);
    for (const target of links) expect(read(`${folder}${target}`)).not.toBe("");
  }
});
