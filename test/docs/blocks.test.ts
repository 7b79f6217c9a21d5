// A test runs every block of the guides, or compares the block with a command's output. A new block fails here until it
// has a test.

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { afterEach, expect, it, vi } from "vitest";
import { withRateLimit } from "../../src/adapters/with-rate-limit.ts";
import { parsePolicies, parseSettings } from "../../src/features/configuration.ts";
import { describeMistake } from "../../src/kernel/config/mistake.ts";
import { compileMatcher } from "../../src/kernel/http/match.ts";
import { LONGEST_STATED_MS } from "../../src/kernel/http/sdk-errors.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { createLimiter } from "../../src/limiter.ts";
import { redisStore } from "../../src/stores/redis-store.ts";
import { bundled } from "../support/programs.ts";
import { blocksOf, commandsOf, GUIDES, ROOT, read, tableIn } from "./markdown.ts";

/** Also docs/stores.md, whose programs for Node have tests of their own. */
const GUIDED = [...GUIDES, "docs/stores.md"];
const blocks = GUIDED.flatMap((page) => blocksOf(page).map((block, index) => ({ page, index, ...block })));
/** Outputs are compared without the waits in them. */
const PAGES = execFileSync("git", ["ls-files", "*.md"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
const PACKAGE = JSON.parse(read("package.json")) as { version: string; scripts: Record<string, string> };
const BINDINGS = tableIn(read("docs/configuration.md"), "Binding").map(({ Binding }) => Binding!);

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/**
 * Where each command is tested: a file that contains the second text. `npm run test:examples` installs from the
 * registry, so `npm test` does not run it.
 */
const COMMANDS: readonly (readonly [RegExp, file: string, holds: string])[] = [
  [/^npm ci && npm test$/, ".ci/run", "npm ci\nnpm test"],
  [/^npm ci && npm start$/, "test/scripts/start.long.test.ts", '"npm", "start"'],
  [/ localhost:8787\b|'http:\/\/localhost:8787\b/, "test/examples/shell.test.ts", "GUIDES"],
  [/^curl https:\/\/<your host>\/\.headgate\/health$/, "test/examples/shell.test.ts", "<your host>"],
  [/^npm run redis-http -- --port 8079 --token local --redis redis:\S+$/, "test/scripts/bridge.test.ts", "Bridge("],
  [/^npm run deploy$/, "test/gateway/deploy.test.ts", "dry-run"],
  [/^npx --yes headgate init my-gateway$/, "scripts/check/test-init.ts", '"init"'],
  [/^cd my-gateway && npm install$/, "scripts/check/test-init.ts", '"install"'],
  [/^npm init -y && npm install headgate( hono)? wrangler$/, "scripts/check/test-examples.ts", '"install"'],
  [
    // npm may choose an older wrangler, which knows no later date.
    /^npx wrangler dev( index\.ts --compatibility-date 2026-01-01| --port 8788)$/,
    "scripts/check/wrangler-dev.ts",
    '"dev"',
  ],
  [/^npx --yes headgate init demo$|^cd demo && npm install && npx wrangler dev$/, "test/cli/docs.test.ts", '"init"'],
  [/^UPSTASH_REDIS_REST_(URL|TOKEN)="\S+"$/, ".dev.vars.example", "# UPSTASH_REDIS_REST_URL="],
  // These commands are not run: they need Cloudflare and an image registry. Their names are compared below.
  [/^npx wrangler login$/, "docs/deploy.md", "Cloudflare account"],
  [/^npx headgate admin live (get|put) /, "test/gateway/admin-nodes.test.ts", "the two commands of docs/deploy.md"],
  [/^npx wrangler secret put [A-Z_]+$/, "docs/deploy.md", "wrangler login"],
  [/^REST_TOKEN=<secret> docker compose up$/, "test/scripts/compose.long.test.ts", "services.gateway.command"],
  [/^docker run .*hiett\/serverless-redis-http:latest$/, "docs/comparison.md", "SRH"],
];

it.each(blocks.filter(({ language }) => language === "sh"))(
  "each command of block $index of $page is known",
  (block) => {
    for (const command of commandsOf(block)) {
      const [, file = "", holds = ""] = COMMANDS.find(([pattern]) => pattern.test(command)) ?? [];
      expect(existsSync(join(ROOT, file)) && file, `${command} has a test`).toBeTruthy();
      expect(read(file), command).toContain(holds);
      for (const [, name] of command.matchAll(/npm run ([\w:-]+)/g)) expect(PACKAGE.scripts).toHaveProperty([name!]);
      for (const [, name] of command.matchAll(/secret put (\w+)/g)) expect(BINDINGS).toContain(name);
      for (const [, name] of command.matchAll(/-e (\w+)=/g)) expect(read("compose.yaml")).toContain(`      ${name}: `);
      if (file === ".dev.vars.example") expect(read(file)).toContain(`# ${command}\n`);
    }
  },
);

it.each(blocks.filter(({ language }) => !["sh", "ts", "toml"].includes(language)))(
  "block $index of $page is the output of the block before it, or has a test of its own",
  ({ page, index, language, text }) => {
    // The button in the form of Cloudflare's documentation.
    if (language === "md")
      return expect(text).toMatch(/^\[!\[Deploy to Cloudflare\]\(\S+\/button\)\]\(\S+\?url=.+\)\n$/);
    expect(["text", "json"]).toContain(language);
    if (text.startsWith("ACL SETUSER ")) return expect(read("test/redis/acl.test.ts")).toContain(`"${page}"`);
    const [before] = blocksOf(page).slice(index - 1);
    const commands = before!.language === "sh" ? commandsOf(before!) : [];
    expect(commands.at(-1)).toMatch(/^curl .*(?:localhost:8787|<your host>)/);
  },
);

it.each(PAGES)("%s shows no wait that a header would not say", (page) => {
  const waits = [...read(page).matchAll(/(?:;t=|\bRetry-After: )(\d+)/g)].map(([, seconds]) => Number(seconds));
  for (const seconds of waits) expect(seconds).toBeLessThanOrEqual(LONGEST_STATED_MS / 1_000);
});

const toml = [...GUIDED, "docs/runtimes.md"].flatMap((page) =>
  blocksOf(page, "toml").map((block) => ({ page, ...block })),
);

it.each(toml)("a TOML block of $page is accepted:\n$text", ({ text }) => {
  const { name, main, compatibility_date, minify, vars, routes, ...rest } = parseToml(
    text.replace("<name>", "name"),
  ) as Record<string, Record<string, unknown>>;
  // A whole file: older releases of wrangler know no later date.
  if (main) expect([name, main, compatibility_date, minify]).toEqual(["my-app", "index.ts", "2026-01-01", true]);
  if (rest.durable_objects) {
    // A Worker of one's own has no metrics: the first object and the first migration are those of `COUNTS`.
    const shipped = parseToml(read("wrangler.toml")) as typeof rest & { migrations: object[] };
    const [binding] = shipped.durable_objects!.bindings as object[];
    return expect(rest).toEqual({ durable_objects: { bindings: [binding] }, migrations: [shipped.migrations[0]] });
  }
  expect(rest).toEqual({});
  if (routes) expect(routes).toEqual([{ pattern: expect.any(String), zone_name: expect.any(String) }]);
  if (!vars) return expect(text).toMatch(/^routes = |^#:schema \.\/docs\/wrangler\.schema\.json\n$/);
  const policies = vars.POLICIES ?? [{ name: "default", limits: [{ limit: 60, window: "1m" }] }];
  const nodes = (vars.REDIS_NODES ?? []) as { token: string }[];
  const tokens = [
    ...(vars.UPSTASH_REDIS_REST_URL ? ["UPSTASH_REDIS_REST_TOKEN"] : []),
    ...nodes.map((node) => node.token),
    ...(vars.REDIS_NODES ? ["KEY_SECRET"] : []),
  ];
  expect(
    parseSettings({
      ...vars,
      ...Object.fromEntries(tokens.map((name) => [name, "a-token-or-secret"])),
      POLICIES: policies,
    }).mistakes,
  ).toBeUndefined();
});

/** test/examples/examples.long.test.ts runs blocks that are tests; the last two tests run lines without an import. */
const workersOf = (page: string) =>
  blocksOf(page, "ts").filter(({ text }) => /^export default /m.test(text) && !text.includes('from "vitest"'));

interface WranglerFile {
  readonly durable_objects: { readonly bindings: readonly { readonly name: string; readonly class_name: string }[] };
  readonly migrations: readonly { readonly new_sqlite_classes: readonly string[] }[];
}

/** How many simultaneous requests each other TypeScript block admits. */
const ADMITTED: Record<string, readonly number[]> = {
  "README.md": [3],
  "docs/library.md": [2, 2, 2, 1, 2],
  "docs/stores.md": [2],
};

it("every TypeScript block is run", () => {
  const pages = GUIDED.flatMap((page) => workersOf(page).map(() => page));
  const counted = Object.entries(ADMITTED).flatMap(([page, counts]) => counts.map(() => page));
  expect(pages).toEqual(counted);
});

const code = Object.entries(ADMITTED).flatMap(([page, counts]) =>
  workersOf(page).map(({ text }, i) => ({ page, text, admitted: counts[i]! })),
);

interface Module {
  readonly default: { fetch(...args: unknown[]): Promise<Response> };
  readonly [name: string]: unknown;
}

/** The Worker of a block, as it stands. It believes that it runs on Workers, where the edge names the client. */
async function moduleOf(text: string): Promise<Module> {
  vi.stubGlobal("navigator", { userAgent: "Cloudflare-Workers" });
  const alias = { "cloudflare:workers": join(ROOT, "test/support/objects/no-workers.ts") };
  const code = await bundled(text, { alias });
  const module = await import(`data:text/javascript,${encodeURIComponent(code)}`);
  return module as Module;
}

const workerOf = async (text: string) => (await moduleOf(text)).default;

it.each(code)("a block of $page runs as it stands, and admits $admitted:\n$text", async ({ page, text, admitted }) => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const forwarded = vi.fn(async (_request: Request) => new Response());
  vi.stubGlobal("fetch", forwarded);
  const worker = await workerOf(text);
  const counts = memoryStore();
  const env = { COUNTS: { idFromName: (name: string) => name, get: () => counts } };
  const ctx = { waitUntil() {}, passThroughOnException() {} };
  const route = /app\.(post)\("(.+?)"/.exec(text) ?? /app\.(get)\("(.+?)"/.exec(text) ?? [];
  const [, method = "post", path = "/v1/responses"] = route;
  const body = JSON.stringify({ input: "x".repeat(2_000), max_output_tokens: 4_000 });
  const answers: Response[] = [];
  for (let i = 0; i <= admitted; i++) {
    const headers = { "Content-Length": String(body.length) };
    const more = method === "post" ? { body, headers } : {};
    const request = new Request(`https://gate.example${path}`, { method: method.toUpperCase(), ...more });
    answers.push(await worker.fetch(request, env, ctx));
  }
  expect(answers.map(({ status }) => status)).toEqual([...Array<number>(admitted).fill(200), 429]);
  const refused = answers.at(-1)!;
  if (page === "README.md") {
    const fields = ["Retry-After", "retry-after-ms", "RateLimit", "RateLimit-Policy", "X-RateLimit-Reset"];
    expect(fields.filter((name) => !refused.headers.has(name))).toEqual([]);
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringMatching(/Try again in \d+ s/) } });
  }
  for (const [request] of forwarded.mock.calls) expect(request.url).toBe(`https://api.openai.com${path}`);
  expect(forwarded).toHaveBeenCalledTimes(text.includes("openai") ? admitted : 0);
});

it("the Workers of README.md have the object that their wrangler.toml binds: no isolate counts by itself", async () => {
  const [, file] = blocksOf("README.md", "toml").map(({ text }) => parseToml(text)) as [unknown, WranglerFile];
  const { class_name } = file.durable_objects.bindings.find(({ name }) => name === "COUNTS")!;
  expect(file.migrations[0]!.new_sqlite_classes).toEqual([class_name]);
  for (const { text } of workersOf("README.md")) {
    expect(text).toContain("storeFromEnv(env)");
    expect(await moduleOf(text)).toHaveProperty(class_name);
  }
});

it("the block of docs/library.md about plans admits as many as the page says", async () => {
  const block = workersOf("docs/library.md").find(({ text }) => text.includes("X-Customer"))!;
  const worker = await workerOf(block.text);
  for (const [customer, expected] of [
    ["ann", 5],
    ["bob", 7],
    ["eve", 2],
  ] as const) {
    let admitted = 0;
    const headers = { "X-Customer": customer };
    const send = () => worker.fetch(new Request("https://gate.example/orders", { method: "POST", headers }));
    while ((await send()).status === 200) admitted++;
    expect([customer, admitted]).toEqual([customer, expected]);
  }
});

it("the first block of docs/library.md is the whole source of an example", () => {
  expect(workersOf("docs/library.md")[0]!.text).toBe(read("examples/fetch-handler/src/index.ts"));
});

/**
 * What tests the blocks of the other pages, and how many blocks each test covers. docs/migrate has its tests in
 * test/migrate, and docs/start and docs/recipes have theirs in
 * test/recipes. docs/api.md and docs/api are generated from the types.
 */
const OTHERS: Record<string, Readonly<Record<string, number>>> = {
  "docs/algorithms.md": { "test/docs/configuration.test.ts": 8, "test/docs/algorithms.test.ts": 1 },
  "docs/architecture.md": { "test/examples/architecture.test.ts": 6, "test/docs/links.test.ts": 1 },
  "docs/cli.md": { "test/cli/docs.test.ts": 12 },
  "docs/clients.md": {
    "test/client/docs.test.ts": 1,
    "test/examples/shell.test.ts": 4,
    "test/operate/limits-page.test.ts": 1,
  },
  "docs/errors.md": { "test/docs/blocks.test.ts": 2 },
  "docs/failure-modes.md": { "test/docs/blocks.test.ts": 1 },
  "docs/llm.md": { "test/docs/llm.test.ts": 2, "test/gateway/meter-page.test.ts": 1 },
  "docs/mcp.md": { "test/features/rpc/docs.test.ts": 3 },
  "docs/metrics.md": { "test/gateway/prometheus.long.test.ts": 3 },
  "docs/operate.md": { "test/examples/operate.test.ts": 16 },
  "docs/replay.md": { "test/cli/replay/docs.test.ts": 2, "test/operate/record.test.ts": 2 },
  "docs/runtimes.md": { "test/docs/blocks.test.ts": 9 },
  "docs/storage-schema.md": { "test/examples/architecture.test.ts": 1, "test/kernel/store/storage-schema.test.ts": 2 },
  "docs/stores.md": {
    "test/docs/blocks.test.ts": 10,
    "test/examples/examples.long.test.ts": 2,
    "test/support/redis/tcp-clients.ts": 2,
  },
  "docs/verification.md": {
    "test/verify/histories/history.test.ts": 2,
    "test/verify/interleavings/explorer.test.ts": 1,
  },
  "examples/README.md": { "scripts/check/test-examples.ts": 1 },
  "lua/README.md": { "test/redis/script.test.ts": 1 },
  "test/README.md": { "test/docs/blocks.test.ts": 1 },
};

it("every other page with a block has a test of it", () => {
  const isPage = (name: string) =>
    name.endsWith(".md") && !/^(?:api\/|migrate\/|recipes\/|start\/|api\.md$)/.test(name);
  const docs = readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).filter(isPage);
  const pages = ["examples/README.md", "lua/README.md", "test/README.md", ...docs.map((name) => `docs/${name}`)];
  const others = pages.filter((page) => !GUIDES.includes(page) && blocksOf(page).length > 0);
  expect(others.sort()).toEqual(Object.keys(OTHERS));
  for (const [page, runs] of Object.entries(OTHERS)) {
    const sum = Object.values(runs).reduce((all, one) => all + one, 0);
    expect([page, blocksOf(page).length]).toEqual([page, sum]);
    for (const file of Object.keys(runs)) expect(existsSync(join(ROOT, file)), file).toBe(true);
  }
});

it("the policies of docs/configuration.md leave out what the page says", () => {
  const leavingOut = blocksOf("docs/configuration.md", "toml").filter(({ text }) =>
    /^(?:except|exempt) = /m.test(text),
  );
  const [match, exempting] = leavingOut.map(({ text }) => {
    const parsed = parseSettings((parseToml(text) as { vars: Record<string, unknown> }).vars);
    if (parsed.mistakes) throw new Error(parsed.mistakes.map(describeMistake).join());
    return compileMatcher(parsed.value.policies);
  });
  const isCounted = (url: string, method = "GET") => match!(new Request(url, { method })).length > 0;
  const leftOut = ["https://a.example/health", "https://a.example/public/a", "https://status.example.com/x"];
  expect(leftOut.filter((url) => isCounted(url))).toEqual([]);
  expect([isCounted("https://a.example/x"), isCounted(leftOut[2]!, "POST")]).toEqual([true, true]);
  const from = (address: string) => new Request("https://a.example/", { headers: { "CF-Connecting-IP": address } });
  const addresses = ["10.9.9.9", "::ffff:10.9.9.9", "2001:db8::9", "203.0.113.7", "203.0.113.8"];
  expect(addresses.filter((address) => exempting!(from(address)).length > 0)).toEqual(["203.0.113.8"]);
});

it("what limits logins keeps its limit in every window", () => {
  const limiting = blocks.filter(({ text }) => /name(?:: | = )"login"/.test(text));
  expect(limiting.map(({ page }) => page)).toEqual(["docs/configuration.md"]);
  for (const { page, text } of limiting) expect([page, text]).toEqual([page, expect.stringContaining('"sliding-log"')]);
});

it("docs/errors.md shows a mistake as it is described", () => {
  const { mistakes = [] } = parsePolicies([{ name: "a", limits: [{ limit: 0, window: "1m" }] }], "POLICIES");
  expect(blocksOf("docs/errors.md", "")[0]!.text).toBe(`${mistakes.map(describeMistake).join("\n")}\n`);
});

it("docs/errors.md binds the object of the metrics as wrangler.toml does", () => {
  const [object] = blocksOf("docs/errors.md", "toml");
  expect(read("wrangler.toml")).toContain(`\n${object!.text}`);
});

it("docs/failure-modes.md shows the line that an outage writes", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const error = "READONLY You can't write against a read only replica.";
  vi.stubGlobal("fetch", async () => Response.json({ error }, { status: 400 }));
  const store = redisStore({ url: "https://redis.example", token: "token" });
  const limiter = createLimiter({ policies: [{ name: "site", limits: [{ limit: 9, window: "1m" }] }], store });
  for (let i = 0; i < 5; i++) await limiter.take("site", { key: "ann" });
  const written = warn.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
  const shown = blocksOf("docs/failure-modes.md").map(({ text }) => JSON.parse(text) as object);
  const changes = written.filter(({ event }) => event === "breaker");
  expect(changes.map((line) => ({ ...line, at: "2026-11-21T12:00:00.000Z" }))).toEqual(shown);
});

