/**
 * The calls of this isolate to its store. What an isolate knows of the store, it learns from the replies that pass
 * here.
 */

import { BoundedMap } from "../bounded-map.ts";
import { Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../core/take.ts";
import { lateReplyOf } from "../store/failure.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Caller, UnansweredRequests } from "./fallback/unanswered.ts";
import type { PendingUnits } from "./pending-units.ts";
import type { Background } from "./reply-source.ts";
import type { StoreClock } from "./store-clock.ts";
import type { Timing } from "./timing.ts";
import type { ToldCounts } from "./told-counts.ts";

/** Keys that were reset: late replies from before the reset teach nothing. */
const MAX_RESETS = 1_000;

export interface CallOptions {
  /** Keeps the isolate alive until a reply that comes too late for the request has taught what it tells. */
  readonly background?: Background | undefined;
  /** What the decision has left of its time, in milliseconds. Default: the store's own budget. */
  readonly budgetMs?: number;
  /** The requests that the call is made for, one for each of its keys. Default: the keys themselves. */
  readonly callers?: readonly Caller[];
}

/** As much of the calls as repaying needs. */
export interface Takes {
  /** @throws {StoreError} */
  take(request: TakeRequest): Promise<TakeReply>;
}

export interface StoreCalls extends Takes, Pick<Store, "kind" | "timeoutMs"> {
  /** How long the last call that decided took, in milliseconds; 0 before the first. */
  readonly lastMs: number;
  /** Takes from the store, and learns from its reply, also from a late one. @throws {StoreError} */
  take(request: TakeRequest, options?: CallOptions): Promise<TakeReply>;
  /** @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;
}

export interface StoreCallParts {
  readonly store: Store;
  readonly timing: Timing;
  readonly clock: StoreClock;
  readonly told: ToldCounts;
  readonly inFlight: PendingUnits;
  readonly unanswered: UnansweredRequests;
  /** The store's clock or the local one has stepped: what was computed with the old difference is worth nothing. */
  onClockStep(): void;
}

export function createStoreCalls(parts: StoreCallParts): StoreCalls {
  const { store, timing, clock, told, inFlight, unanswered, onClockStep } = parts;
  /** Calls are numbered in the order in which they are sent. */
  let sent = 0;
  /** By key: the number of the last call that was sent before its reset. */
  const lastBeforeReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });
  let lastMs = 0;

  function isFromBeforeReset(keys: readonly KeyRequest[], call: number): boolean {
    return keys.some(({ key }) => (lastBeforeReset.get(key) ?? 0) >= call);
  }

  function learn(request: TakeRequest, reply: TakeReply, sentAtMs: number): void {
    const receivedAtMs = timing.nowMs();
    if (!clock.observe(sentAtMs, receivedAtMs, reply.nowMs)) {
      told.clearRefusals();
      onClockStep();
      // The local clock was set back during the call: the instant of the request is not comparable with later ones.
      if (receivedAtMs < sentAtMs) return;
    }
    told.hear(request, reply, sentAtMs, receivedAtMs);
  }

  return {
    kind: store.kind,
    ...(store.timeoutMs !== undefined && { timeoutMs: store.timeoutMs }),
    get lastMs() {
      return lastMs;
    },

    async take(request, { background, budgetMs, callers } = {}) {
      const { keys, flag } = request;
      const isDecision = flag === Flag.take || flag === Flag.look;
      const sentAtMs = timing.nowMs();
      const call = ++sent;
      const arrived = isDecision ? keys.map(({ key, cost }) => inFlight.begin(key, cost, sentAtMs)) : [];
      const answered = flag === Flag.take ? unanswered.begin(keys, sentAtMs, callers) : () => {};
      try {
        const reply = await store.take(request, undefined, budgetMs);
        if (isDecision) lastMs = timing.nowMs() - sentAtMs;
        // The counts of before a reset mean nothing any more.
        if (!isFromBeforeReset(keys, call)) learn(request, reply, sentAtMs);
        answered();
        return reply;
      } catch (error) {
        const late = lateReplyOf(error);
        if (!late) {
          answered();
          throw error;
        }
        const answer = late.answer.then((reply) => {
          answered();
          // A reset has removed what was charged before it, and there is nothing to give back.
          if (!reply || isFromBeforeReset(keys, call)) return undefined;
          learn(request, reply, sentAtMs);
          return reply;
        });
        background?.waitUntil(answer);
        throw new StoreError("TIMEOUT", undefined, { ...late, answer, asked: keys });
      } finally {
        for (const end of arrived) end();
      }
    },

    async reset(keys) {
      await store.reset(keys);
      for (const key of keys) lastBeforeReset.set(key, sent);
    },
  };
}
