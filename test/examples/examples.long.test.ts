// The package as it would be published: packed, unpacked elsewhere, and every example run in workerd on a real Redis.

import { execFile, execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { parse } from "smol-toml";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { askProgram } from "../../scripts/check/test-elsewhere.ts";
import { askWithinAMinute } from "../../scripts/check/test-init.ts";
import { parseSettings } from "../../src/features/configuration.ts";
import type { CalendarLimit } from "../../src/kernel/core/calendar.ts";
import { periodAt } from "../../src/kernel/core/periods.ts";
import { blocksOf, FIRST_PAGES, GUIDES, RECIPES, read } from "../docs/markdown.ts";
import { fieldsOf } from "../support/cases/fields.ts";
import { uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { type Compatibility, startWorkerd, type WorkerdWorker } from "../support/gateway/workerd.ts";
import { EXAMPLES, type Example, type Packed, packAndInstall } from "../support/redis/packed.ts";

type Fetch = (path: string, init?: RequestInit) => Promise<Response>;

let packed: Packed;
beforeAll(() => {
  packed = packAndInstall();
  // Building takes seconds on a busy machine.
}, 60_000);
afterAll(() => packed?.remove());

/** Runs these Workers. Requests go to the first one, from a client address that no other test has. */
async function start(...workers: [WorkerdWorker, ...WorkerdWorker[]]): Promise<Fetch> {
  const { port, stop } = await startWorkerd(workers);
  onTestFinished(stop);
  const address = `2001:db8:${randomBytes(2).toString("hex")}:${randomBytes(2).toString("hex")}::1`;
  return (path, { headers, ...init } = {}) => {
    const all = new Headers(headers);
    all.set("CF-Connecting-IP", address);
    return fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers: all });
  };
}

function worker(name: string, code: string, options: Partial<WorkerdWorker> = {}): WorkerdWorker {
  return { name, code, wrangler: wranglerOf("fetch-handler"), ...options };
}

interface Wrangler extends Compatibility {
  readonly vars?: Record<string, unknown>;
}

function wranglerOf(example: Example): Wrangler {
  const path = fileURLToPath(new URL(`../../examples/${example}/wrangler.toml`, import.meta.url));
  return parse(readFileSync(path, "utf8")) as unknown as Wrangler;
}

function settingsOf(example: Example) {
  const parsed = parseSettings(wranglerOf(example).vars!);
  if (parsed.mistakes) throw new Error(JSON.stringify(parsed.mistakes));
  return parsed.value;
}

