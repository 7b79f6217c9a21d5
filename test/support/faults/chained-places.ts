// Three gateways in workerd over one Redis, over three, or over one Durable Object, with faults between them and their
// counts. It imports nothing of vitest: scripts/stress/chains.ts uses it too.

import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBridge } from "../../../scripts/bridge/bridge.ts";
import { type RedisServer, startRedisServer } from "../../../scripts/machine/redis-server.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import { rendezvous } from "../../../src/stores/rendezvous.ts";
import { startWorkerd } from "../gateway/workerd.ts";
import { bundleWorker } from "../objects/counts-worker.ts";
import { startCallProxy } from "./call-proxy.ts";
import type { Asked, CountedCall } from "./counted-calls.ts";

export const KEY_SECRET = "a key secret of the operator";
export type PlacesKind = "redis" | "three-redis" | "object";
const NODES = ["a", "b", "c"];
const GATEWAYS = ["one", "two", "three"];

export interface ChainedPlaces {
  readonly gateways: readonly URL[];
  /** The position of the place where a key lies. */
  placeOf(key: string): number;
  /** Once no call is under way any more, this part of the calls meets a fault. */
  setRate(rate: number): Promise<void>;
  /** A Redis closes and comes back with its counts; the object stops in the middle of its work. */
  interrupt(): Promise<void>;
  /** Every call so far, and how many have met a fault. */
  calls(): Promise<{ readonly calls: readonly CountedCall[]; readonly faults: number }>;
  /** Whether the breaker of a gateway before a place was open between these instants, ms since the epoch. */
  wasOpen(gateway: number, place: number, fromMs: number, toMs: number): boolean;
  /** Asks the place of one key, without faults. */
  take(request: TakeRequest): Promise<TakeReply>;
  stop(): Promise<void>;
}

interface Options {
  readonly policies: readonly object[];
  readonly originUrl: string;
  readonly seed: number;
  /** The time budget of a call, in ms. */
  readonly budgetMs: number;
}

export function startChainedPlaces(kind: PlacesKind, options: Options): Promise<ChainedPlaces> {
  if (kind === "object") return startOverObject(options);
  return startOverRedis(kind === "redis" ? NODES.slice(0, 1) : NODES, options);
}

const gatewayCode = () => bundleWorker("../../src/worker.ts");
const bindingsOf = ({ policies, originUrl, budgetMs }: Options) => {
  return { POLICIES: policies, ORIGIN_URL: originUrl, KEY_SECRET, REDIS_TIMEOUT_MS: budgetMs };
};

interface Opened {
  readonly at: string;
  readonly state: "open" | "closed";
  readonly place?: string;
}

/** Reads from the lines of a gateway when its breakers were open. */
function watchBreakers() {
  const changes: Opened[] = [];
  return {
    onLog(line: string) {
      if (line.startsWith('{"event":"breaker"')) changes.push(JSON.parse(line) as Opened);
    },
    wasOpen(place: string, fromMs: number, toMs: number): boolean {
      const own = changes.filter((change) => change.place === place);
      return own.some(({ state, at }, i) => {
        if (state !== "open") return false;
        const closedAtMs = own[i + 1] ? Date.parse(own[i + 1]!.at) : Number.POSITIVE_INFINITY;
        return Date.parse(at) <= toMs && fromMs <= closedAtMs;
      });
    },
  };
}