it("docs/runtimes.md shows the examples, and the commands that start them", () => {
  const shown = blocksOf("docs/runtimes.md").map(({ text }) => text);
  const files = ["express/index.mjs", "hono-elsewhere/app.mjs", "hono-elsewhere/node.mjs"];
  for (const file of files) expect(shown).toContain(read(`examples/${file}`));
  expect(read("examples/express/http.mjs")).toContain(shown.find((text) => text.includes("createServer("))!);
  // `npm run test:examples` follows these commands.
  const commands = blocksOf("docs/runtimes.md", "sh").flatMap(commandsOf);
  const installs = ["express", "hono @hono/node-server"].map((name) => `npm init -y && npm install headgate ${name}`);
  const starts = ["index.mjs", "node.mjs"].map((file) => `node ${file}`);
  expect(commands).toEqual(installs.flatMap((install, i) => [install, starts[i]]));
});

it("docs/recipes/workers-frameworks.md lets a framework go on, and refuses what is too much", async () => {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const [, limit = "", sveltekit = "", nuxt = ""] = blocksOf("docs/recipes/workers-frameworks.md", "js").map(
    ({ text }) => text.replaceAll(/^import .*(?:\$app|h3|limit\.js).*\n/gm, ""),
  );
  // What the frameworks bring: here a building that is over, and the functions of h3 that the block calls.
  const around = `const building = false;
    const defineEventHandler = (handler) => handler;
    const getRequestURL = ({ url }) => url;
    const setResponseHeader = ({ answered }, name, value) => answered.set(name, value);`;
  const program = `${around}\n${limit}${sveltekit}${nuxt}`;
  const { handle, default: middleware } = (await moduleOf(program)) as unknown as {
    readonly handle: (given: object) => Promise<Response>;
    readonly default: (event: object) => Promise<Response | undefined>;
  };
  const headers = new Headers({ "CF-Connecting-IP": "192.0.2.1" });
  const request = new Request("https://site.example/", { headers });
  const context = { waitUntil() {} };
  const resolve = async () => new Response("A page.");
  const page = await handle({ event: { request, platform: { env: {}, ctx: context } }, resolve });
  expect([page.status, await page.text()]).toEqual([200, "A page."]);
  const answered = new Headers();
  const event = { url: request.url, method: "GET", headers, answered, context: { cloudflare: { env: {}, context } } };
  expect([await middleware(event), answered.get("X-RateLimit-Remaining")]).toEqual([undefined, "0"]);
  expect((await middleware(event))?.status).toBe(429);
  expect(await middleware({ context: {} })).toBeUndefined();
});

