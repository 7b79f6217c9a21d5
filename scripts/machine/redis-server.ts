// A private Redis server for tests and `npm start`: on loopback, on a port that is free, in memory only.

import { randomInt } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findOnPath, isRunning, spawnTied, stopProcess } from "./tied-process.ts";

/**
 * Where free ports are looked for, `to` excluded: below the ports that systems give to whoever asks for any (Linux from
 * 32,768 on, others from 49,152 on). A free port stays free until somebody asks for this very one.
 */
const PORTS = { from: 10_000, to: 32_000 };
/** The port to try next, counted from the first one: two that ask at the same time get two ports. */
let next = randomInt(PORTS.to - PORTS.from);
/** How long a server may take to answer PING, in ms. An empty server needs about 20 ms, a busy CI machine longer. */
const START_TIMEOUT_MS = 10_000;

export interface RedisServer {
  /** `redis://127.0.0.1:<port>` */
  url: string;
  port: number;
  /** The server's process id. */
  pid: number;
  /** The name and version that the server reports: `Redis 7.0.15`, `Valkey 8.1.1`. */
  version: string;
  /** Stops the server properly and removes its temporary directory. May be called more than once. */
  stop(): Promise<void>;
  /** Ends the server like a crash (SIGKILL), and resolves when it is gone. Call `stop` afterwards too. */
  kill(): Promise<void>;
}

/** The path of `redis-server` on PATH. If there is none, the path of `valkey-server`. */
export function findRedisServer(): string | undefined {
  return findOnPath("redis-server", "valkey-server");
}

/**
 * Starts a server, and resolves when it answers PING.
 *
 * `port`: 1 to 65535; 0 or absent: any free port. `args`: additional command line options that override the ones set
 * here (`["--maxmemory", "10mb"]`). The server writes nothing to disk, and it dies with this process (see spawnTied).
 * Throws if there is no server on PATH. If the server does not start, throws its own output.
 */
export async function startRedisServer(options: { port?: number; args?: string[] } = {}): Promise<RedisServer> {
  const program = findRedisServer();
  if (program === undefined) throw new Error("expected redis-server or valkey-server on PATH, found neither");
  // Another process may take the free port before Redis binds it. Then try another free port.
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(program, options.port || (await freePort()), options.args ?? []);
    } catch (error) {
      if (options.port || attempt === 3) throw error;
    }
  }
}

async function launch(program: string, port: number, extraArgs: string[]): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), "headgate-redis-"));
  const network = ["--port", String(port), "--bind", "127.0.0.1"];
  const inMemory = ["--save", "", "--appendonly", "no", "--dir", directory];
  const args = [...network, ...inMemory, "--loglevel", "warning", "--daemonize", "no", ...extraArgs];
  // A separate process group: Ctrl-C must not end Redis before the processes that use it.
  const child = spawnTied(program, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });

  let output = "";
  const keepLast = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-2_000);
  };
  child.stdout?.on("data", keepLast);
  child.stderr?.on("data", keepLast);
  child.on("error", (error) => keepLast(Buffer.from(error.message)));

  const removeDirectory = () => rmSync(directory, { recursive: true, force: true });
  process.once("exit", removeDirectory); // for an exit without stop()
  const stop = async () => {
    await stopProcess(child);
    removeDirectory();
    process.off("exit", removeDirectory);
  };
  const url = `redis://127.0.0.1:${port}`;
  const deadlineAt = Date.now() + START_TIMEOUT_MS;
  while (isRunning(child) && Date.now() < deadlineAt) {
    const found = await identify(url, 250).catch(() => undefined);
    // If this server could not bind the port, another server answers there.
    if (found !== undefined && found.pid === child.pid) {
      const kill = () => {
        child.kill("SIGKILL");
        return stopProcess(child);
      };
      return { url, port, ...found, stop, kill };
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await stop();
  throw new Error(`expected ${program} to answer on port ${port}, found: ${output.trim() || "no answer, no output"}`);
}

/**
 * The server that answers at `url`: `Redis 7.0.15`, `Valkey 8.1.1`. Rejects if no server answers within `timeoutMs`.
 * The message holds neither the address nor a password.
 */
export async function redisVersion(url: string, timeoutMs: number): Promise<string> {
  return (await identify(url, timeoutMs)).version;
}

async function identify(url: string, timeoutMs: number): Promise<{ version: string; pid: number }> {
  const redis = new Redis(url, {
    lazyConnect: true,
    protocol: 2,
    enableReadyCheck: false,
    disableClientInfo: true,
    connectTimeout: timeoutMs,
    commandTimeout: timeoutMs,
    retryStrategy: () => null,
  });
  let cause: Error | undefined;
  redis.on("error", (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    await redis.ping();
    const info = await redis.info("server");
    const field = (name: string) => new RegExp(`^${name}:(\\S+)`, "m").exec(info)?.[1];
    const valkey = field("valkey_version"); // redis_version is the Redis that a Valkey is compatible with
    const version = valkey ? `Valkey ${valkey}` : `Redis ${field("redis_version") ?? "of unknown version"}`;
    return { version, pid: Number(field("process_id")) };
  } catch (error) {
    const { code, message } = (cause ?? error) as NodeJS.ErrnoException;
    throw new Error(code ?? message);
  } finally {
    redis.disconnect();
  }
}

/** A TCP port on 127.0.0.1 that was free a moment ago, and that the system gives to nobody who asks for any. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + (next++ % (PORTS.to - PORTS.from));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException) => (error.code === "EADDRINUSE" ? resolve(false) : reject(error));
      server.once("error", fail).listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
