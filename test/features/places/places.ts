// Several places behind a network, in virtual time, and a record of every call: which decision made it, and what came
// of it.

import { AsyncLocalStorage } from "node:async_hooks";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { hashTagOf } from "../../../src/kernel/core/layout.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { splitByHashSlot } from "../../../src/stores/redis-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { type VirtualTime, virtualTime } from "../../support/virtual-time.ts";

/**
 * What becomes of a call: known not to have run; the same, because another node of a cluster has the key for a moment;
 * ran, and the reply is lost; did not run, and nobody knows; ran, and the reply comes too late.
 */
export type Fault = "known" | "moved" | "ran" | "lost" | "late";

/** Between an isolate and a place. */
export interface Link {
  /** One way, for the next message, in ms. */
  delayMs(): number;
  /** Of the next call; undefined: it is answered. */
  fault?(request: TakeRequest): Fault | undefined;
}

export interface Call {
  /** The number of the decision that made it. */
  readonly decision: number;
  readonly isolate: number;
  readonly place: number;
  readonly request: TakeRequest;
  readonly fault: Fault | undefined;
  /** Absent: it did not run. */
  readonly reply?: TakeReply;
  /** When it was sent, in virtual time. */
  readonly sentAtMs: number;
  /** When it ran, in virtual time. Absent: it did not run. */
  readonly ranAtMs?: number;
  /** When the isolate had the reply, in virtual time. Absent: it had none in time. */
  repliedAtMs?: number;
}

export interface Places {
  /** Every call whose outcome is settled, in the order in which they ran. */
  readonly calls: readonly Call[];
  /** Requests on their way to a place, or whose reply is on its way back. */
  readonly pending: ReadonlySet<TakeRequest>;
  /** A place itself, without a network, at its present instant. */
  at(place: number, request: TakeRequest): Promise<TakeReply>;
  limiter(policies: readonly PolicyInput[], link: (place: number) => Link, namespace?: string): Limiter;
  /** Runs a decision under a number of its own. */
  as<T>(decision: number, work: () => T): T;
}

export const START_MS = 1_800_000_000_500;
const BUDGET_MS = 250;
/** A late reply comes this long after the budget is spent. */
const LATE_MS = 70;

export interface PlacesOptions {
  /** How far the clock of each place is ahead. The list may be changed: a clock steps then. */
  readonly clocksMs: readonly number[];
  /** Which places are a Redis Cluster, where every hash tag is a slot. Default: none. */
  readonly clusters?: readonly boolean[];
  readonly placeOf: (key: string) => number;
  /** False: every call fails. */
  readonly isWarm: () => boolean;
}

export function createPlaces(time: VirtualTime, { clocksMs, clusters, placeOf, isWarm }: PlacesOptions): Places {
  const stores = clocksMs.map(() => memoryStore());
  const nowAt = (place: number) => Math.floor(time.nowMs()) + clocksMs[place]!;
  const at = (place: number, request: TakeRequest) => stores[place]!.take(request, nowAt(place));
  const decisions = new AsyncLocalStorage<number>();
  const calls: Call[] = [];
  const pending = new Set<TakeRequest>();
  let isolates = 0;

  function linkedStore(place: number, isolate: number, link: Link): Store {
    return {
      kind: "redis",
      keySecret: "token",
      timeoutMs: BUDGET_MS,
      async take(request) {
        pending.add(request);
        try {
          return await ask(request);
        } finally {
          pending.delete(request);
        }
      },
      async reset(keys) {
        await time.sleep(link.delayMs());
        await stores[place]!.reset(keys);
        await time.sleep(link.delayMs());
      },
      async ping() {},
    };

    async function ask(request: TakeRequest): Promise<TakeReply> {
      // Keys are hashed once outside of virtual time: no call is made then.
      if (!isWarm()) throw new StoreError("OPEN");
      const decision = decisions.getStore() ?? -1;
      const fault = link.fault?.(request);
      const call = { decision, isolate, place, request, fault, sentAtMs: time.nowMs() };
      const slots = new Set(request.keys.map(({ key }) => hashTagOf(key)));
      if (clusters?.[place] && slots.size > 1) {
        await time.sleep(2 * link.delayMs());
        throw new StoreError("CROSSSLOT");
      }
      if (fault === "known" || fault === "moved" || fault === "lost") {
        calls.push(call);
        if (fault === "moved") throw new StoreError("REDIS", "MOVED");
        if (fault === "known") throw new StoreError("OPEN");
        await time.sleep(BUDGET_MS);
        throw new StoreError("TIMEOUT");
      }
      await time.sleep(link.delayMs());
      const reply = await at(place, request);
      const ran: Call = { ...call, reply, ranAtMs: time.nowMs() };
      calls.push(ran);
      if (fault === undefined) await time.sleep(link.delayMs());
      else await time.sleep(BUDGET_MS);
      if (fault === "ran") throw new StoreError("TIMEOUT");
      if (fault === "late") {
        const late = { ...request };
        pending.add(late);
        const answer = time.sleep(LATE_MS).then(() => {
          pending.delete(late);
          return reply;
        });
        throw new StoreError("TIMEOUT", undefined, { answer, hasFailed: answer.then(() => false) });
      }
      ran.repliedAtMs = time.nowMs();
      return reply;
    }
  }

  return {
    calls,
    pending,
    at,
    limiter(policies, link, namespace = "") {
      const isolate = isolates++;
      const timing = { nowMs: Date.now, sleep: time.sleep };
      const places = clocksMs.map((_, place) => withIsolate(linkedStore(place, isolate, link(place)), timing));
      const [first] = places;
      const store = places.length === 1 ? splitByHashSlot(first!) : splitStore(places, placeOf);
      return createLimiter({ policies, store, namespace, onDecision() {} });
    },
    as: (decision, work) => decisions.run(decision, work),
  };
}

/** Begins virtual time, after `warm`, which hashes every key and may not wait for virtual time. */
export type Begin = (warm: () => Promise<unknown>) => Promise<void>;

/** Lives through a story in virtual time, by which the local clock and its timers go meanwhile. */
export async function inVirtualTime<T>(story: (time: VirtualTime, begin: Begin) => Promise<T>): Promise<T> {
  const time = virtualTime(START_MS);
  const realNow = Date.now;
  const realTimer = globalThis.setTimeout;
  Date.now = () => Math.floor(time.nowMs());
  const timer = (work: () => void, ms: number) => {
    time.at(time.nowMs() + ms, work);
    return {};
  };
  globalThis.setTimeout = timer as unknown as typeof setTimeout;
  try {
    const ended = Promise.withResolvers<T>();
    const begun = Promise.withResolvers<void>();
    const begin = async (warm: () => Promise<unknown>) => {
      await warm();
      const started = Promise.withResolvers<void>();
      time.at(START_MS, () => started.resolve());
      begun.resolve();
      await started.promise;
    };
    story(time, begin).then(ended.resolve, (error) => {
      begun.resolve();
      ended.reject(error);
    });
    await begun.promise;
    await time.runUntil(START_MS + 1e9);
    return await ended.promise;
  } finally {
    Date.now = realNow;
    globalThis.setTimeout = realTimer;
  }
}
