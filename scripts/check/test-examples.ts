/**
 * `npm run test:examples`: uses every example as somebody would who copied it: `npm install` of the packed tarball and
 * of packages from the registry, `tsc`, `wrangler dev` on a real Redis, and three simultaneous requests, of which one
 * must be refused. Then what `headgate init` writes, with 61 requests, the package in Bun and Deno, the examples that
 * are no Workers on their runtimes, a newcomer's path, timed, and programs of CommonJS. It takes minutes and needs the
 * registry. With arguments only these parts run: `workers`, `init`, `runtimes`, `elsewhere`, `newcomer`, `types`,
 * `commonjs`.
 * `npm run test:long` does the same without npm and wrangler (test/examples).
 */

import { randomBytes } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createBridge } from "../bridge/bridge.ts";
import { build, pack } from "../build/build.ts";
import { startRedisServer } from "../machine/redis-server.ts";
import { testCommonJs } from "./test-commonjs.ts";
import { testElsewhere } from "./test-elsewhere.ts";
import { run, testInit } from "./test-init.ts";
import { testNewcomer } from "./test-newcomer.ts";
import { testRuntimes } from "./test-runtimes.ts";
import { testTypes } from "./test-types.ts";
import { startWranglerDev } from "./wrangler-dev.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));

interface Case {
  readonly example: string;
  /** Other Workers in the same `wrangler dev`. */
  readonly beside?: string;
  readonly path?: string;
  readonly init?: RequestInit;
  /** Its Durable Object counts, and not Redis. */
  readonly isObject?: boolean;
  /** What the framework has built for wrangler. */
  readonly config?: string;
}

const CASES: readonly Case[] = [
  { example: "fetch-handler" },
  { example: "hono-middleware", path: "/login", init: { method: "POST" } },
  { example: "gateway", path: "/v1/items" },
  { example: "service-binding", beside: "gateway" },
  { example: "monthly-quota", path: "/v1/export" },
  { example: "sveltekit", beside: "sveltekit/app-counts", isObject: true },
  { example: "astro", config: "dist/server/wrangler.json", isObject: true },
  { example: "openai-proxy", path: "/v1/responses", init: { method: "POST", body: '{"max_output_tokens":4500}' } },
];

const directory = mkdtempSync(join(tmpdir(), "headgate-examples-"));
const redis = await startRedisServer();
const bridge = await createBridge({ redisUrl: redis.url, token: randomBytes(16).toString("hex") });
const openai = createServer((request, response) => request.resume().on("end", () => response.end("{}")));
await new Promise<void>((resolve) => openai.listen(0, "127.0.0.1", resolve));
const vars = [
  `UPSTASH_REDIS_REST_URL:${bridge.url}`,
  `UPSTASH_REDIS_REST_TOKEN:${bridge.token}`,
  `OPENAI_URL:http://127.0.0.1:${(openai.address() as AddressInfo).port}`,
].flatMap((value) => ["--var", value]);

try {
  build();
  const tarball = pack(directory);
  for (const name of CASES.map(({ example }) => example).filter(() => isAsked("workers"))) {
    const folder = join(directory, name);
    cpSync(join(EXAMPLES, name), folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
    const startMs = Date.now();
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--no-save", tarball);
    run(folder, "npm", "run", "check");
    console.log(`${name}: installed and checked in ${((Date.now() - startMs) / 1000).toFixed(0)} s`);
  }
  if (isAsked("workers")) for (const one of CASES) await drive(one);
  if (isAsked("init")) await testInit(tarball, directory);
  if (isAsked("runtimes")) testRuntimes(tarball, directory, bridge);
  if (isAsked("elsewhere"))
    await testElsewhere(tarball, directory, { url: bridge.url, token: bridge.token, redisUrl: redis.url });
  if (isAsked("newcomer")) await testNewcomer(tarball, directory);
  if (isAsked("types")) testTypes(tarball, directory);
  if (isAsked("commonjs")) testCommonJs(tarball, directory);
} finally {
  openai.close();
  await bridge.close();
  await redis.stop();
  rmSync(directory, { recursive: true, force: true });
}

function isAsked(part: string): boolean {
  const parts = process.argv.slice(2);
  return parts.length === 0 || parts.includes(part);
}

async function drive({ example, beside, path = "/", init, isObject, config = "wrangler.toml" }: Case): Promise<void> {
  const configs = ["-c", join(directory, example, config)];
  if (beside) configs.push("-c", join(directory, beside, "wrangler.toml"));
  const wrangler = await startWranglerDev(join(directory, example), [...configs, ...(isObject ? [] : vars)]);
  try {
    const address = `2001:db8:0:${randomBytes(2).toString("hex")}::1`;
    const ask = () => {
      const headers = { ...init?.headers, "CF-Connecting-IP": address, Authorization: `Bearer ${address}` };
      return fetch(`${wrangler.url}${path}`, { ...init, headers });
    };
    const statuses = (await Promise.all([ask(), ask(), ask()])).map(({ status }) => status).sort();
    console.log(`${example}: ${statuses.join(" ")}`);
    if (statuses.join(" ") !== "200 200 429") {
      console.error(wrangler.output());
      process.exitCode = 1;
    }
  } finally {
    await wrangler.stop();
  }
}
