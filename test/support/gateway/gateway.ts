// The bundled Worker in workerd, seen from outside: one Miniflare instance is one region with one isolate.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  convertV4MiniflareOptions,
  kCurrentWorker,
  Miniflare,
  type V4MiniflareOptions,
  type Request as WorkerdRequest,
  type Response as WorkerdResponse,
} from "miniflare";
import { parse } from "smol-toml";
import { inject, onTestFinished } from "vitest";

type Bindings = NonNullable<Extract<V4MiniflareOptions, { bindings?: unknown }>["bindings"]>;

export interface Gateway {
  readonly url: URL;
  /** Sends a request from `address`; default: 192.0.2.1. Does not follow redirects. */
  fetch(path: string, init?: RequestInit & { address?: string }): Promise<Response>;
  /** What the Worker has written to the console. */
  readonly logs: readonly string[];
}

export interface GatewayOptions {
  readonly policies: readonly object[];
  /** Further bindings. */
  readonly vars?: Bindings;
  /** `request.cf` of every request. */
  readonly cf?: Record<string, unknown>;
  /** The REST service. Default: the bridge that all tests share. Null: no Redis; the gateway uses the memory store. */
  readonly redis?: { readonly url: string; readonly token: string } | null;
  /** The service binding ORIGIN. `"itself"`: the gateway. */
  readonly origin?: ((request: WorkerdRequest) => WorkerdResponse) | "itself";
  /** The port to listen on. Default: any free port. */
  readonly port?: number;
  /** Answers every fetch of the Worker, instead of the network. */
  readonly network?: (request: WorkerdRequest) => WorkerdResponse;
  /** The folder with the bundled Worker. Default: the bundle that `wrangler deploy` would upload. */
  readonly directory?: string;
}

/** Long enough that a busy machine causes no fallback decisions. */
const REDIS_TIMEOUT_MS = 10_000;

/** Starts a gateway for the running test, and disposes it after the test. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const directory = options.directory ?? inject("workerDirectory");
  const redis = options.redis === undefined ? { url: inject("restUrl"), token: inject("restToken") } : options.redis;
  const path = join(directory, "worker.js");
  const logs: string[] = [];
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      modules: [{ type: "ESModule", path, contents: readFileSync(path, "utf8") }],
      modulesRoot: directory,
      ...compatibility(),
      cf: options.cf ?? false,
      ...(options.origin && {
        serviceBindings: { ORIGIN: options.origin === "itself" ? kCurrentWorker : options.origin },
      }),
      ...(options.port !== undefined && { port: options.port }),
      ...(options.network && { outboundService: options.network }),
      handleStructuredLogs: ({ message }) => logs.push(message),
      bindings: {
        POLICIES: [...options.policies] as never,
        REDIS_TIMEOUT_MS,
        ...(redis && { UPSTASH_REDIS_REST_URL: redis.url, UPSTASH_REDIS_REST_TOKEN: redis.token }),
        ...options.vars,
      },
    }),
  );
  onTestFinished(() => miniflare.dispose());
  const url = await miniflare.ready;

  return {
    url,
    logs,
    fetch(path, { address = "192.0.2.1", headers, ...init } = {}) {
      const all = new Headers(headers);
      all.set("CF-Connecting-IP", address);
      return fetch(new URL(path, url), { redirect: "manual", ...init, headers: all });
    },
  };
}

/** The compatibility date and flags that `wrangler deploy` would set. */
function compatibility() {
  const toml = parse(readFileSync(new URL("../../../wrangler.toml", import.meta.url), "utf8"));
  return {
    compatibilityDate: toml.compatibility_date as string,
    compatibilityFlags: toml.compatibility_flags as string[],
  };
}

/** A policy name that no other test has, so that no other test uses its keys in the shared Redis. */
export function uniqueName(name: string): string {
  return `${name}-${randomBytes(6).toString("hex")}`;
}
