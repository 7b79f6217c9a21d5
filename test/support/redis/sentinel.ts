// A real master with a replica, watched by a real Sentinel that makes the replica the master when the master is gone.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findRedisServer, freePort, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import { spawnTied, stopProcess } from "../../../scripts/machine/tied-process.ts";

export interface RedisSentinel {
  /** The Sentinel, for clients. */
  readonly sentinel: { readonly host: string; readonly port: number };
  /** The name of the master. */
  readonly name: string;
  /** The port of the first master. */
  readonly masterPort: number;
  /** Ends the master like a crash. */
  killMaster(): Promise<void>;
  stop(): Promise<void>;
}

const [HOST, NAME] = ["127.0.0.1", "mymaster"];
/** After this time without an answer Sentinel takes the master for gone, ms. */
const DOWN_AFTER_MS = 300;

/** Resolves when Sentinel watches the master, and knows the replica if there is one. */
export async function startRedisSentinel({ replicas = 1 }: { replicas?: 0 | 1 } = {}): Promise<RedisSentinel> {
  const directory = mkdtempSync(join(tmpdir(), "headgate-sentinel-"));
  const [port, master] = [await freePort(), await startRedisServer({ args: ["--repl-diskless-sync-delay", "0"] })];
  const replicaOf = ["--replicaof", HOST, String(master.port)];
  const replica = replicas > 0 ? await startRedisServer({ args: replicaOf }) : undefined;
  const config = join(directory, "sentinel.conf");
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${directory}`,
    `sentinel monitor ${NAME} ${HOST} ${master.port} 1`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 2000`,
  ];
  writeFileSync(config, lines.join("\n"));
  const child = spawnTied(findRedisServer()!, [config, "--sentinel"], { stdio: "ignore" });
  const asked = new Redis({ host: HOST, port, disableClientInfo: true, enableReadyCheck: false });
  asked.on("error", () => {});
  // Real processes find each other in their own time: ask until they have.
  const deadlineAt = Date.now() + 30_000;
  for (;;) {
    const known = (await asked.call("SENTINEL", "replicas", NAME).catch(() => undefined)) as string[][] | undefined;
    const ready = known?.filter((one) => /master-link-status ok/.test(one.join(" ")));
    if (ready && ready.length >= replicas) break;
    if (Date.now() > deadlineAt) throw new Error(`expected Sentinel to know ${replicas} replicas, found ${known}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  asked.disconnect();
  return {
    sentinel: { host: HOST, port },
    name: NAME,
    masterPort: master.port,
    killMaster: () => master.kill(),
    async stop() {
      await stopProcess(child);
      await Promise.all([master.stop(), replica?.stop()]);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