it("lua/README.md shows the error that the script's runner knows", () => {
  const [block] = blocksOf("lua/README.md");
  expect(read("test/redis/script.test.ts")).toContain(block!.text.trim());
});

it("test/README.md runs tests that there are, in projects that there are", () => {
  const commands = commandsOf(blocksOf("test/README.md")[0]!);
  for (const command of commands) {
    const [, project, file = ""] = /^(?:(?:PARITY_SEED=1|TESTS=all) )?npx vitest run --project (\w+) (\S+)/.exec(
      command,
    )!;
    expect(read("vitest.config.ts"), command).toMatch(new RegExp(`name: "${project}"`));
    expect(existsSync(join(ROOT, file)), command).toBe(true);
  }
});

it("examples/README.md starts an example that there is, from the package of this version", () => {
  const commands = commandsOf(blocksOf("examples/README.md")[0]!);
  expect(commands).toEqual(["npm pack", "cd examples/fetch-handler && npm install && npx wrangler dev"]);
  expect(read("examples/fetch-handler/package.json")).toContain(`file:../../headgate-${PACKAGE.version}.tgz`);
});

it("docs/stores.md shows the `take` of its example", () => {
  const [shown] = blocksOf("docs/stores.md", "ts").filter(({ text }) => text.startsWith("async take("));
  const example = read("examples/sqlite-store/sqlite-store.ts").replaceAll(/^ {4}/gm, "");
  expect(example).toContain(`\n${shown!.text}`);
});

