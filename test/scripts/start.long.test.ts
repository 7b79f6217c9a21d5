// Runs `npm start` as a user does, with the real wrangler, workerd and Redis.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { freePort } from "../../scripts/machine/redis-server.ts";
import { commandLine, descendants, isAlive } from "../support/gateway/processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const directory = mkdtempSync(join(tmpdir(), "headgate-start-test-"));
const emptyEnvFile = join(directory, "env");
writeFileSync(emptyEnvFile, "");

/** Keeps the developer's own settings out: those of the environment, and with --env-file those of .dev.vars. */
const cleanEnvironment: NodeJS.ProcessEnv = { ...process.env };
for (const name of ["UPSTASH_REDIS_REST_URL", "UPSTASH_REDIS_REST_TOKEN", "ADMIN_TOKEN", "npm_lifecycle_event"]) {
  delete cleanEnvironment[name];
}

/** For four gateways at once on a busy machine. */
const START_TIMEOUT_MS = 120_000;
/** Every child, so that none outlives the tests. */
const children: ChildProcess[] = [];

interface Gateway {
  child: ChildProcess;
  port: number;
  output: () => string;
}

async function launch(
  [program, ...command]: [string, ...string[]],
  environment: NodeJS.ProcessEnv = {},
): Promise<Gateway> {
  const port = await freePort();
  // A long budget for a busy machine: the health check asks Redis within it.
  const budget = ["--var", "REDIS_TIMEOUT_MS:10000"];
  const args = [...command, "--port", String(port), "--env-file", emptyEnvFile, ...budget];
  const env = { ...cleanEnvironment, ...environment };
  // A separate process group, so that the test can send Ctrl-C.
  const child = spawn(program, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
  children.push(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  return { child, port, output: () => output };
}

/** Resolves when the gateway listens. */
async function start(...launched: Parameters<typeof launch>): Promise<Gateway> {
  const gateway = await launch(...launched);
  const { child, port, output } = gateway;
  while (!output().includes("Ready on ")) {
    if (child.exitCode !== null) throw new Error(`expected a gateway on port ${port}, found none:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return gateway;
}

async function health({ port }: Gateway): Promise<unknown> {
  return await (await fetch(`http://localhost:${port}/.headgate/health`)).json();
}

/** Sends the signal of a terminal or a supervisor, and waits until no process of the gateway runs any more. */
async function expectNothingLeft({ child }: Gateway, pids: number[], signal: () => void): Promise<void> {
  const exited = once(child, "exit");
  signal();
  await exited;
  await expect.poll(() => pids.filter(isAlive).map(commandLine), { timeout: 15_000 }).toEqual([]);
}

/** The shipped wrangler.toml with a Redis, as it is after the README's steps for deployment. */
function deployedConfig(): string {
  const file = join(directory, "wrangler.toml");
  const toml = readFileSync(join(root, "wrangler.toml"), "utf8")
    .replace('"src/worker.ts"', JSON.stringify(join(root, "src/worker.ts")))
    .replace('"./console/dist"', JSON.stringify(join(root, "console/dist")))
    .replace("[vars]", '[vars]\nSTATS_FLUSH = "7s"\nUPSTASH_REDIS_REST_URL = "https://deployed.upstash.io"');
  writeFileSync(file, toml);
  return file;
}

/** The token that was printed begins a session, with which the console's page works. It is on no command line. */
async function canSignIn({ port, output }: Gateway, pids: readonly number[]): Promise<void> {
  const url = `http://localhost:${port}/.headgate`;
  const [, address, token] = /^headgate: console at (\S+), with the token ([\w-]{32})$/m.exec(output()) ?? [];
  expect(address).toBe(`${url}/console`);
  expect(pids.map(commandLine).join("\n")).not.toContain(token);
  expect(await (await fetch(address!)).text()).toContain("<!doctype html>");
  const signedIn = await fetch(`${url}/admin/session`, {
    method: "POST",
    headers: { Authorization: `Bearer ${token}` },
  });
  const Cookie = signedIn.headers.get("Set-Cookie")!.split(";")[0]!;
  const change = { method: "PATCH", body: '{ "mode": "enforce" }' };
  const patch = async (Origin: string) =>
    (await fetch(`${url}/admin/policies/default`, { ...change, headers: { Cookie, Origin } })).status;
  expect([await patch("http://elsewhere.example"), await patch(new URL(url).origin)]).toEqual([403, 200]);
}

/** How often counts reach the console, in seconds. */
async function flushOf({ port, output }: Gateway): Promise<number> {
  const [, token] = /with the token ([\w-]{32})$/m.exec(output())!;
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`http://localhost:${port}/.headgate/admin/stats`, { headers });
  return ((await answer.json()) as { flush: number }).flush;
}

const nodeStart: [string, ...string[]] = [process.execPath, "scripts/dev/start.ts"];

describe("npm start", () => {
  let withRedis: Gateway;
  let withObject: Gateway;
  let withEnvironment: Gateway;
  let withDeployed: Gateway;

  // All run at the same time, which also shows that they do not disturb each other.
  beforeAll(async () => {
    const environment = { UPSTASH_REDIS_REST_URL: inject("restUrl"), UPSTASH_REDIS_REST_TOKEN: inject("restToken") };
    [withRedis, withObject, withEnvironment, withDeployed] = await Promise.all([
      start(["npm", "start", "--"]),
      start(nodeStart, { PATH: directory }),
      start(nodeStart, environment),
      start([...nodeStart, "--config", deployedConfig()], { PATH: directory }),
    ]);
  }, START_TIMEOUT_MS);

  afterAll(() => {
    for (const child of children) child.kill("SIGTERM");
    rmSync(directory, { recursive: true });
  });

  it("uses a private Redis found on PATH, and SIGTERM to npm leaves nothing behind", async () => {
    expect(await health(withRedis)).toMatchObject({ status: "ok", store: "redis" });
    expect(withRedis.output()).toMatch(/^headgate: store is a private (Redis|Valkey) \d+/m);
    const pids = descendants(withRedis.child.pid as number);
    const running = pids.map(commandLine).join("\n");
    for (const program of ["workerd", "wrangler", "esbuild", /redis-server|valkey-server/])
      expect(running).toMatch(program);
    await expectNothingLeft(withRedis, pids, () => withRedis.child.kill("SIGTERM"));
  });

  it("uses the Durable Object where there is no Redis on PATH, and Ctrl-C leaves nothing behind", async () => {
    expect(await health(withObject)).toMatchObject({
      status: "ok",
      store: "durable-object",
      counts: { reachable: true },
    });
    expect(withObject.output()).toMatch(/^headgate: store is a Durable Object, in wrangler dev \(no UPSTASH_/m);
    const ask = async () => (await fetch(`http://localhost:${withObject.port}/`)).status;
    const statuses = await Promise.all(Array.from({ length: 200 }, ask));
    expect(statuses.filter((status) => status === 200)).toHaveLength(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(140);
    // wrangler dev wraps the Worker in a middleware that reads what is left of a body: the demo's echo must get on with
    // it.
    const headers = { "CF-Connecting-IP": "192.0.2.9" };
    const echo = await fetch(`http://localhost:${withObject.port}/`, { method: "POST", body: "hello", headers });
    expect([echo.status, await echo.text()]).toEqual([200, "hello"]);
    // No file of the console is served under a path of the origin.
    const file = await fetch(`http://localhost:${withObject.port}/index.html`, { headers });
    expect([file.status, file.headers.get("RateLimit")]).toEqual([200, expect.stringContaining('"default";r=58')]);
    expect(await file.text()).not.toContain("<!doctype html>");
    const pids = descendants(withObject.child.pid as number);
    await canSignIn(withObject, pids);
    expect(await flushOf(withObject)).toBe(5);
    expect(pids.map(commandLine).join("\n")).toMatch("workerd");
    await expectNothingLeft(withObject, pids, () => process.kill(-(withObject.child.pid as number), "SIGINT"));
    expect(withObject.child.exitCode).toBe(0);
  });

  it("hands a Redis from the environment on, without its token on a command line", async () => {
    expect(await health(withEnvironment)).toMatchObject({ status: "ok", store: "redis" });
    expect(withEnvironment.output()).toContain(
      `store is the Redis at ${new URL(inject("restUrl")).host}, from the environment`,
    );
    const pids = descendants(withEnvironment.child.pid as number);
    expect(pids.map(commandLine).join("\n")).not.toContain(inject("restToken"));
    expect(withEnvironment.output()).not.toContain(inject("restToken"));
    await expectNothingLeft(withEnvironment, pids, () => withEnvironment.child.kill("SIGTERM"));
  });

  it("goes on without a Redis of wrangler.toml whose token is a secret of the deployed Worker, and says so", async () => {
    expect(await health(withDeployed)).toMatchObject({ status: "ok", store: "durable-object" });
    expect(withDeployed.output()).toContain(
      "headgate: wrangler.toml names the Redis at deployed.upstash.io. UPSTASH_REDIS_REST_TOKEN is not on this machine",
    );
    expect(await flushOf(withDeployed)).toBe(7);
    const pids = descendants(withDeployed.child.pid as number);
    await expectNothingLeft(withDeployed, pids, () => withDeployed.child.kill("SIGTERM"));
  });

  it("ends with wrangler's exit code, and the private Redis with it", async () => {
    const broken = await launch([...nodeStart, "--no-such-option"]);
    const [code] = await once(broken.child, "exit");
    expect(code).toBe(1);
    const redisPort = Number(/ on port (\d+),/.exec(broken.output())?.[1]);
    await expect(fetch(`http://127.0.0.1:${redisPort}`)).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });
});
