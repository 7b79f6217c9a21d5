/** The examples that are no Workers, each installed from the packed package and run where it belongs. */

import type { ChildProcess } from "node:child_process";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../machine/redis-server.ts";
import { spawnTied, stopProcess } from "../machine/tied-process.ts";
import { run } from "./test-init.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples", import.meta.url));
const START_TIMEOUT_MS = 60_000;

/** The package with the program of this release of Node, which npm's package `node` would install. */
const nodePackage = (version: string) => `node-${process.platform}-${process.arch}@${version}`;
const NODE_20 = "20.20.2";
const node20 = `node_modules/node-${process.platform}-${process.arch}/bin/node`;

interface Example {
  readonly name: string;
  /** Installed beside what its package.json names. */
  readonly beside: readonly string[];
  readonly build?: string;
  /** Changes the copy of the example. */
  readonly change?: (folder: string) => void;
  /** Programs to start, by what they are. */
  readonly starts: Readonly<Record<string, readonly [program: string, ...args: string[]]>>;
}

export const [BUN, DENO] = ["bun@1.4.5", "deno@2.9.6"] as const;
const NEXT_15 = "next@15.5.29";
const DENO_RUN = ["run", "--allow-net", "--allow-env", "--allow-read", "deno.mjs"];

const RUNS: readonly Example[] = [
  {
    name: "express",
    beside: [nodePackage(NODE_20)],
    starts: {
      "Express 5 on Node 24": [process.execPath, "index.mjs"],
      "Express 5 on Node 20": [node20, "index.mjs"],
      "Express 5 on Node 24, Redis by TCP": [process.execPath, "redis.mjs"],
      "Express 5 on Node 20, Redis by TCP": [node20, "redis.mjs"],
      "node:http on Node 24": [process.execPath, "http.mjs"],
      "node:http on Node 20": [node20, "http.mjs"],
    },
  },
  {
    name: "express",
    beside: [nodePackage(NODE_20), "express@4.22.3", "@types/express@4"],
    starts: {
      "Express 4 on Node 24": [process.execPath, "index.mjs"],
      "Express 4 on Node 20": [node20, "index.mjs"],
    },
  },
  {
    name: "hono-elsewhere",
    // Each is a program of about 100 MB: too large for everybody who runs the tests.
    beside: [nodePackage(NODE_20), BUN, DENO],
    starts: {
      "Hono on Node 24": [process.execPath, "node.mjs"],
      "Hono on Node 20": [node20, "node.mjs"],
      "Hono on Bun": ["node_modules/.bin/bun", "bun.mjs"],
      "Hono on Deno": ["node_modules/.bin/deno", ...DENO_RUN],
    },
  },
  // `npm run test:long` runs it, with the official client (test/examples).
  { name: "mcp-server", beside: [], starts: {} },
  {
    name: "next",
    beside: [],
    build: "build",
    starts: { "Next.js 16, proxy.ts": ["node_modules/.bin/next", "start"] },
  },
  {
    name: "next",
    beside: [],
    build: "build",
    change: (folder) => asMiddleware(folder),
    starts: { "Next.js 16, middleware.ts": ["node_modules/.bin/next", "start"] },
  },
  {
    name: "next",
    beside: [NEXT_15],
    build: "build",
    change: (folder) => asMiddleware(folder),
    starts: { "Next.js 15, edge": ["node_modules/.bin/next", "start"] },
  },
  {
    name: "next",
    beside: [NEXT_15],
    build: "build",
    change: (folder) => asMiddleware(folder, ' runtime: "nodejs",'),
    starts: { "Next.js 15, Node": ["node_modules/.bin/next", "start"] },
  },
  {
    name: "node-frameworks",
    beside: [nodePackage(NODE_20)],
    starts: {
      "Fastify on Node 24": [process.execPath, "fastify.mjs"],
      "Fastify on Node 20": [node20, "fastify.mjs"],
      "Koa on Node 24": [process.execPath, "koa.mjs"],
      "Koa on Node 20": [node20, "koa.mjs"],
      "NestJS on Node 24": [process.execPath, "nestjs/dist/main.js"],
    },
  },
];

