// `npm start`: runs `wrangler dev` with a store. Arguments after `--` go to wrangler.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { printable } from "../../src/cli/printable.ts";
import { type NamedRedis, tokenMissing, type ValueSource } from "../../src/cli/wrangler/bindings.ts";
import { createBridge } from "../bridge/bridge.ts";
import { findRedisServer, startRedisServer } from "../machine/redis-server.ts";
import { spawnTied, stopProcess, whenOrphaned } from "../machine/tied-process.ts";
import { chooseAdmin } from "./start-admin.ts";
import { envFileWith, findSources } from "./start-bindings.ts";
import { type ConfiguredStore, findConfiguredStore } from "./start-store.ts";
import { wranglerEnv } from "./wrangler-env.ts";
import { optionValues } from "./wrangler-options.ts";

/** How long wrangler may take to stop workerd and itself, in ms. Then its process group is killed. */
const STOP_GRACE_MS = 5_000;

/** What to clean up at the end, last one first. */
const cleanups: (() => unknown)[] = [];
let ending: Promise<never> | undefined;

function end(exitCode: number): Promise<never> {
  ending ??= (async () => {
    // A cleanup that fails must not stop the others.
    for (const cleanup of cleanups.reverse()) await (async () => cleanup())().catch(() => {});
    process.exit(exitCode);
  })();
  return ending;
}

/** A directory for this run's temporary files. It is removed at the end. */
function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "headgate-start-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Names of environments and files are what others have written. */
const say = (text: string) => console.log(printable(text));

/** On this machine the console shows at once what was sent, unless the user has set how often counts are handed on. */
function chooseFlush(sources: readonly ValueSource[]): string[] {
  // wrangler does not see the environment.
  const seen = sources.filter(([name]) => name !== "the environment");
  return seen.some(([, { STATS_FLUSH }]) => STATS_FLUSH !== undefined) ? [] : ["--var", "STATS_FLUSH:5s"];
}

/** Chooses store and admin token, prints a line about each, and returns wrangler's arguments for the bindings. */
async function chooseBindings(userArgs: string[]): Promise<string[]> {
  const found = findSources(userArgs, process.env);
  const configured = findConfiguredStore(found);
  const admin = chooseAdmin(found.sources, userArgs);
  const args = [...(await chooseStore(configured)), ...chooseFlush(found.sources)];
  if (admin.line !== undefined) console.log(admin.line);
  const handedOn = { ...configured.handedOn, ...admin.handedOn };
  if (Object.keys(handedOn).length === 0) return args;
  const { text, others } = envFileWith(handedOn, found);
  const file = join(temporaryDirectory(), "env");
  writeFileSync(file, text, { mode: 0o600 });
  return [...args, ...[...others, file].flatMap((path) => ["--env-file", path])];
}

async function chooseStore(configured: ConfiguredStore): Promise<string[]> {
  if (configured.found.length > 0) {
    const sources = [...new Set(configured.found.map(({ source }) => source))];
    say(`headgate: store is the Redis at ${hostsOf(configured.found)}, from ${sources.join(" and ")}`);
    return [];
  }
  const { unusable } = configured;
  if (unusable.length > 0) {
    say(`headgate: ${unusable[0]!.source} names the Redis at ${hostsOf(unusable)}. ${tokenMissing(unusable)}`);
  }
  const without = unusable.some(({ urlIn }) => urlIn === "REDIS_NODES") ? ["--var", "REDIS_NODES:"] : [];
  if (findRedisServer() === undefined) {
    const noUrl = unusable.length === 0 ? "no UPSTASH_REDIS_REST_URL, " : "";
    const store = configured.hasCounts ? "a Durable Object, in wrangler dev" : "this process's memory";
    say(`headgate: store is ${store} (${noUrl}no redis-server on PATH)`);
    return unusable.length === 0 ? [] : ["--var", "UPSTASH_REDIS_REST_URL:", ...without];
  }
  const redis = await startRedisServer();
  cleanups.push(redis.stop);
  const bridge = await createBridge({ redisUrl: redis.url, token: randomBytes(16).toString("hex") });
  cleanups.push(bridge.close);
  console.log(
    `headgate: store is a private ${redis.version} on port ${redis.port}, over the REST bridge ${bridge.url}`,
  );
  // Other users may read this token on the command line. It opens nothing more than Redis itself, which listens on
  // loopback without a password.
  const variables = [`UPSTASH_REDIS_REST_URL:${bridge.url}`, `UPSTASH_REDIS_REST_TOKEN:${bridge.token}`];
  return [...variables.flatMap((variable) => ["--var", variable]), ...without];
}

function hostsOf(all: readonly NamedRedis[]): string {
  return all.map(({ url }) => hostOf(url)).join(", ");
}

/** Only the host, because a URL may hold a password. */
function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an invalid URL";
}

function startWrangler(bindingArgs: string[], userArgs: string[]): void {
  // By default, wrangler takes another port if 8787 is taken. With an explicit port it fails with a message.
  const port = optionValues(userArgs, "--port").length > 0 ? [] : ["--port", "8787"];
  // Two gateways that start at the same moment would both find the default port 9229 free.
  const inspector = optionValues(userArgs, "--inspector-port").length > 0 ? [] : ["--inspector-port", "0"];
  // The Durable Object keeps its counts there: each start begins with fresh ones, as with a private Redis. And two
  // gateways that start at the same moment in one directory fail with "database is locked".
  const state = optionValues(userArgs, "--persist-to").length > 0 ? [] : ["--persist-to", temporaryDirectory()];
  // Start wrangler's program directly: its wrapper turns a crash into exit code 0.
  const cli = createRequire(import.meta.url).resolve("wrangler");
  const args = ["--no-warnings", cli, "dev", ...bindingArgs, ...port, ...inspector, ...state, ...userArgs];
  const wrangler = spawnTied(process.execPath, args, {
    stdio: "inherit",
    env: wranglerEnv(),
    // A separate process group, so that everything that wrangler leaves behind can be killed, above all workerd.
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
    // The group is empty, as usual.
  }
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => void end(0));

whenOrphaned(() => void end(1));

const userArgs = process.argv.slice(2);
try {
  const bindingArgs = await chooseBindings(userArgs);
  if (ending === undefined) startWrangler(bindingArgs, userArgs);
} catch (error) {
  console.error(printable(`headgate: ${(error as Error).message}`));
  await end(1);
}
