// compose.yaml without Docker: its file is read, and its commands run as processes. The images are not there: the Redis
// is that of this machine, the bridge of this repository stands in for serverless-redis-http, and nothing is installed.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { createBridge } from "../../scripts/bridge/bridge.ts";
import { freePort, startRedisServer } from "../../scripts/machine/redis-server.ts";
import { spawnTied, stopProcess } from "../../scripts/machine/tied-process.ts";
import { blocksOf, commandsOf } from "../docs/markdown.ts";
import { folderWith } from "../support/folder.ts";

interface Service {
  readonly image: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly depends_on?: readonly string[];
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { services, volumes } = parse(readFileSync(join(ROOT, "compose.yaml"), "utf8")) as {
  readonly services: Readonly<Record<"redis" | "rest" | "gateway", Service>>;
  readonly volumes: object;
};
const TOKEN = "a-token-of-this-test";

/** As compose puts variables in. `$$` is a dollar sign. */
const filled = (text: string) => text.replaceAll(/\$\{REST_TOKEN:\?[^}]+\}/g, TOKEN).replaceAll("$$", "$");

it("names what it depends on, and asks for the token", () => {
  const { redis, rest, gateway } = services;
  for (const { depends_on = [] } of Object.values(services)) {
    for (const name of depends_on) expect(Object.keys(services)).toContain(name);
  }
  const named = Object.values(services).flatMap(({ volumes: mounts = [] }) =>
    mounts.map((mount) => mount.split(":")[0]!),
  );
  expect(named.filter((name) => !/^[./]/.test(name))).toEqual(Object.keys(volumes));
  // docs/stores.md runs the same image with the same variables.
  const commands = blocksOf("docs/stores.md", "sh").flatMap(commandsOf).join("\n");
  for (const name of Object.keys(rest.environment!)) expect(commands).toContain(`-e ${name}=`);
  expect(commands).toContain(rest.image);
  expect(redis.command).toContain("noeviction");
  // Without a proxy in front, clients choose their address: nobody else may reach it.
  expect(gateway.ports).toEqual(["127.0.0.1:8787:8787"]);
  expect(new URL(rest.environment!.SRH_CONNECTION_STRING!).hostname).toBe("redis");
});

it("its commands give a gateway that counts in its Redis, and refuses the 61st request", async () => {
  const [, ...redisArgs] = services.redis.command!;
  const redis = await startRedisServer({ args: redisArgs });
  onTestFinished(redis.stop);
  const { SRH_TOKEN, SRH_CONNECTION_STRING } = services.rest.environment!;
  const bridge = await createBridge({
    redisUrl: SRH_CONNECTION_STRING!.replace("redis:6379", new URL(redis.url).host),
    token: filled(SRH_TOKEN!),
  });
  onTestFinished(bridge.close);

  const folder = folderWith();
  const [port, inspector] = [await freePort(), await freePort()];
  const [shell, flag, command] = services.gateway.command!.map(filled);
  // What differs on this machine: nothing is installed, and hosts and ports are others.
  const here = command!
    .replace("npm ci && ", "")
    .replace("npx wrangler", "wrangler")
    .replace("--ip 0.0.0.0 --port 8787", `--ip 127.0.0.1 --port ${port} --inspector-port ${inspector}`)
    .replace("UPSTASH_REDIS_REST_URL:http://rest", `UPSTASH_REDIS_REST_URL:${bridge.url}`);
  expect(here).toMatch(/^exec wrangler dev --ip 127/);
  const environment = Object.entries(services.gateway.environment!).map(([name, value]) => [name, filled(value)]);
  const child = spawnTied(shell!, [flag!, `${here} --persist-to ${folder} --var REDIS_TIMEOUT_MS:10000`], {
    cwd: ROOT,
    env: { ...process.env, ...Object.fromEntries(environment), PATH: `${ROOT}/node_modules/.bin:${process.env.PATH}` },
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => stopProcess(child));
  // Real processes: their output says when they are ready.
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk: Buffer) => (output += chunk));
  while (!output.includes("Ready on ")) {
    if (child.exitCode !== null) throw new Error(output);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }

  const url = `http://127.0.0.1:${port}`;
  const health = await (await fetch(`${url}/.headgate/health`)).json();
  expect(health, output).toMatchObject({ status: "ok", store: "redis", redis: { reachable: true } });
  const headers = { "CF-Connecting-IP": "203.0.113.7" };
  // In another minute of the clock units are back: then a request more is admitted.
  const statuses: number[] = [];
  while (statuses.at(-1) !== 429 && statuses.length < 200) statuses.push((await fetch(`${url}/`, { headers })).status);
  expect(statuses.slice(0, 60)).toEqual(Array(60).fill(200));
  expect(statuses.at(-1)).toBe(429);
}, 120_000);
