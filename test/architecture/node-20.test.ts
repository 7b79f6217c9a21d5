// package.json promises Node 20. This test removes everything newer; the library must still work.

import { spawnSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { buildCli } from "../../scripts/build/build-cli.ts";
import { folderWith } from "../support/folder.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What Node 24 has and some Node 20 lacks, found by comparing names. `URL.parse` came with a later Node 20. */
const LATER = [
  ...["URLPattern", "Iterator", "Float16Array", "WebSocket", "CloseEvent", "Storage", "navigator", "Temporal"],
  ...["DisposableStack", "AsyncDisposableStack", "SuppressedError"],
  ...["URL.parse", "Promise.withResolvers", "Promise.try", "Object.groupBy", "Map.groupBy", "Array.fromAsync"],
  ...["RegExp.escape", "Error.isError", "Math.f16round", "JSON.rawJSON", "Atomics.pause"],
  ...["union", "intersection", "difference", "symmetricDifference"].map((name) => `Set.prototype.${name}`),
  ...["isSubsetOf", "isSupersetOf", "isDisjointFrom"].map((name) => `Set.prototype.${name}`),
  ...["map", "filter", "take", "drop", "flatMap", "some", "every", "find", "reduce", "toArray", "forEach"].map(
    (name) => `Iterator.prototype.${name}`,
  ),
  ...["detached", "transfer", "transferToFixedLength"].map((name) => `ArrayBuffer.prototype.${name}`),
];

const TAKE_AWAY = `
  const holders = ${JSON.stringify(LATER)}.map((path) => [path.split(".").slice(0, -1), path.split(".").at(-1)])
    .map(([way, name]) => [way.reduce((holder, one) => holder?.[one], globalThis), name]);
  for (const [holder, name] of holders) if (holder) delete holder[name];
  for (const [holder, name] of holders) if (holder && name in holder) throw new Error(name + " is still there");
`;

const PROGRAM = `
  import { Hono } from "hono";
  import { createLimiter, memoryStore, redisStore, rendezvous, splitStore, withRateLimit } from "./src/index.ts";
  import { rateLimit } from "./src/adapters/hono.ts";
  import { rateLimit as onExpress } from "./src/adapters/express.ts";
  import { createServer } from "node:http";

  const policies = [
    { name: "users", match: { path: ["/users/:id", "/v1/*"], host: "*.example" }, key: ["cookie:sid", "query:u", "ip"],
      limits: [{ limit: 1, window: "1m", buckets: 6 }, { algorithm: "sliding-log", limit: 5, window: "1m" }] },
    { name: "slow", match: { path: "/slow" }, limits: [{ algorithm: "concurrency", limit: 1 }] },
  ];
  const ask = (path) => new Request("https://a.example" + path, { headers: { "CF-Connecting-IP": "2001:db8::1" } });

  const limiter = createLimiter({ policies, store: memoryStore() });
  const clientIp = { header: "cf-connecting-ip" };
  const wrapped = withRateLimit({ fetch: async () => new Response("ok") }, limiter, { clientIp });
  const app = new Hono();
  app.use(rateLimit(limiter, { clientIp }));
  app.get("*", (c) => c.text("ok"));
  const away = redisStore({ url: "http://127.0.0.1:9", token: "t", timeoutMs: 1_000 });

  const limit = onExpress(limiter, { clientIp: "socket" });
  const server = createServer((req, res) => limit(req, res, () => res.end("ok"))).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const node = [];
  for (const _ of [1, 2]) node.push((await fetch("http://127.0.0.1:" + server.address().port + "/v1/x", { headers: { Host: "a.example" } })).status);
  server.close();
  server.closeAllConnections();

  const split = splitStore([memoryStore(), memoryStore()], rendezvous(["a", "b"]));

  console.log(JSON.stringify({
    taken: (await limiter.take("users", { key: "a" })).allowed,
    wrapped: [(await wrapped.fetch(ask("/USERS/7"), {})).status, (await wrapped.fetch(ask("/v1/x"), {})).status],
    middleware: [(await app.request(ask("/users/7"))).status, await (await app.request(ask("/slow"))).text()],
    node,
    split: (await createLimiter({ policies, store: split }).take("users", { key: "a" })).allowed,
    withoutRedis: (await createLimiter({ policies, store: away, onDecision() {} }).take("users", { key: "a" })).source,
  }));
`;

it("the library runs on what Node 20 has", async () => {
  const { outputFiles } = await build({
    stdin: { contents: PROGRAM, resolveDir: ROOT, loader: "js" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    write: false,
  });
  // The removal runs first. The imports are part of the bundle and run after it, so they must work without these names
  // too.
  const input = `${TAKE_AWAY}\n${outputFiles[0]!.text}`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module"], { input, encoding: "utf8" });
  // The notes on the policies, which a client can evade.
  expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith('{"event":"note"'))).toEqual([]);
  expect(JSON.parse(stdout)).toEqual({
    taken: true,
    wrapped: [200, 429],
    middleware: [429, "ok"],
    node: [200, 200],
    split: true,
    withoutRedis: "fallback",
  });
});

it("the command line runs on what Node 20 has", () => {
  const folder = folderWith({ "package.json": JSON.stringify({ type: "module" }) });
  buildCli(folder);
  // Its imports are found from the folder.
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"), "junction");
  const imports = `data:text/javascript,${encodeURIComponent(TAKE_AWAY)}`;
  function printedBy(...args: string[]): unknown {
    const command = ["--import", imports, join(folder, "headgate.js"), ...args, "--json"];
    const { status, stdout, stderr } = spawnSync(process.execPath, command, { cwd: folder, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return JSON.parse(stdout);
  }
  expect(printedBy("limits", join(ROOT, "wrangler.toml"))).toMatchObject({
    regions: [{ policies: [{ name: "default" }] }],
  });
  writeFileSync(join(folder, "prices.csv"), "model,input,output\ndefault,15,75\n");
  expect(printedBy("prices", "prices.csv")).toEqual({ default: { input: 15, output: 75 } });
  const licenses = readFileSync(join(folder, "LICENSES.txt"), "utf8");
  for (const name of ["hono", "smol-toml", "strip-json-comments"])
    expect(licenses).toMatch(new RegExp(`^${name}$`, "m"));
});
