/**
 * Stops calling a store that does not answer. While the breaker is open, no request waits for the store. There is one
 * breaker for each isolate and store.
 *
 * It needs no timers, and no request waits for another request: a probe is an ordinary take that is let through. If the
 * client of a probe goes away and the outcome is never heard, the next probe is let through after a while.
 */

import type { TakeReply } from "../core/take.ts";
import { createThrown } from "../lines.ts";
import { isStoreError } from "../store/failure.ts";
import { type Store, StoreError, type StoreErrorCode } from "../store/store.ts";

/**
 * A failure counts 1, and a success takes back half of one. The breaker opens at this score: after this many failures
 * in a row, or when more than a third of all calls fail.
 */
const OPENS_AT = 5;
const FORGIVES = 0.5;
/** Time between two probes, ± a fifth: isolates that saw the same failure must not all come back at once. */
const PROBE_EVERY_MS = 1_000;
const JITTER = 0.2;
/** The outcome of a probe arrives at most this many ms after its budget, or never. */
const LAPSE_MS = 100;
/**
 * If nothing is heard about a timeout for this long after its budget, it is a failure: the runtime has ended the work
 * that waited for the reply.
 */
const UNHEARD_MS = 10_000;

/** Whether the store is called (`closed`), or only probed about once a second (`open`). */
export type BreakerState = "closed" | "open";

/** An instance has stopped calling its store, or calls it again. */
export interface BreakerChange {
  /** The state from now on. */
  readonly state: BreakerState;
  /** The failure that opened the breaker. */
  readonly failure?: StoreErrorCode;
  /** The first word of Redis's own error, if Redis sent one. */
  readonly redis?: string;
  /** The name of the node, or `shard 0`, `shard 1`, … of several objects. Absent: there is one store. */
  readonly place?: string;
}

export interface Breaker {
  readonly state: () => BreakerState;
  /** The number of a call that may be made now. undefined: no call may be made. */
  start(nowMs: number): number | undefined;
  /** The call has ended. @returns whether this has opened or closed the breaker. */
  end(call: number, failed: boolean, nowMs: number): boolean;
  /** The store has replied too late for the request. @returns whether this has closed the breaker. */
  replied(): boolean;
}

/** The state machine, without a clock. @param budgetMs how long a call may take. @param random a number from 0 to 1. */
export function createBreaker(budgetMs: number, random: () => number = Math.random): Breaker {
  let score = 0;
  /** No probe before `atMs + waitMs`. undefined: the breaker is closed. */
  let open: { readonly atMs: number; readonly waitMs: number } | undefined;
  /** Calls of an earlier epoch do not count any more. */
  let epoch = 0;

  function wait(nowMs: number, leastMs = 0): void {
    const waitMs = Math.round(PROBE_EVERY_MS * (1 - JITTER + 2 * JITTER * random()));
    open = { atMs: nowMs, waitMs: Math.max(leastMs, waitMs) };
  }

  /** @returns whether this has opened the breaker. */
  function afterFailure(nowMs: number): boolean {
    const wasOpen = open !== undefined;
    if (!wasOpen && ++score < OPENS_AT) return false;
    wait(nowMs);
    if (wasOpen) return false;
    score = 0;
    epoch++;
    return true;
  }

  /** @returns whether it was open. */
  function close(): boolean {
    if (!open) return false;
    open = undefined;
    score = 0;
    epoch++;
    return true;
  }

  return {
    state: () => (open ? "open" : "closed"),

    start(nowMs) {
      if (!open) return epoch;
      const elapsedMs = nowMs - open.atMs;
      // A clock that has stepped back must not keep the breaker open.
      if (elapsedMs >= 0 && elapsedMs < open.waitMs) return undefined;
      wait(nowMs, budgetMs + LAPSE_MS);
      return ++epoch;
    },

    end(call, failed, nowMs) {
      if (call !== epoch) return false;
      if (failed) return afterFailure(nowMs);
      score = Math.max(0, score - FORGIVES);
      return close();
    },

    replied: close,
  };
}

