// The bundled Worker in workerd, seen from outside: one process is one region with one isolate.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { startWorkerd } from "./workerd.ts";

export interface Gateway {
  readonly url: URL;
  /** The id of the gateway's process. */
  readonly pid: number;
  /** Sends a request from `address`; default: 192.0.2.1. Does not follow redirects. */
  fetch(path: string, init?: RequestInit & { address?: string }): Promise<Response>;
  /** What the Worker has written to the console. */
  readonly logs: readonly string[];
}

export interface GatewayOptions {
  readonly policies: readonly object[];
  /** Further bindings. */
  readonly vars?: Readonly<Record<string, unknown>>;
  /** `request.cf` of every request. */
  readonly cf?: object;
  /** The REST service. Default: the bridge that all tests share. Null: no Redis; the gateway uses the memory store. */
  readonly redis?: { readonly url: string; readonly token: string } | null;
  /** The Durable Object of this gateway alone, with nothing in it; used if `redis` is null. */
  readonly counts?: true;
  /** The Durable Object of this gateway's metrics, with nothing in it. */
  readonly stats?: true;
  /** The service binding ORIGIN: the URL of a server. `"itself"`: the gateway. */
  readonly origin?: string;
  /** The port to listen on. Default: any free port. */
  readonly port?: number;
  /** The URL of a server that answers every fetch of the Worker, instead of the network. */
  readonly network?: string;
}

/** Long enough that a busy machine causes no fallback decisions. */
const REDIS_TIMEOUT_MS = 10_000;
const NAME = "gateway";

/**
 * Starts a gateway for the running test, and stops it after the test.
 *
 * @param stopAfter gets the stop of a gateway for several tests.
 */
export async function startGateway(
  options: GatewayOptions,
  stopAfter: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<Gateway> {
  const redis = options.redis === undefined ? { url: inject("restUrl"), token: inject("restToken") } : options.redis;
  const { origin } = options;
  const logs: string[] = [];
  const { port, pid, stop } = await startWorkerd(
    [
      {
        name: NAME,
        code: readFileSync(join(inject("workerDirectory"), "worker.js"), "utf8"),
        counts: options.counts,
        stats: options.stats,
        cf: options.cf,
        network: options.network,
        ...(origin !== undefined && { services: { ORIGIN: origin === "itself" ? NAME : origin } }),
        bindings: {
          POLICIES: options.policies,
          REDIS_TIMEOUT_MS,
          ...(redis && { UPSTASH_REDIS_REST_URL: redis.url, UPSTASH_REDIS_REST_TOKEN: redis.token }),
          ...options.vars,
        },
      },
    ],
    { port: options.port, onLog: (message) => logs.push(message) },
  );
  stopAfter(stop);
  const url = new URL(`http://127.0.0.1:${port}`);

  return {
    url,
    pid,
    logs,
    fetch(path, { address = "192.0.2.1", headers, ...init } = {}) {
      const all = new Headers(headers);
      all.set("CF-Connecting-IP", address);
      return fetch(new URL(path, url), { redirect: "manual", ...init, headers: all });
    },
  };
}

/** A policy name that no other test has, so that no other test uses its keys in the shared Redis. */
export function uniqueName(name: string): string {
  return `${name}-${randomBytes(6).toString("hex")}`;
}
