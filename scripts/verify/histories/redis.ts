/**
 * Records limiters over three real Redis, each behind a proxy that loses, delays and breaks replies: decisions over
 * several places, what is given back, what is reserved and settled, and every call of every place.
 */

import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { leases } from "../../../src/features/leases/index.ts";
import { shared } from "../../../src/features/shared/index.ts";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { policyOf, storeKey } from "../../../src/kernel/limiter/store-key.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { createLimiter, type InsideLimiter, type Reservation } from "../../../src/limiter.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { type FaultProxy, type ProxyFault, startFaultProxy } from "../../../test/support/faults/fault-proxy.ts";
import { mulberry32 } from "../../../test/support/mulberry32.ts";
import { createBridge } from "../../bridge/bridge.ts";
import { startRedisServer } from "../../machine/redis-server.ts";
import type { BreakerChange, CountedPolicy, History, LimiterOperation } from "./history.ts";
import { type Asker, createRecorder, recordSteadily } from "./recorder.ts";

/** Nothing comes back by itself while a history lasts. The digit of a name is its place. */
const POLICIES: Readonly<Record<string, LimitInput & Pick<CountedPolicy, "onStoreFailure">>> = {
  whole0: { limit: 12, window: "2h", buckets: 60, oldest: "whole", onStoreFailure: "deny" },
  log0: { algorithm: "sliding-log", limit: 8, window: "1d", onStoreFailure: "allow" },
  slots0: { algorithm: "concurrency", limit: 4, timeout: "1d", onStoreFailure: "deny" },
  bucket1: { algorithm: "token-bucket", limit: 9, window: "31d", onStoreFailure: "deny" },
  whole1: { limit: 10, window: "2h", buckets: 60, oldest: "whole", onStoreFailure: "local" },
  log2: { algorithm: "sliding-log", limit: 10, window: "1d", onStoreFailure: "deny" },
  bucket2: { algorithm: "token-bucket", limit: 11, window: "31d", onStoreFailure: "local" },
  slots2: { algorithm: "concurrency", limit: 5, timeout: "1d", onStoreFailure: "local" },
};
const NAMES = Object.keys(POLICIES);
const isSlots = (name: string) => POLICIES[name]!.algorithm === "concurrency";
const PLACES = 3;
const placeOf = (key: string) => Number(policyOf(key).at(-1));

/** What goes wrong, for a few commands at one place. No reply is exchanged with another: that breaks every promise. */
const FAULTS: readonly ProxyFault[] = [
  ...(["lost-reply", "reset-after", "slow", "truncated", "wrong-shape", "reset", "refused"] as const),
  ...(["blackholed", "status-500", "status-429", "readonly", "oom", "loading"] as const),
];
/** A fault ends when so many commands have met it: 5 in a row open the breaker of an isolate. */
const MET = [1, 2, 3, 12];
const FAULT_MS = 300;
const BUDGET_MS = 600;
/** Longer than anything that a limiter waits for. */
const PATIENCE_MS = 5_000;
/** Clients that are used at the same time, and the decisions after which one is replaced. */
const [CLIENTS, DECISIONS_PER_CLIENT] = [6, 80];
const HELD_MS = 12;

export interface RedisRun {
  readonly decisions: number;
  readonly isolates: number;
  /** Of each isolate. */
  readonly processes: number;
  /** After so many decisions something goes wrong; 0: nothing does. */
  readonly faultEvery: number;
  readonly seed: number;
}

interface Context extends Asker {
  /** The keys that have been answered for this decision. */
  readonly answered: Set<string>;
}

/** A decision, and the keys of the policies that it has charged. */
interface Admitted {
  readonly decision: number;
  readonly keys: Readonly<Record<string, string>>;
}

export function recordRedis(run: RedisRun): Promise<History> {
  return recordSteadily(() => record(run));
}