/** An example with the variables of its wrangler.toml, on the Redis of the tests. */
async function example(name: Example, options: Partial<WorkerdWorker> = {}): Promise<WorkerdWorker> {
  const redis = { UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") };
  const bindings = { ...wranglerOf(name).vars, ...redis, REDIS_TIMEOUT_MS: 10_000 };
  return worker(name, await packed.bundle(name), { bindings, ...options });
}

/** Its types are those of a package that is not installed here: `npm run test:examples` builds it. */
const isOfNext = ({ text }: { readonly text: string }) => text.includes('from "next/server"');
const isOfNode = ({ text }: { readonly text: string }) => !text.includes("export ");
const isTest = ({ text }: { readonly text: string }) => text.includes('from "vitest"');
const statusesOf = (answers: readonly Response[]) => answers.map(({ status }) => status).sort();
const threeOf = (ask: () => Promise<Response>) => Promise.all([ask(), ask(), ask()]);

describe("of three at once under a limit of two, one is refused", () => {
  // What their answers say is in test/adapters/promises.ts.
  it.each<[Example, path?: string, init?: RequestInit]>([
    ["fetch-handler"],
    ["hono-middleware", "/login", { method: "POST" }],
    ["gateway", "/v1/items"],
    ["service-binding", "/", { headers: { "X-User": uniqueName("ann") } }],
  ])("by %s", async (name, path = "/", init = {}) => {
    const isCaller = name === "service-binding";
    const services = { HEADGATE: { name: "gateway", entrypoint: "RateLimitService" } };
    const called = isCaller ? [await example("gateway")] : [];
    const fetch = await start(await example(name, isCaller ? { services } : {}), ...called);
    expect(statusesOf(await threeOf(() => fetch(path, init)))).toEqual([200, 200, 429]);
  });

  it("by the tokens that its body may cost, and settled by those of the answer", async () => {
    const usage = { prompt_tokens: 500, completion_tokens: 100, total_tokens: 600 };
    const answer = JSON.stringify({ choices: [{ message: { content: "Hi" } }], usage });
    const waiting: (() => void)[] = [];
    let asked = 0;
    // Everything that the Worker fetches comes here, what it asks of Redis too.
    const { url: network } = await startOrigin(async (request, response) => {
      const { host, authorization = "" } = request.headers;
      const sent = await text(request);
      if (host !== "api.openai.com") {
        const init = { method: "POST", headers: { authorization }, body: sent };
        const reply = await globalThis.fetch(inject("restUrl"), init);
        return response.writeHead(reply.status).end(await reply.text());
      }
      // The first two are in flight together.
      if (++asked <= 2) await new Promise<void>((resolve) => waiting.push(resolve));
      return response.writeHead(200, { "Content-Type": "application/json" }).end(answer);
    });
    const fetch = await start(await example("openai-proxy", { network }));
    const body = JSON.stringify({ messages: [{ content: "x".repeat(2_000) }], max_tokens: 4_000 });
    const headers = { Authorization: `Bearer ${uniqueName("token")}`, "Content-Type": "application/json" };
    const ask = () => fetch("/v1/chat/completions", { method: "POST", headers, body });

    const all = [ask(), ask(), ask()];
    // 4,502 tokens each: two fit into 10,000 before one of them is settled.
    const refused = await Promise.race(all);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    await vi.waitFor(() => expect(waiting).toHaveLength(2), { timeout: 20_000 });
    for (const resolve of waiting) resolve();
    const answers = await Promise.all(all);
    expect(statusesOf(answers)).toEqual([200, 200, 429]);
    for (const one of answers) if (one.ok) expect(await one.text()).toBe(answer);

    // Settled: 1,200 of 10,000 are used, so that the same request is admitted again.
    await vi.waitFor(async () => expect((await ask()).status).toBe(200), { timeout: 5_000, interval: 200 });
    expect((await fetch("/v1/chat/completions", { method: "POST", body })).status).toBe(401);
  });
});

it("a month of calls is sold from the 15th on, and its customers see what the example says", async () => {
  const fetch = await start(await example("monthly-quota"));
  const { policies } = settingsOf("monthly-quota");
  const [limit] = policies[0]!.limits;
  const periodNow = () => periodAt(limit as CalendarLimit, Date.now());
  const secondsUntil = (atMs: number) => (atMs - Date.now()) / 1_000;

  // A month that ends in the middle of this begins another one.
  for (let startsAtMs = 0; startsAtMs !== periodNow().startsAtMs; ) {
    const { startsAtMs: began, endsAtMs } = periodNow();
    startsAtMs = began;
    const headers = { "X-API-Key": uniqueName("ann") };
    const longest = secondsUntil(endsAtMs);
    const first = await fetch("/v1/items", { headers });
    for (let i = 0; i < 2; i++) await fetch("/v1/export", { headers });
    const refused = await fetch("/v1/export", { headers });
    const left = await (await fetch("/.headgate/limits/me?method=GET&path=/v1/items", { headers })).text();
    const page = await (await fetch("/.headgate/limits", { headers: { Accept: "text/html" } })).text();
    const shortest = secondsUntil(endsAtMs);
    if (startsAtMs !== periodNow().startsAtMs) continue;

    const w = (endsAtMs - startsAtMs) / 1_000;
    expect(fieldsOf(first).policies).toEqual({ calls: { q: 10_000, w } });
    const problem = (await refused.json()) as { retryAfterMs: number };
    expect(problem).toMatchObject({ "violated-policies": ["calls"] });
    expect(problem.retryAfterMs / 1_000).toBeGreaterThanOrEqual(shortest);
    expect(problem.retryAfterMs / 1_000).toBeLessThan(longest + 1);
    // The headers say a day at most.
    for (const wait of [fieldsOf(refused).retryAfter!, Number(fieldsOf(first).states!.calls!.t)]) {
      expect(wait).toBe(Math.min(86_400, Math.ceil(problem.retryAfterMs / 1_000)));
    }
    const lines = ({ status, statusText, headers }: Response, ...names: string[]) =>
      [`HTTP/1.1 ${status} ${statusText}`, ...names.map((name) => `${name}: ${headers.get(name)}`), ""].join("\n");
    const seen = [
      lines(first, "RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
      lines(refused, "Retry-After", "RateLimit", "RateLimit-Policy"),
      `${left}\n`,
    ];
    const timeless = (text: string) =>
      text.replace(/([tw]=|Retry-After: |Reset: |AfterMs":)\d+/g, "$1…").replace(/"region":"\w+"/, "…");
    const shown = blocksOf("examples/monthly-quota/README.md", "text", "json").map(({ text }) => text);
    expect(seen.map(timeless)).toEqual(shown.map(timeless));
    for (const said of ["10,000 units per month", "resets at midnight on the 15th, America/Los_Angeles"]) {
      expect(page).toContain(said);
    }
  }
});

// It waits in real time, 20 s at most: the client is told the wait, and the clock is the Redis server's.
// test/gateway/mcp.long.test.ts has the stream of a client beside a refusal.
it("an MCP server refuses by tool, and its client waits as told and succeeds", async () => {
  const folder = join(packed.directory, "examples/mcp-server");
  const redis = { UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") };
  const env = { ...redis, REDIS_TIMEOUT_MS: "10000", KEY_SECRET: uniqueName("a secret of this run") };
  await askProgram(folder, [process.execPath, "server.mjs"], env, async (_, port) => {
    const url = `http://127.0.0.1:${port}/mcp`;
    const client = new Client({ name: "watching", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)));
    const deleteNote = (id: number) => client.callTool({ name: "delete_note", arguments: { id } });
    for (const id of [1, 2]) await deleteNote(id);
    await expect(deleteNote(3)).rejects.toMatchObject({
      code: 429,
      message: expect.stringMatching(/Try again in \d+ seconds?\."/),
    });
    await client.close();
    // Another client of the same address: refused at first, it waits as told.
    const { stdout } = await promisify(execFile)(process.execPath, ["client.mjs"], {
      cwd: folder,
      env: { PATH: process.env.PATH, MCP_URL: url },
    });
    expect(stdout).toMatch(/waiting \d+ s/);
    expect(stdout.match(/note \d is deleted/g)).toEqual([1, 2, 3].map((id) => `note ${id} is deleted`));
    return [];
  });
}, 120_000);

it("a plan pays, then the team, then credits, as the example shows", async () => {
  const fetch = await start(await example("team-budget"));
  const [shown] = blocksOf("examples/team-budget/README.md", "text").map(({ text }) => text);
  const body = '{"model":"gpt-5","max_tokens":1000,"messages":[]}';
  let lines: string[] = [];
  // A month that ends in the middle of this begins another.
  for (let began = -1; began !== new Date().getUTCMonth(); ) {
    began = new Date().getUTCMonth();
    lines = [];
    const headers = { "X-User": uniqueName("ann"), "X-Team": uniqueName("acme"), "Content-Type": "application/json" };
    for (let i = 0; i < 7; i++) {
      const answer = await fetch("/v1/chat/completions", { method: "POST", body, headers });
      lines.push(`${answer.status} ${answer.headers.get("RateLimit")}\n`);
    }
  }
  const timeless = (text: string) => text.replaceAll(/;t=\d+/g, ";t=…");
  expect(timeless(lines.join(""))).toBe(timeless(shown!));
});

it("what `headgate init` writes admits 60 of 61 requests, counted by its Durable Object", async () => {
  const cli = join(packed.directory, "node_modules/headgate/dist/cli/headgate.js");
  const made = execFileSync(process.execPath, [cli, "init", "demo", "--json"], { cwd: packed.directory });
  expect(JSON.parse(String(made))).toMatchObject({ name: "demo", files: expect.arrayContaining(["src/index.ts"]) });
  const wrangler = parse(readFileSync(join(packed.directory, "demo/wrangler.toml"), "utf8")) as unknown as Wrangler;
  const code = await packed.bundleFile("demo/src/index.ts");
  const { port, stop } = await startWorkerd([{ name: "demo", code, wrangler, bindings: wrangler.vars!, counts: true }]);
  onTestFinished(stop);
  const statuses = await askWithinAMinute(61, (address) =>
    fetch(`http://127.0.0.1:${port}`, { headers: { "CF-Connecting-IP": address } }),
  );
  expect(statuses).toEqual([...Array<number>(60).fill(200), 429]);
  const health = await (await fetch(`http://127.0.0.1:${port}/.headgate/health`)).json();
  expect(health).toMatchObject({ status: "ok", store: "durable-object" });
});

it("what `headgate init --counts` writes counts for two apps in Workers of their own", async () => {
  const cli = join(packed.directory, "node_modules/headgate/dist/cli/headgate.js");
  for (const args of [
    ["counts", "--counts"],
    ["app", "--behind", "worker"],
  ]) {
    execFileSync(process.execPath, [cli, "init", ...args], { cwd: packed.directory });
  }
  const [app, counts] = await Promise.all(["app", "counts"].map((name) => packed.bundleFile(`${name}/src/index.ts`)));
  const apps = ["app", "other"].map((name) => worker(name, app!, { counts: "counts" }));
  const { ports, stop } = await startWorkerd([worker("counts", counts!, { counts: true }), ...apps]);
  onTestFinished(stop);
  // If each app counted by itself, both would admit all.
  let asked = 0;
  const statuses = await askWithinAMinute(61, (address) =>
    fetch(`http://127.0.0.1:${ports[++asked % 2 ? "app" : "other"]}`, { headers: { "CF-Connecting-IP": address } }),
  );
  expect(statuses).toEqual([...Array<number>(60).fill(200), 429]);
});

describe("a function of env makes one limiter for the program, though each request brings an env of its own", () => {
  const file = "support/runtimes/adapters.mjs";
  const platforms = ["pages", "lambda", "netlify", "vercel", "deno", "bun", "node"];
  const lineOf = (platform: string, way: string, kind: string) => {
    return { platform, way, made: [kind], statuses: [200, 200, 200, 429, 429, 429] };
  };

  it.each(["redis", "memory"])("Hono's adapters, counting by %s", (kind) => {
    cpSync(fileURLToPath(new URL(`../${file}`, import.meta.url)), join(packed.directory, "adapters.mjs"));
    const redis = { UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") };
    const { stdout, stderr } = spawnSync(process.execPath, ["adapters.mjs"], {
      encoding: "utf8",
      cwd: packed.directory,
      env: { PATH: process.env.PATH, ...(kind === "redis" && { ...redis, REDIS_TIMEOUT_MS: "10000" }) },
    });
    const lines = stdout.split("\n").filter(Boolean);
    const expected = platforms.flatMap((platform) =>
      ["rateLimit", "withRateLimit"].map((way) => lineOf(platform, way, kind)),
    );
    expect(
      lines.map((line) => JSON.parse(line) as unknown),
      stderr,
    ).toEqual(expected);
  });

  it("on Pages in workerd, where a Durable Object of the first request's env counts for all", async () => {
    const script = await packed.bundleText(`
      import { createLimiter, storeFromEnv } from "headgate";
      import { rateLimit } from "headgate/hono";
      import { Hono } from "hono";
      import { handle } from "hono/cloudflare-pages";
      export { HeadgateCounts } from "headgate/durable-object";
      const policies = [{ name: "three", key: "global", limits: [{ algorithm: "sliding-log", limit: 3, window: "1h" }] }];
      const app = new Hono();
      app.use(rateLimit((env) => createLimiter({ policies, store: storeFromEnv(env) })));
      app.get("*", (c) => c.text(c.get("rateLimit").source));
      const onRequest = handle(app);
      export default {
        fetch: (request, env, ctx) =>
          onRequest({ request, env, waitUntil: (work) => ctx.waitUntil(work), passThroughOnException() {} }),
      };
    `);
    const fetch = await start(worker("pages", script, { bindings: { REDIS_TIMEOUT_MS: 10_000 }, counts: true }));
    const answers = [];
    for (let n = 0; n < 6; n++) answers.push(await fetch("/"));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429, 429]);
    // Nobody has fallen back to counting by itself.
    expect(await Promise.all(answers.slice(0, 3).map((answer) => answer.text()))).toEqual(
      Array(3).fill("durable-object"),
    );
  });
});

it("all examples and the blocks of guides and recipes are well typed under strict, libraries included", () => {
  const workers = blocksOf("docs/stores.md", "ts").filter(({ text }) => text.includes("export default "));
  const blocks = [...GUIDES, ...FIRST_PAGES, ...RECIPES]
    .flatMap((page) => blocksOf(page, "ts"))
    .concat(workers)
    .filter((block) => !isTest(block) && !isOfNext(block) && !isOfNode(block));
  for (const [i, { text }] of blocks.entries()) {
    const folder = join(packed.directory, `examples/block-${i}/src`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "index.ts"), text);
  }
  expect(packed.check()).toBe("");
  expect(EXAMPLES).toHaveLength(7);
});

it("the tests of the documents pass as somebody would run them: a store of one's own, and a limit under a clock", () => {
  const folder = join(packed.directory, "tests");
  mkdirSync(folder, { recursive: true });
  const own = blocksOf("docs/stores.md", "ts").filter(({ text }) => /sqlite/.test(text));
  const [storeTest, limiter, ...others] = own;
  const limits = blocksOf("docs/recipes/test-your-limits.md", "ts");
  expect([others, limits]).toEqual([[], [expect.anything()]]);
  const ask = `
    import { expect, it } from "vitest";
    import { limiter } from "./limiter.ts";
    it("decides", async () => {
      expect(await limiter.take("api", { key: "ann" })).toMatchObject({ source: "sqlite", remaining: 99 });
    });
  `;
  const files = {
    "sqlite-store.ts": read("examples/sqlite-store/sqlite-store.ts"),
    "sqlite-store.test.ts": storeTest!.text,
    "limiter.ts": limiter!.text,
    "limiter.test.ts": ask,
    "limits.test.ts": limits[0]!.text,
    "package.json": JSON.stringify({ type: "module" }),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  expect(packed.checkOnNode(folder)).toBe("");
  const report = packed.runTests(folder);
  expect(report, report.failures).toMatchObject({ success: true, numPendingTests: 0 });
  expect(report.numPassedTests).toBeGreaterThan(30);
});

it("programs for Node are well typed without the types of Workers, as the guides say", () => {
  const folder = join(packed.directory, "node-program");
  mkdirSync(folder);
  const [, after] = blocksOf("docs/migrate/rate-limiter-flexible.md", "ts");
  expect(after!.text).toContain('from "node:http"');
  const programs = RECIPES.flatMap((page) => blocksOf(page, "ts")).filter(isOfNode);
  for (const [i, { text }] of [after!, ...programs].entries()) writeFileSync(join(folder, `${i}.mts`), text);
  expect(packed.checkOnNode(folder)).toBe("");
});