/** As releases before Next.js 16 name it, for the edge runtime. @param config more of its configuration. */
function asMiddleware(folder: string, config = ""): void {
  const proxy = readFileSync(join(folder, "proxy.ts"), "utf8");
  const middleware = proxy
    .replace("function proxy", "function middleware")
    .replace("config = {", `config = {${config}`);
  writeFileSync(join(folder, "middleware.ts"), middleware);
  rmSync(join(folder, "proxy.ts"));
}

interface Redis {
  /** Of the REST bridge. */
  readonly url: string;
  readonly token: string;
  /** Of the Redis behind it. */
  readonly redisUrl: string;
}

/** @param directory an existing folder. @throws if a command fails or the statuses are others. */
export async function testElsewhere(tarball: string, directory: string, redis: Redis): Promise<void> {
  process.env.NEXT_TELEMETRY_DISABLED = "1";
  for (const [at, { name, beside, build, change, starts }] of RUNS.entries()) {
    const folder = join(directory, `elsewhere-${at}`);
    cpSync(join(EXAMPLES, name), folder, {
      recursive: true,
      filter: (path) => !/\/examples\/.*\/(?:node_modules|\.next)(?:\/|$)/.test(path),
    });
    change?.(folder);
    const startMs = Date.now();
    run(folder, "npm", "install", "--no-audit", "--no-fund", "--no-save", tarball, ...beside);
    run(folder, "npm", "run", build ?? "check");
    console.log(`${name}: installed and ${build ? "built" : "checked"} in ${secondsSince(startMs)} s`);
    for (const [what, command] of Object.entries(starts)) await drive(what, folder, command, redis);
  }
}

/**
 * Of three requests at once, two are admitted. Then another process refuses the next one: both count in Redis. Tried
 * again if a minute of the clock ends in between, because then units are back.
 */
async function drive(what: string, folder: string, command: readonly string[], redis: Redis): Promise<void> {
  const expected = "200 200 429, 429";
  const { url, token, redisUrl } = redis;
  const own = { REDIS_URL: redisUrl, KEY_SECRET: "a secret of this run" };
  const env = { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token, ...own };
  let found = "";
  for (let attempt = 1; attempt <= 3 && found !== expected; attempt++) {
    const forgotten = await fetch(redis.url, {
      method: "POST",
      headers: { Authorization: `Bearer ${redis.token}` },
      body: JSON.stringify(["FLUSHALL"]),
    });
    if (!forgotten.ok) throw new Error(`FLUSHALL: ${await forgotten.text()}`);
    const statuses = await askProgram(folder, command, env, (ask) => Promise.all([ask(), ask(), ask()]));
    const next = await askProgram(folder, command, env, async (ask) => [await ask()]);
    found = `${statuses.sort().join(" ")}, ${next}`;
  }
  console.log(`${what}: ${found}`);
  if (found !== expected) throw new Error(`${what}: expected ${expected}`);
}

/** Starts a program that listens on `PORT`, asks it, and stops it. @throws if it does not answer in time. */
export async function askProgram(
  folder: string,
  [program = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  ask: (status: () => Promise<number>, port: number) => Promise<number[]>,
): Promise<number[]> {
  const port = await freePort();
  const { PATH, HOME } = process.env;
  const child = spawnTied(program.startsWith("node_modules/") ? join(folder, program) : program, args, {
    cwd: folder,
    env: { PATH, HOME, NEXT_TELEMETRY_DISABLED: "1", PORT: String(port), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk));
  try {
    await listening(child, port);
    return await ask(async () => {
      const response = await fetch(`http://127.0.0.1:${port}/`);
      await response.arrayBuffer();
      return response.status;
    }, port);
  } catch (error) {
    throw new Error(`${program} ${args.join(" ")} in ${folder}:\n${output}`, { cause: error });
  } finally {
    await stopProcess(child);
  }
}

/** Connects and sends nothing: a request would be counted. */
async function listening(child: ChildProcess, port: number): Promise<void> {
  for (const deadlineAt = Date.now() + START_TIMEOUT_MS; Date.now() < deadlineAt; ) {
    if (child.exitCode !== null) throw new Error("it has ended");
    const socket = connect(port, "127.0.0.1");
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    });
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("it does not listen");
}

function secondsSince(startMs: number): string {
  return ((Date.now() - startMs) / 1000).toFixed(0);
}
