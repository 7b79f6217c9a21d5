/** One run: many isolates with the whole limiter, in front of objects that can be too slow. */

import { leases } from "../../../src/features/leases/index.ts";
import { shared } from "../../../src/features/shared/index.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { createLimiter, type Limiter } from "../../../src/limiter.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { rendezvous } from "../../../src/stores/rendezvous.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { mostWithin } from "../../../test/support/most-within.ts";
import { mulberry32 } from "../../../test/support/mulberry32.ts";
import { virtualTime } from "../../../test/support/virtual-time.ts";
import { withVirtualGlobals } from "./globals.ts";
import { type SimulatedObject, simulatedObject } from "./object.ts";

export interface Scenario {
  readonly mode: "strict" | "leased" | "shared";
  readonly isolates: number;
  /** Requests per second, of all isolates together. */
  readonly rate: number;
  /** Requests relative to the limit. */
  readonly demand: number;
  /** 1: one key that all requests share. More: a key and a limit for each client, with equal traffic. */
  readonly clients: number;
  readonly shards: number;
  /** How long one call keeps an object busy, in ms. */
  readonly serviceMs: number;
  readonly algorithm: "sliding-window" | "token-bucket";
  readonly windowMs: number;
  /** The time budget of a decision. */
  readonly timeoutMs: number;
  /** How long requests come before the boundary of a window, and after it. */
  readonly halfMs: number;
  readonly seed: number;
}

/** Everything except `most` is measured in the second half, which begins with a window. The first half warms up. */
export interface Measured {
  readonly requests: number;
  /** Calls that arrived at all objects. */
  readonly calls: number;
  /** The part of the time in which the busiest object worked. */
  readonly busy: number;
  /** What requests waited, in ms. */
  readonly p50: number;
  readonly p99: number;
  /** Admitted units, divided by the units that demand and limit allow. */
  readonly used: number;
  /** The most units of one key that were admitted in any true window, divided by the limit. */
  readonly most: number;
  /** The part of the requests that an isolate decided by its own counters, because the object had not answered. */
  readonly fallback: number;
}

/** A beginning of windows of every length here. */
const BOUNDARY_MS = 1_700_000_040_000;
/** The delay one way between an isolate and the objects, in ms. */
const DELAY_MS = [5, 100] as const;
/** The isolates that see one client: several run in the location nearest to it. */
const ISOLATES_OF_CLIENT = 3;
/** The traffic begins with this part of its rate and grows evenly until this part of the first half has passed. */
const RAMP = { from: 0.02, part: 0.5 } as const;
/** After the last request every answer is there. */
const LAST_ANSWER_MS = 1_000;

/** The units of one key per window. */
export function limitOf({ rate, windowMs, demand, clients }: Scenario): number {
  return Math.round((rate * windowMs) / 1_000 / clients / demand);
}