/** A Redis that keeps its counts when it closes. */
async function startNode() {
  const directory = mkdtempSync(join(tmpdir(), "headgate-kept-"));
  // Redis saves when it is told to stop if it would ever save.
  const args = ["--save", "31536000 1", "--dir", directory];
  let server: RedisServer = await startRedisServer({ args });
  const { port, url } = server;
  const bridge = await createBridge({ redisUrl: url, token: randomBytes(16).toString("hex") });
  return {
    url,
    bridge,
    async closeAndReopen() {
      await server.stop();
      server = await startRedisServer({ port, args });
    },
    async stop() {
      await bridge.close();
      await server.stop();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function startOverRedis(names: readonly string[], options: Options): Promise<ChainedPlaces> {
  const { seed, budgetMs } = options;
  const nodes = await Promise.all(names.map(startNode));
  const placeOf = rendezvous(names);
  const faults = ["ran", "ran", "late", "cut", "hangs", "error", "refused"] as const;
  // Each gateway has its own way to each Redis.
  const ways = await Promise.all(
    GATEWAYS.map((_, g) =>
      Promise.all(
        nodes.map(({ bridge }, n) => startCallProxy(bridge.url, { seed: seed + 10 * g + n, faults, budgetMs })),
      ),
    ),
  );
  const proxies = ways.flat();
  const tokenOf = (name: string) => `REDIS_TOKEN_${name.toUpperCase()}`;
  const code = await gatewayCode();
  const breakers = GATEWAYS.map(watchBreakers);
  const workers = await Promise.all(
    GATEWAYS.map((name, g) => {
      const listed = names.map((node, n) => ({ name: node, url: ways[g]![n]!.url, token: tokenOf(node) }));
      const secrets = Object.fromEntries(names.map((node, n) => [tokenOf(node), nodes[n]!.bridge.token]));
      const one = { UPSTASH_REDIS_REST_URL: listed[0]!.url, UPSTASH_REDIS_REST_TOKEN: nodes[0]!.bridge.token };
      const places = names.length === 1 ? one : { REDIS_NODES: listed, ...secrets };
      const { onLog } = breakers[g]!;
      return startWorkerd([{ name, code, bindings: { ...bindingsOf(options), ...places } }], { onLog });
    }),
  );
  const stores = nodes.map(({ bridge: { url, token } }) => redisPlace({ url, token, timeoutMs: 10_000 }));

  return {
    gateways: workers.map(({ port }) => new URL(`http://127.0.0.1:${port}`)),
    placeOf,
    async setRate(rate) {
      await Promise.all(proxies.map((proxy) => proxy.idle()));
      for (const proxy of proxies) Object.assign(proxy, { rate, sinceMs: performance.now() });
    },
    interrupt: () => nodes.at(-1)!.closeAndReopen(),
    async calls() {
      const faults = proxies.reduce((sum, proxy) => sum + proxy.faults, 0);
      return { calls: proxies.flatMap(({ calls }) => calls), faults };
    },
    wasOpen: (gateway, place, ...times) => names.length > 1 && breakers[gateway]!.wasOpen(names[place]!, ...times),
    take: (request) => stores[placeOf(request.keys[0]!.key)]!.take(request),
    async stop() {
      await Promise.all(workers.map((worker) => worker.stop()));
      await Promise.all(proxies.map((proxy) => proxy.close()));
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

async function startOverObject(options: Options): Promise<ChainedPlaces> {
  const { budgetMs } = options;
  const code = await gatewayCode();
  const OBJECT = "counts";
  const { ports, stop } = await startWorkerd([
    { name: OBJECT, code: await bundleWorker("faulty-counts.ts"), counts: true },
    ...GATEWAYS.map((name) => ({ name, code, bindings: bindingsOf(options), counts: OBJECT })),
  ]);
  const urlOf = (name: string) => new URL(`http://127.0.0.1:${ports[name]}`);
  const ask = async <T>(asked: Asked): Promise<T> => {
    const answer = await fetch(urlOf(OBJECT), { method: "POST", body: JSON.stringify(asked) });
    return (await answer.json()) as T;
  };

  return {
    gateways: GATEWAYS.map(urlOf),
    placeOf: () => 0,
    setRate: (rate) => ask({ rate, budgetMs }),
    interrupt: () => ask({ crash: true }),
    calls: () => ask({ calls: true }),
    // With one place nothing is given back but late.
    wasOpen: () => false,
    take: (request) => ask({ take: request }),
    stop,
  };
}
