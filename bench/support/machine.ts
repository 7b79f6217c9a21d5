/** The machine and the versions that a part was measured on. */

import { readFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { redisVersion, startRedisServer } from "../../scripts/machine/redis-server.ts";

const read = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"));

export async function describeMachine(): Promise<string> {
  const server = await startRedisServer();
  const redis = await redisVersion(server.url, 5_000).finally(() => server.stop());
  const { length, 0: cpu } = cpus();
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(", ");
  return [
    new Date().toISOString().slice(0, 16).replace("T", " "),
    `${length} x ${cpu?.model ?? "unknown CPU"}`,
    `${(totalmem() / 2 ** 30).toFixed(0)} GiB`,
    `Linux ${release()}`,
    redis,
    `Node ${process.versions.node}`,
    `workerd ${read("node_modules/workerd/package.json").version}`,
    `load average ${load}`,
  ].join(" · ");
}

export function peerVersions(): string {
  const { dependencies } = read("bench/package.json");
  return Object.entries(dependencies)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ");
}