export async function simulate(scenario: Scenario): Promise<Measured> {
  const random = mulberry32(scenario.seed);
  const time = virtualTime(BOUNDARY_MS - scenario.halfMs);
  return await withVirtualGlobals(time, mulberry32(scenario.seed + 1), async () => {
    const { isolates, rate, clients, windowMs, halfMs } = scenario;
    const objects = Array.from({ length: scenario.shards }, () => simulatedObject(time, scenario.serviceMs));
    const limiters = Array.from({ length: isolates }, () => limiterOver(objects, scenario, time.sleep, random));
    const keys = Array.from({ length: clients }, (_, c) => ({ kind: "client", values: [String(c)] }));
    const pick = clients === 1 ? byIsolate(isolates, random) : byClient(isolates, clients, random);
    const [startMs, endMs] = [BOUNDARY_MS - halfMs, BOUNDARY_MS + halfMs];

    const waitedMs: number[] = [];
    const requested = keys.map(() => 0);
    const admittedAtMs = keys.map((): number[] => []);
    let [admitted, fallbacks] = [0, 0];
    async function request(): Promise<void> {
      const cameAtMs = time.nowMs();
      const { isolate, client } = pick();
      const limiter = limiters[isolate]!;
      const take = { policy: limiter.policies[0]!, key: keys[client]!, cost: 1 };
      const { allowed, source } = await limiter.takeMatched([take], () => "", BACKGROUND);
      if (allowed) admittedAtMs[client]!.push(time.nowMs());
      if (cameAtMs < BOUNDARY_MS) return;
      waitedMs.push(time.nowMs() - cameAtMs);
      requested[client]!++;
      if (allowed) admitted++;
      if (source === "fallback") fallbacks++;
    }

    function arrive(): void {
      void request();
      const part = Math.min(1, RAMP.from + (time.nowMs() - startMs) / (halfMs * RAMP.part));
      const nextMs = time.nowMs() - (Math.log(1 - random()) / (rate * part)) * 1_000;
      if (nextMs < endMs) time.at(nextMs, arrive);
    }
    time.at(startMs, arrive);
    await time.runUntil(BOUNDARY_MS);
    const before = objects.map(({ calls, busyMs }) => ({ calls, busyMs }));
    await time.runUntil(endMs);
    const counted = objects.map(({ calls, busyMs }, o) => {
      return { calls: calls - before[o]!.calls, busyMs: busyMs - before[o]!.busyMs };
    });
    await time.runUntil(endMs + LAST_ANSWER_MS);

    waitedMs.sort((a, b) => a - b);
    const limit = limitOf(scenario);
    const mosts = admittedAtMs.map((own) =>
      mostWithin(
        own.sort((a, b) => a - b),
        windowMs,
      ),
    );
    return {
      requests: waitedMs.length,
      calls: counted.reduce((sum, one) => sum + one.calls, 0),
      busy: Math.max(...counted.map(({ busyMs }) => busyMs)) / halfMs,
      p50: waitedMs[Math.floor(waitedMs.length * 0.5)]!,
      p99: waitedMs[Math.floor(waitedMs.length * 0.99)]!,
      used: admitted / requested.reduce((sum, own) => sum + Math.min(own, limit), 0),
      most: Math.max(...mosts) / limit,
      fallback: fallbacks / waitedMs.length,
    };
  });
}

const BACKGROUND = { waitUntil() {} };

/** The limiter of one isolate: what a Worker makes of its bindings, but for the network. */
function limiterOver(
  objects: readonly SimulatedObject[],
  scenario: Scenario,
  sleep: (ms: number) => Promise<void>,
  random: () => number,
): Limiter {
  const places = objects.map((object): Store => {
    const [min, max] = DELAY_MS;
    const oneWayMs = min + (max - min) * random();
    const jitter = mulberry32(Math.floor(random() * 2 ** 32));
    const delay = () => sleep(oneWayMs * (0.9 + 0.2 * jitter()));
    const place: Store = {
      kind: "durable-object",
      keySecret: "simulated",
      async take(request) {
        await delay();
        const reply = await object.take(request);
        await delay();
        return reply;
      },
      async reset() {},
      async ping() {},
    };
    return remoteStore(place, { timeoutMs: scenario.timeoutMs, onBreakerChange() {} });
  });
  const names = objects.map((_, o) => `shard ${o}`);
  return createLimiter({
    policies: [
      {
        name: "simulated",
        consistency: scenario.mode,
        limits: [{ algorithm: scenario.algorithm, limit: limitOf(scenario), window: `${scenario.windowMs}ms` }],
      },
    ],
    features: [leases(), shared()],
    store: splitStore(places, rendezvous(names)),
    onDecision() {},
  });
}

interface Picked {
  readonly isolate: number;
  readonly client: number;
}

/** How the traffic of the n-th isolate compares with that of the first: no isolate can serve most of it. */
const shareOf = (n: number): number => 1 / Math.sqrt(n);

/** One key, in busy and in quiet isolates. */
function byIsolate(isolates: number, random: () => number): () => Picked {
  let total = 0;
  const upTo = Array.from({ length: isolates }, (_, i) => {
    total += shareOf(i + 1);
    return total;
  });
  return () => {
    const at = random() * total;
    let [from, to] = [0, isolates - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (upTo[middle]! > at) to = middle;
      else from = middle + 1;
    }
    return { isolate: from, client: 0 };
  };
}

/** Equal clients. Each is seen by a few isolates. */
function byClient(isolates: number, clients: number, random: () => number): () => Picked {
  const among = (n: number) => Math.floor(random() * n);
  const seenBy = Array.from({ length: clients }, () =>
    Array.from({ length: ISOLATES_OF_CLIENT }, () => among(isolates)),
  );
  return () => {
    const client = among(clients);
    return { isolate: seenBy[client]![among(ISOLATES_OF_CLIENT)]!, client };
  };
}