export interface BreakerOptions {
  /** Budget of one call in milliseconds. */
  readonly timeoutMs: number;
  /** Called when the breaker has opened or closed. */
  readonly onBreakerChange?: ((change: BreakerChange) => void) | undefined;
}

/** Adds the name of the place to each change, if the store has several places. */
export function changeOf(
  place: string | undefined,
  report: (change: BreakerChange) => void,
): (change: BreakerChange) => void {
  return place === undefined ? report : (change) => report({ ...change, place });
}

/** Writes a line whenever this isolate stops calling its store, or calls it again. */
export function reportBreaker(change: object): void {
  console.warn(JSON.stringify({ event: "breaker", at: new Date().toISOString(), ...change }));
}

/** A store behind a breaker, as those call it for whom no request waits. */
interface StoreWithBreaker extends Store {
  readonly beyond: Store;
}

/**
 * The store as it is told what it missed. An open breaker says that requests do not wait for the store. It does not say
 * that the store hears nothing: it may be slow.
 */
export function beyondBreaker(store: Store): Store {
  return (store as Partial<StoreWithBreaker>).beyond ?? store;
}

/**
 * Puts a breaker in front of a store. A reply within the budget is a success. A timeout becomes a failure if no reply
 * arrives within a second budget either.
 */
export function withBreaker(store: Store, { timeoutMs, onBreakerChange }: BreakerOptions): StoreWithBreaker {
  const breaker = createBreaker(timeoutMs);
  const writeThrown = createThrown("onBreakerChange threw");
  /** Timeouts that a reply may still follow, oldest first. */
  const undecided = new Set<{ readonly call: number; readonly error: StoreError; readonly atMs: number }>();

  function replied(call: number): void {
    if (breaker.end(call, false, Date.now())) changed();
  }

  function failed(call: number, error: StoreError): void {
    // An error reply about this one command shows that the store is alive.
    if (error.isReply) replied(call);
    else if (breaker.end(call, true, Date.now())) changed(error);
  }

  function changed(failure?: StoreError): void {
    try {
      onBreakerChange?.({
        state: breaker.state(),
        ...(failure && { failure: failure.code, ...(failure.redisCode && { redis: failure.redisCode }) }),
      });
    } catch (error) {
      writeThrown(error);
    }
  }

  // A store that replies late is working. Its late replies keep the isolate's own counts close to the truth.
  function timedOut(call: number, error: StoreError, hasFailed: Promise<boolean>): void {
    const one = { call, error, atMs: Date.now() };
    undecided.add(one);
    hasFailed.then((isFailure) => {
      const isUndecided = undecided.delete(one);
      if (!isFailure) {
        if (breaker.replied()) changed();
      } else if (isUndecided) failed(call, error);
    });
  }

  function endUnheard(): void {
    for (const one of undecided) {
      if (Math.abs(Date.now() - one.atMs) < timeoutMs + UNHEARD_MS) return;
      undecided.delete(one);
      failed(one.call, one.error);
    }
  }

  async function take(...[request, nowMs, budgetMs]: Parameters<Store["take"]>): Promise<TakeReply> {
    endUnheard();
    const call = breaker.start(Date.now());
    if (call === undefined) throw new StoreError("OPEN");
    try {
      const reply = await store.take(request, nowMs, budgetMs);
      replied(call);
      return reply;
    } catch (error) {
      if (!isStoreError(error)) throw error;
      if (error.timeout) timedOut(call, error, error.timeout.hasFailed);
      else failed(call, error);
      throw error;
    }
  }

  async function passBeyond(...[request, nowMs, budgetMs]: Parameters<Store["take"]>): Promise<TakeReply> {
    if (breaker.state() === "closed") return await take(request, nowMs, budgetMs);
    const reply = await store.take(request, nowMs, budgetMs);
    if (breaker.replied()) changed();
    return reply;
  }

  const beyond: Store = { ...store, breaker: breaker.state, take: passBeyond };
  return { ...beyond, take, beyond };
}
