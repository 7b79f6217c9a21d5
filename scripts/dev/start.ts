// `npm start`: `wrangler dev` with a store. Arguments after `--` go to wrangler.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBridge } from "../bridge/bridge.ts";
import { findRedisServer, startRedisServer } from "../machine/redis-server.ts";
import { spawnTied, stopProcess, whenOrphaned } from "../machine/tied-process.ts";
import { findConfiguredStore } from "./start-store.ts";
import { optionValues, TOKEN_MISSING } from "./wrangler-bindings.ts";
import { wranglerEnv } from "./wrangler-env.ts";

/** How long wrangler may take to end workerd and itself, in ms, before its process group is killed. */
const STOP_GRACE_MS = 5_000;

/** What to undo at the end, last first. */
const cleanups: (() => unknown)[] = [];
let ending: Promise<never> | undefined;

function end(exitCode: number): Promise<never> {
  ending ??= (async () => {
    // One that fails must not keep the others from running.
    for (const cleanup of cleanups.reverse()) await (async () => cleanup())().catch(() => {});
    process.exit(exitCode);
  })();
  return ending;
}

/** This run's own directory for temporary files, gone at its end. */
function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "headgate-start-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Arguments for wrangler that name the store. Says in one line which one it is. */
async function chooseStore(userArgs: string[]): Promise<string[]> {
  const configured = findConfiguredStore(userArgs, process.env);
  if (configured.found) {
    const { url, source } = configured.found;
    console.log(`headgate: store is the Redis at ${hostOf(url)}, from ${source}`);
    if (configured.envFile === undefined) return [];
    const file = join(temporaryDirectory(), "env");
    writeFileSync(file, configured.envFile, { mode: 0o600 });
    return [...configured.otherEnvFiles, file].flatMap((path) => ["--env-file", path]);
  }
  const { unusable } = configured;
  if (unusable !== undefined) {
    console.log(`headgate: wrangler.toml names the Redis at ${hostOf(unusable)}. ${TOKEN_MISSING}`);
  }
  if (findRedisServer() === undefined) {
    const noUrl = unusable === undefined ? "no UPSTASH_REDIS_REST_URL, " : "";
    const store = configured.hasCounts ? "a Durable Object, in wrangler dev" : "this process's memory";
    console.log(`headgate: store is ${store} (${noUrl}no redis-server on PATH)`);
    return unusable === undefined ? [] : ["--var", "UPSTASH_REDIS_REST_URL:"];
  }
  const redis = await startRedisServer();
  cleanups.push(redis.stop);
  const bridge = await createBridge({ redisUrl: redis.url, token: randomBytes(16).toString("hex") });
  cleanups.push(bridge.close);
  console.log(
    `headgate: store is a private ${redis.version} on port ${redis.port}, over the REST bridge ${bridge.url}`,
  );
  // This token opens nothing that its reader could not reach anyway: Redis itself listens on loopback without a
  // password.
  return ["--var", `UPSTASH_REDIS_REST_URL:${bridge.url}`, "--var", `UPSTASH_REDIS_REST_TOKEN:${bridge.token}`];
}

/** The host alone: a URL may hold a password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an invalid URL";
}

function startWrangler(storeArgs: string[], userArgs: string[]): void {
  // wrangler's own default steps aside to another port when 8787 is taken; an explicit one is refused with a message.
  const port = optionValues(userArgs, "--port").length > 0 ? [] : ["--port", "8787"];
  // Two gateways started at the same moment would both find the default 9229 free.
  const inspector = optionValues(userArgs, "--inspector-port").length > 0 ? [] : ["--inspector-port", "0"];
  // The Durable Object keeps its counts there: each start begins with fresh ones, as with a private Redis. And two
  // gateways that start at the same moment in one directory end in "database is locked".
  const state = optionValues(userArgs, "--persist-to").length > 0 ? [] : ["--persist-to", temporaryDirectory()];
  // Without wrangler's wrapper, which turns a crash into exit code 0.
  const cli = createRequire(import.meta.url).resolve("wrangler");
  const args = ["--no-warnings", cli, "dev", ...storeArgs, ...port, ...inspector, ...state, ...userArgs];
  const wrangler = spawnTied(process.execPath, args, {
    stdio: "inherit",
    env: wranglerEnv(),
    // A process group of its own, so that what wrangler leaves behind, workerd above all, can be ended whatever became
    // of it.
    detached: true,
  });
  cleanups.push(async () => {
    await stopProcess(wrangler, STOP_GRACE_MS);
    killGroup(wrangler.pid);
  });
  wrangler.once("error", (error) => {
    console.error(`headgate: wrangler could not be started: ${error.message}`);
    void end(1);
  });
  wrangler.once("exit", (code) => void end(code ?? 1));
}

function killGroup(groupId: number | undefined): void {
  try {
    if (groupId !== undefined) process.kill(-groupId, "SIGKILL");
  } catch {
    // Nobody is left in it: the usual case.
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void end(0));

whenOrphaned(() => void end(1));

const userArgs = process.argv.slice(2);
try {
  const storeArgs = await chooseStore(userArgs);
  if (ending === undefined) startWrangler(storeArgs, userArgs);
} catch (error) {
  console.error(`headgate: ${(error as Error).message}`);
  await end(1);
}
