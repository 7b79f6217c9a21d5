/**
 * Calls of scripts on a private Redis, and their cost from `INFO commandstats`. Everything that is compared runs in one
 * run.
 */

import { Redis } from "ioredis";
import { startRedisServer } from "../../scripts/machine/redis-server.ts";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import { Flag, keysOfRequest, type TakeRequest } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { encodeRequest } from "../../src/kernel/store/redis.ts";

export interface Call {
  readonly text: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

/** All calls of one decision. */
export type Decision = readonly Call[];

export interface Cost {
  /** µs of EVALSHA for each decision. Reading the request and writing the reply are not included. */
  readonly usec: number;
  /** Commands for each decision, EVALSHA included. Upstash bills each of them. */
  readonly commands: number;
  /** The same commands by name, in capitals. */
  readonly byName: Readonly<Record<string, number>>;
}

export interface CostRedis {
  send(decisions: readonly Decision[]): Promise<unknown[]>;
  measure(decisions: readonly Decision[]): Promise<Cost>;
  /** Copies a key, with its expiry, under these names. */
  copy(key: string, names: readonly string[]): Promise<void>;
  /** The bytes of all keys, and the number of keys. */
  memory(): Promise<{ bytes: number; keys: number }>;
  /** Deletes these keys, or all keys. */
  flush(keys?: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startCostRedis(): Promise<CostRedis> {
  const server = await startRedisServer();
  const redis = new Redis(server.url, { disableClientInfo: true });
  const shas = new Map<string, string>();

  async function send(decisions: readonly Decision[]): Promise<unknown[]> {
    const calls = decisions.flat();
    for (const text of new Set(calls.map((call) => call.text))) {
      if (!shas.has(text)) shas.set(text, (await redis.script("LOAD", text)) as string);
    }
    const replies: unknown[] = [];
    for (let from = 0; from < calls.length; from += 5_000) {
      const pipeline = redis.pipeline();
      for (const { text, keys, args } of calls.slice(from, from + 5_000)) {
        pipeline.evalsha(shas.get(text)!, keys.length, ...keys, ...args);
      }
      for (const [error, reply] of (await pipeline.exec()) ?? []) {
        if (error) throw error;
        replies.push(reply);
      }
    }
    return replies;
  }

  return {
    send,
    async measure(decisions) {
      await redis.config("RESETSTAT");
      await send(decisions);
      const info = await redis.info("commandstats");
      const stats = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)].filter(
        ([, name]) => name !== "config|resetstat" && name !== "script|load",
      );
      const usec = Number(stats.find(([, name]) => name === "evalsha")?.[3]);
      const byName = Object.fromEntries(
        stats.map(([, name, calls]) => [name!.toUpperCase(), Number(calls) / decisions.length]),
      );
      const commands = Object.values(byName).reduce((sum, calls) => sum + calls, 0);
      return { usec: usec / decisions.length, commands, byName };
    },
    async copy(key, names) {
      const pipeline = redis.pipeline();
      for (const name of names) pipeline.copy(key, name);
      for (const [error, copied] of (await pipeline.exec()) ?? []) {
        if (error || copied !== 1) throw error ?? new Error(`expected a new copy of ${key}`);
      }
    },
    async memory() {
      const keys = await redis.keys("*");
      const bytes = await Promise.all(keys.map((key) => redis.memory("USAGE", key, "SAMPLES", 0) as Promise<number>));
      return { bytes: bytes.reduce((a, b) => a + b, 0), keys: keys.length };
    },
    async flush(keys) {
      await (keys ? redis.del(...keys) : redis.flushall());
    },
    async stop() {
      redis.disconnect();
      await server.stop();
    },
  };
}

/** A key as the gateway makes it: 37 bytes. */
export function keyOf(client: number | string, policy = "default"): string {
  return `hg:2:{${policy}:${String(client).padStart(22, "0")}}`;
}

interface TakeOptions {
  readonly cost?: number;
  readonly flag?: Flag;
  readonly nowMs?: number;
  readonly slot?: number;
}

/** The call that headgate sends for one decision about these limits. */
export function take(key: string, limits: readonly LimitSpec[], options: TakeOptions = {}): Call {
  const { cost = 1, flag = Flag.take, nowMs = 0, slot = 0 } = options;
  const request: TakeRequest = { keys: [{ key, group: 0, cost, limits }], flag, slot };
  return { text: TAKE.text, keys: keysOfRequest(request), args: encodeRequest(request, nowMs) };
}

const HOUR_MS = 3_600_000;

const weighted = (buckets: number, limit: number, n: number): LimitSpec => {
  return { kind: Kind.weighted, limit, bucketMs: (n * HOUR_MS) / buckets, buckets };
};

/** Limits of each kind by their units. `n` makes the window n times as long. */
export const limitOf = {
  weighted: (limit: number, n = 1): LimitSpec => weighted(1, limit, n),
  weighted10: (limit: number, n = 1): LimitSpec => weighted(10, limit, n),
  weighted60: (limit: number, n = 1): LimitSpec => weighted(60, limit, n),
  fixed: (limit: number, n = 1): LimitSpec => ({ kind: Kind.fixedWindow, limit, windowMs: n * HOUR_MS }),
  bucket: (limit: number, n = 1): LimitSpec => ({
    kind: Kind.bucket,
    limit,
    windowMs: n * HOUR_MS,
    burst: limit,
    maxDelayMs: 0,
  }),
  calendar: (limit: number, n = 1): LimitSpec => ({
    kind: Kind.calendar,
    limit,
    window: "month",
    zone: "America/New_York",
    firstDay: n,
  }),
  log: (limit: number, n = 1): LimitSpec => ({ kind: Kind.log, limit, windowMs: n * HOUR_MS }),
  concurrency: (limit: number): LimitSpec => ({ kind: Kind.concurrency, limit, timeoutMs: HOUR_MS }),
} as const;
