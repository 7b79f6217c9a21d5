// One isolate, asked as its limiter asks it, about keys instead of policies.

import { LEASES } from "../../../src/features/leases/wrap.ts";
import { SHARED } from "../../../src/features/shared/wrap.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { createIsolate, type IsolateOptions, type PlaceTaker } from "../../../src/kernel/place/isolate.ts";
import {
  type Background,
  type Consistency,
  type DecisionNotes,
  type Inquiry,
  type Taken,
  undo,
} from "../../../src/kernel/place/taker.ts";
import type { Timing } from "../../../src/kernel/place/timing.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { virtualTime } from "../../support/virtual-time.ts";

export interface Told {
  readonly reply: TakeReply;
  readonly source: string;
  readonly taken: readonly Taken[];
  /** Another place has refused the request. */
  returnUnits(): Promise<void>;
}

export interface Asking {
  /** @throws {StoreError} the code alone, if the store has no answer. */
  take(
    request: Pick<TakeRequest, "keys" | "slot"> & { readonly flag: Inquiry["flag"] },
    background?: Background,
    consistency?: Consistency,
    notes?: DecisionNotes,
  ): Promise<Told>;
  /** Decides without the store if it has no answer. */
  orAlone(request: Pick<TakeRequest, "keys"> & { readonly flag: Inquiry["flag"] }): Promise<TakeReply>;
  reset(keys: readonly string[]): Promise<void>;
}

/** A taker over an isolate of its own. */
export function takerBy(
  store: Store,
  timing?: Timing,
  options?: IsolateOptions,
): (consistency: Consistency) => PlaceTaker {
  const { strict, wrapped } = createIsolate(store, timing, { ...options, wraps: [SHARED, LEASES] });
  const takers = { strict, leased: wrapped(LEASES), shared: wrapped(SHARED) };
  return (consistency) => takers[consistency];
}

export function asking(store: Store, timing?: Timing, options?: IsolateOptions): Asking {
  const by = takerBy(store, timing, options);
  return {
    async take({ keys, flag, slot = 0 }, background, consistency = "leased", notes) {
      const lines = keys.map((request) => ({ request, onFailure: "deny" as const }));
      const answer = await by(consistency).take({ lines, flag, slot }, { background, notes });
      const { replies, source, taken, failure } = answer;
      if (failure) throw new StoreError(failure);
      return { reply: replies[0]!.reply, source, taken, returnUnits: () => undo(taken, {}) };
    },
    async orAlone({ keys, flag }) {
      const lines = keys.map((request) => ({ request, onFailure: "local" as const }));
      return (await by("strict").take({ lines, flag, slot: 0 }, {})).replies[0]!.reply;
    },
    reset: (keys) => by("strict").reset(keys),
  };
}

interface FarOptions extends IsolateOptions {
  readonly startMs: number;
  readonly oneWayMs: number;
  /** How far the isolate's clock is ahead of the store's. */
  readonly aheadMs?: number;
  readonly timeoutMs?: number | undefined;
  /** True: no reply comes any more. */
  readonly isDead?: () => boolean;
  /** Called when the store has decided. @returns the failure that the isolate finds in place of the reply. */
  readonly seen?: (request: TakeRequest, reply: TakeReply) => StoreError | undefined | void | Promise<void>;
}

/** An isolate in virtual time, far from its store. */
export function farAsking({ startMs, oneWayMs, aheadMs = 0, timeoutMs, isDead, seen, ...options }: FarOptions) {
  const time = virtualTime(startMs);
  const central = memoryStore();
  const store: Store = {
    ...central,
    kind: "redis",
    ...(timeoutMs && { timeoutMs }),
    async take(request, _nowMs, budgetMs = timeoutMs!) {
      if (isDead?.()) {
        await time.sleep(budgetMs);
        throw new StoreError("TIMEOUT");
      }
      await time.sleep(oneWayMs);
      const reply = await central.take(request, Math.floor(time.nowMs()));
      const failure = await seen?.(request, reply);
      await time.sleep(oneWayMs);
      if (failure) throw failure;
      return reply;
    },
  };
  const timing = { nowMs: () => Math.floor(time.nowMs()) + aheadMs, sleep: time.sleep };
  return { time, central, answers: asking(store, timing, options) };
}