async function record({ decisions, isolates, processes, faultEvery, seed }: RedisRun): Promise<History | undefined> {
  const recorder = createRecorder();
  const random = mulberry32(seed);
  const draw = (below: number) => Math.floor(random() * below);
  const contexts = new AsyncLocalStorage<Context>();
  const places = await Promise.all(Array.from({ length: PLACES }, startPlace));
  const policies = Object.entries(POLICIES).map(([name, { onStoreFailure, ...limit }]): PolicyInput => {
    return { name, key: ["global"], onStoreFailure, limits: [limit as LimitInput] };
  });
  /** The limits by which the stores know a key. */
  const limitsOf = new Map<string, TakeRequest["keys"][number]>();
  let [numbers, begun, faults] = [0, 0, 0];
  let isOver = false;
  const works: Promise<unknown>[] = [];
  const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };

  const breakers: BreakerChange[] = [];

  function limiterOf(_: unknown, isolate: number): InsideLimiter {
    const stores = places.map(({ proxy, token }, place) => {
      const recorded = recorder.recorded(
        `redis${place}`,
        redisPlace({ url: proxy.url, token, timeoutMs: PATIENCE_MS }),
        () => {
          const { process, decision, isolate } = contexts.getStore()!;
          return { process, decision, isolate } as Asker;
        },
      );
      const store: Store = {
        kind: "redis",
        keySecret: token,
        async take(request) {
          for (const key of request.keys) if (!limitsOf.has(key.key)) limitsOf.set(key.key, key);
          const { answered } = contexts.getStore()!;
          const reply = await recorded.take(request);
          if (request.flag === Flag.take) for (const { key } of request.keys) answered.add(key);
          return reply;
        },
        reset: (keys) => recorded.reset(keys),
        async ping() {},
      };
      const onBreakerChange = ({ state: to }: { readonly state: BreakerChange["to"] }) => {
        breakers.push({ isolate, place: `redis${place}`, at: recorder.now(), to });
      };
      return remoteStore(store, { timeoutMs: BUDGET_MS, onBreakerChange });
    });
    const store = splitStore(stores, placeOf);
    const features = [leases(), shared()];
    const options = { policies, features, store, keySecret: "a secret of this test", onDecision() {} };
    return createLimiter(options) as InsideLimiter;
  }

  async function live(limiter: InsideLimiter, isolate: number, process: number): Promise<void> {
    async function asked(
      keys: Readonly<Record<string, string>>,
      units: number,
      ask: () => Promise<Decision>,
      extended?: number,
    ): Promise<Admitted | undefined> {
      const decision = ++numbers;
      const context: Context = { process, isolate, decision, answered: new Set() };
      const call = recorder.now();
      const told = await contexts.run(context, ask);
      const input = { keys, units, ...(extended !== undefined && { extends: extended }) };
      const refused = told.limits.filter(({ admitted }) => !admitted).map(({ policy }) => policy.name);
      // An extension asks for no slots.
      const wanted = Object.keys(keys).filter((name) => extended === undefined || !isSlots(name));
      const silent = wanted.filter((name) => told.allowed && !context.answered.has(keys[name]!));
      const unavailable = told.unavailable && { unavailable: true as const };
      const output = {
        allowed: told.allowed,
        refusedBy: refused,
        silent,
        ...unavailable,
      };
      const operation = {
        process,
        isolate,
        op: "decide",
        decision,
        input,
        call,
        return: recorder.now(),
        output,
      } as const;
      recorder.add(operation satisfies LimiterOperation);
      return told.allowed ? { decision, keys } : undefined;
    }

    async function settled({ decision, keys }: Admitted, units: number, work: () => Promise<void>) {
      const call = recorder.now();
      await contexts.run({ process, isolate, decision, answered: new Set() }, work);
      recorder.add({ process, isolate, op: "settle", decision, input: { keys, units }, call, return: recorder.now() });
    }

    while (begun < decisions) {
      const client = `client ${Math.floor(begun++ / (CLIENTS * DECISIONS_PER_CLIENT))} ${draw(CLIENTS)}`;
      const names = [...new Set([draw(NAMES.length), draw(NAMES.length), draw(NAMES.length)])]
        .slice(0, 1 + draw(3))
        .map((at) => NAMES[at]!);
      const cost = 1 + draw(2);
      const takes = names.map((policy) => ({ policy, key: client, cost }));
      const partitions = await Promise.all(names.map((policy) => limiter.client(policy, { key: client })));
      const keys = Object.fromEntries(
        partitions.map(({ policy: { name }, partition }) => [name, storeKey(name, partition)]),
      );
      const turn = random();
      if (turn < 0.06) {
        const context = { process, isolate, decision: ++numbers, answered: new Set<string>() };
        await contexts.run(context, () => limiter.peek(takes));
      } else if (turn < 0.4) {
        let told!: Decision;
        const admitted = await asked(keys, cost, async () => {
          told = await limiter.take(takes, { background });
          return told;
        });
        const { hold } = told;
        if (!admitted || !hold) continue;
        await sleep(draw(HELD_MS));
        await settled(admitted, cost, () => hold.release());
      } else {
        let reservation!: Reservation;
        const admitted = await asked(keys, cost, async () => {
          reservation = await limiter.reserve(takes, { background });
          return reservation.decision;
        });
        if (!admitted) continue;
        let reserved = cost;
        for (let more = draw(3); more > 0; more--) {
          const wanted = Object.fromEntries(names.map((name) => [name, 1]));
          if (await asked(admitted.keys, 1, () => reservation.extend(wanted), admitted.decision)) reserved++;
        }
        await sleep(draw(HELD_MS));
        // Most of it goes back. Now and then more was used than was reserved.
        const used = random() < 0.75 ? draw(2) : draw(reserved + 2);
        const actual = Object.fromEntries(names.map((name) => [name, used]));
        await settled(admitted, used, () => reservation.settle(actual));
      }
    }
  }

  async function disturb(): Promise<void> {
    for (let at = faultEvery; faultEvery > 0 && at < decisions; at += faultEvery) {
      while (begun < at && !isOver) await sleep(1);
      if (isOver) return;
      const { proxy } = places[draw(PLACES)]!;
      await proxy.set(FAULTS[draw(FAULTS.length)]!);
      const most = MET[draw(MET.length)]!;
      for (let waited = 0; proxy.met < most && waited < FAULT_MS && !isOver; waited += 2) await sleep(2);
      await proxy.set(undefined);
      faults++;
    }
  }

  try {
    const limiters = Array.from({ length: isolates }, limiterOf);
    const disturbed = disturb();
    await Promise.all(
      limiters.flatMap((limiter, isolate) =>
        Array.from({ length: processes }, (_, p) => live(limiter, isolate, isolate * processes + p)),
      ),
    );
    isOver = true;
    await disturbed;
    while (works.length > 0) await Promise.all(works.splice(0));
    await finalLooks();
    const counted = Object.entries(POLICIES).map(([name, { limit, onStoreFailure }]): [string, CountedPolicy] => {
      return [name, { limit: Number(limit), counts: isSlots(name) ? "slots" : "units", onStoreFailure }];
    });
    const about = `${isolates} isolates of ${processes} processes, ${faults} faults, seed ${seed}`;
    return recorder.end({
      promise: "several-places",
      about: `limiters over ${PLACES} Redis: ${about}`,
      policies: Object.fromEntries(counted),
      breakers,
    });
  } finally {
    await Promise.all(places.map((place) => place.stop()));
  }

  /** What every key holds when everything is over: no proxy is in between. */
  async function finalLooks(): Promise<void> {
    const looked = places.map(async ({ bridge, token }, place) => {
      const direct = redisPlace({ url: bridge, token, timeoutMs: PATIENCE_MS });
      const store = recorder.recorded(`redis${place}`, direct, () => ({ process: isolates * processes + place }));
      for (const [key, one] of limitsOf) {
        if (placeOf(key) === place) await store.take({ keys: [{ ...one, key, group: 0, cost: 0 }], flag: Flag.look });
      }
    });
    await Promise.all(looked);
  }
}

interface Place {
  readonly proxy: FaultProxy;
  /** The URL of the bridge behind the proxy. */
  readonly bridge: string;
  readonly token: string;
  stop(): Promise<void>;
}

async function startPlace(): Promise<Place> {
  const server = await startRedisServer();
  const bridge = await createBridge({ redisUrl: server.url, token: "history" });
  const proxy = await startFaultProxy(bridge.url);
  return {
    proxy,
    bridge: bridge.url,
    token: bridge.token,
    async stop() {
      await proxy.close();
      await bridge.close();
      await server.stop();
    },
  };
}
