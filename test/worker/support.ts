// Calls gateways directly, which is the fastest way to try many configurations inside workerd.

import { createExecutionContext, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { inject } from "vitest";
import { createGateway } from "../../src/gateway.ts";
import type { Bindings } from "../../src/kernel/config/settings.ts";
import type { HeadgateCounts } from "../../src/kernel/store/durable-object.ts";
import type { HeadgateStats } from "../../src/operate/stats/object/stats.ts";

/** The objects that wrangler.toml binds. */
export const { COUNTS, STATS } = env as unknown as {
  readonly COUNTS: DurableObjectNamespace<HeadgateCounts>;
  readonly STATS: DurableObjectNamespace<HeadgateStats>;
};

/** Sends a request. Every request comes from the same address unless `address` is given. */
export type Ask = (path: string, init?: RequestInit & { address?: string; cf?: object }) => Promise<Response>;

/** A gateway on the real Redis. `bindings` may name another Redis. */
export function gatewayWith(bindings: Bindings): Ask {
  const gateway = createGateway({ ...redisBindings(), ...bindings });
  return async (path, { address = "192.0.2.1", headers, ...init } = {}) => {
    const all = new Headers(headers);
    all.set("CF-Connecting-IP", address);
    const request = new Request(`https://gate.example${path}`, { ...init, headers: all } as RequestInit);
    return await gateway.fetch(request, {}, createExecutionContext());
  };
}

export function redisBindings() {
  return {
    UPSTASH_REDIS_REST_URL: inject("restUrl"),
    UPSTASH_REDIS_REST_TOKEN: inject("restToken"),
    // On a busy machine a short timeout would lead to fallback decisions.
    REDIS_TIMEOUT_MS: 10_000,
  };
}

/** A Redis that refuses connections: nothing listens on port 1. */
export const DEAD_REDIS = { UPSTASH_REDIS_REST_URL: "http://127.0.0.1:1", UPSTASH_REDIS_REST_TOKEN: "dead" };

/** No Redis: the memory store. */
export const NO_REDIS = { UPSTASH_REDIS_REST_URL: "", UPSTASH_REDIS_REST_TOKEN: "" };

/** A policy name that no other test uses: tests share one Redis, and must not share counts. */
export function uniqueName(name: string): string {
  return `${name}-${crypto.randomUUID().slice(-12)}`;
}

/** A namespace whose objects no other test uses: a gateway gives its objects fixed names. */
export function newNamespace<O extends Rpc.DurableObjectBranded>(namespace: DurableObjectNamespace<O>) {
  const own = uniqueName("own");
  const idFromName = (name: string) => namespace.idFromName(`${own}:${name}`);
  return { idFromName, get: namespace.get.bind(namespace) } as unknown as typeof namespace;
}

/** An origin that answers "origin" and remembers the requests. */
export function recordingOrigin() {
  const requests: Request[] = [];
  const service = {
    async fetch(request: Request) {
      requests.push(request);
      return new Response("origin");
    },
  };
  return { requests, ORIGIN: service };
}

/** Runs work in an object, and adds up the rows that its cursors have read and written. */
export function rowsOf<O extends Rpc.DurableObjectBranded>(
  object: DurableObjectStub<O>,
  work: (instance: O) => Promise<unknown>,
): Promise<{ read: number; written: number }> {
  return runInDurableObject(object, async (instance, { storage: { sql } }) => {
    const { exec } = Object.getPrototypeOf(sql) as SqlStorage;
    const cursors: SqlStorageCursor<Record<string, SqlStorageValue>>[] = [];
    const value = (...args: Parameters<SqlStorage["exec"]>) => {
      const cursor = exec.apply(sql, args);
      cursors.push(cursor);
      return cursor;
    };
    Object.defineProperty(sql, "exec", { configurable: true, value });
    try {
      await work(instance as O);
    } finally {
      Reflect.deleteProperty(sql, "exec");
    }
    return {
      read: cursors.reduce((sum, { rowsRead }) => sum + rowsRead, 0),
      written: cursors.reduce((sum, { rowsWritten }) => sum + rowsWritten, 0),
    };
  });
}