it("docs/library.md lets a page of another origin read a 429 of withRateLimit", async () => {
  const [block, ...more] = blocksOf("docs/library.md", "ts").filter(({ text }) => text.startsWith("withRateLimit("));
  expect(more).toEqual([]);
  const limiter = createLimiter({
    policies: [{ name: "a", key: "global", limits: [{ limit: 1, window: "1h" }] }],
    store: memoryStore(),
  });
  const limitWith = new Function("withRateLimit", "handler", "limiter", `return ${block!.text}`);
  const limited = limitWith(withRateLimit, () => new Response(), limiter) as { fetch: typeof fetch };
  const headers = { Origin: "https://app.example.com" };
  const send = () => limited.fetch(new Request("https://api.example.com/", { headers }));
  expect((await send()).status).toBe(200);
  const refused = await send();
  expect([refused.status, refused.headers.get("Access-Control-Allow-Origin")]).toEqual([429, headers.Origin]);
  expect(refused.headers.get("Access-Control-Expose-Headers")).toMatch(/^Retry-After, .*RateLimit\b/);
});

it("docs/library.md limits one route of a Hono app", async () => {
  const [block, ...more] = blocksOf("docs/library.md", "ts").filter(({ text }) => text.includes("headgate/hono"));
  expect(more).toEqual([]);
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const worker = await workerOf(`
    import { createLimiter, storeFromEnv } from "headgate";
    import { Hono } from "hono";
    const app = new Hono();
    const policies = [{ name: "login", key: "global", limits: [{ limit: 1, window: "1h" }] }];
    ${block!.text}
    export default app;
  `);
  const send = () => worker.fetch(new Request("https://a.example/login", { method: "POST" }), {});
  const [first, second] = [await send(), await send()];
  expect([first.status, await first.json(), second.status]).toEqual([200, { left: 0 }, 429]);
});
