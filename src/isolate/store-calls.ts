/**
 * The calls of this isolate to its store. The isolate learns about the store only from the replies that pass through
 * this file.
 */

import { BoundedMap } from "../bounded-map.ts";
import { isConcurrency } from "../core/concurrency.ts";
import { Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../core/take.ts";
import { askStore, lateReplyOf } from "../store/failure.ts";
import { type Store, StoreError } from "../store/store.ts";
import type { Caller, UnansweredRequests } from "./fallback/unanswered.ts";
import type { IsolateListener } from "./listener.ts";
import type { OwnErrors } from "./own-errors.ts";
import type { PendingUnits } from "./pending-units.ts";
import type { Background } from "./reply-source.ts";
import type { StoreClock } from "./store-clock.ts";
import type { Timing } from "./timing.ts";
import { decides, type ToldCounts } from "./told-counts.ts";

/** The number of resets that are remembered, because late replies from before a reset are ignored. */
const MAX_RESETS = 1_000;

interface CallOptions {
  /** Keeps the isolate alive until it has learned from a late reply. */
  readonly background?: Background | undefined;
  /** The rest of the decision's time, in ms. Default: the store's own budget. */
  readonly budgetMs?: number;
  /** The requests for which the call is made, one for each of its keys. Default: the keys themselves. */
  readonly callers?: readonly Caller[];
}

/** The part of the calls that repaying needs. */
export interface Takes {
  /** @throws {StoreError} */
  take(request: TakeRequest): Promise<TakeReply>;
}

export interface StoreCalls extends Takes, Pick<Store, "kind" | "timeoutMs" | "breaker"> {
  /** How long the last deciding call took, in ms. 0 before the first call. */
  readonly lastMs: number;
  /**
   * Takes from the store, and learns from its reply, even from a late one.
   *
   * @throws {StoreError} and no other error: what the isolate notes beside a call cannot fail it.
   */
  take(request: TakeRequest, options?: CallOptions): Promise<TakeReply>;
  /** @throws {StoreError} */
  reset(keys: readonly string[]): Promise<void>;
}

interface StoreCallParts {
  readonly store: Store;
  readonly timing: Timing;
  readonly clock: StoreClock;
  readonly told: ToldCounts;
  readonly inFlight: PendingUnits;
  readonly unanswered: UnansweredRequests;
  readonly ownErrors: OwnErrors;
  /** The store's clock or the local clock has stepped: nothing computed with the old difference holds any more. */
  onClockStep(): void;
  readonly listener?: IsolateListener | undefined;
}

export function createStoreCalls(parts: StoreCallParts): StoreCalls {
  const { store, timing, clock, told, inFlight, unanswered, onClockStep, listener } = parts;
  const { attempt } = parts.ownErrors;
  /** Calls are numbered in the order in which they are sent. */
  let sent = 0;
  /** For each key, the number of the last call that was sent before its reset. */
  const lastBeforeReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });
  let lastMs = 0;

  function isFromBeforeReset(keys: readonly KeyRequest[], call: number): boolean {
    return keys.some(({ key }) => (lastBeforeReset.get(key) ?? 0) >= call);
  }

  function learn(request: TakeRequest, reply: TakeReply, call: number, sentAtMs: number): void {
    // Every reply tells the store's clock. Counts from before a reset mean nothing any more.
    const hasCounts = !isFromBeforeReset(request.keys, call);
    const receivedAtMs = timing.nowMs();
    if (!clock.observe(sentAtMs, receivedAtMs, reply.nowMs)) {
      told.clearRefusals(sent);
      onClockStep();
      // The local clock was set back during the call: the instant of the request cannot be compared with later
      // instants.
      if (receivedAtMs < sentAtMs) return;
    }
    if (hasCounts) told.hear(request, reply, { sentAtMs, receivedAtMs, call, lastCall: sent });
  }

  return {
    kind: store.kind,
    ...(store.breaker && { breaker: () => store.breaker!() }),
    ...(store.timeoutMs !== undefined && { timeoutMs: store.timeoutMs }),
    get lastMs() {
      return lastMs;
    },

    async take(request, { background, budgetMs, callers } = {}) {
      const { keys, flag } = request;
      const isDecision = decides(flag);
      const sentAtMs = timing.nowMs();
      const call = ++sent;
      // Remembered counts lack what this call charges above a limit. Their waits would be too short until its reply.
      if (!isDecision) attempt(() => told.forgetRefusals(chargedAnyway(request)));
      const begin = () => keys.map(({ key, cost }) => inFlight.begin(key, cost, sentAtMs));
      const arrived = isDecision ? attempt(begin) : undefined;
      const begun = flag === Flag.take ? attempt(() => unanswered.begin(keys, sentAtMs, callers)) : undefined;
      const answered = () => attempt(() => begun?.());
      try {
        const reply = await askStore(store, request, budgetMs);
        attempt(() => {
          const tookMs = timing.nowMs() - sentAtMs;
          if (isDecision) lastMs = tookMs;
          listener?.storeCall("OK", tookMs);
        });
        attempt(() => learn(request, reply, call, sentAtMs));
        answered();
        return reply;
      } catch (error) {
        const { code } = error as StoreError;
        attempt(() => listener?.storeCall(code, timing.nowMs() - sentAtMs));
        const late = lateReplyOf(error);
        if (!late) {
          answered();
          throw error;
        }
        const answer = late.answer.then((reply) => {
          answered();
          // A reset has removed what was charged before it: there is nothing to give back.
          if (!reply || isFromBeforeReset(keys, call)) return undefined;
          attempt(() => learn(request, reply, call, sentAtMs));
          return reply;
        });
        background?.waitUntil(answer);
        throw new StoreError("TIMEOUT", undefined, { ...late, answer, asked: keys });
      } finally {
        attempt(() => {
          for (const end of arrived ?? []) end();
        });
      }
    },

    async reset(keys) {
      await store.reset(keys);
      for (const key of keys) lastBeforeReset.set(key, sent);
    },
  };
}

/** The keys that are charged whatever their limits say. Renewing a slot charges no units. */
function chargedAnyway({ keys, flag }: TakeRequest): string[] {
  return keys.flatMap(({ key, limits, flag: own = flag }) =>
    own === Flag.chargeAnyway && !limits.every(isConcurrency) ? [key] : [],
  );
}
