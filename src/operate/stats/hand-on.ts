/**
 * Hands on what an isolate has collected, in the background of requests. The background of the first request after a
 * flush waits for the next flush: an isolate that gets no other request hands its counts on too. No answer waits for a
 * flush.
 *
 * Requests share nothing but plain data here: the runtime ends a promise with the request that made it.
 */

import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { LOCAL_TIMING, type Timing } from "../../kernel/place/timing.ts";
import { isRejected, type Rejected } from "../../kernel/store/rejected.ts";
import { withinBudget } from "../../kernel/time-budget.ts";
import type { Batch } from "./batch.ts";
import type { Minutes } from "./tally.ts";

/** Cloudflare ends the background work of a Worker 30 s after the answer (2026-11). */
const MAX_WAIT_MS = 20_000;
/** If the waiting request has less time left than this, and the flush comes later, the next request takes over. */
const HAND_OVER_MS = 10_000;
/** A flush may be this late before another request takes over: its request has ended without it. */
const LATE_MS = 1_000;
/** How long a call may take. Afterwards the batch is sent again, with its number. */
const CALL_MS = 5_000;
/** What a batch says of breakers holds for at least a minute, and until after the next flush. */
const OPEN_MS = 60_000;
const OPEN_AFTER_FLUSH_MS = 30_000;

/** What is collected for the next batch. */
interface Collected<B> {
  isEmpty(): boolean;
  /** Made a batch. From then on it is collected here no longer. */
  take(): B;
}

interface HandOnParts<B> {
  /**
   * Sends a batch. It may reject, or never end. A batch that `STATS` does not take is given up: it would be refused
   * each time, and no other would be sent.
   */
  readonly send: (batch: B) => Promise<undefined | Rejected>;
  readonly collected: Collected<B>;
  readonly flushMs: number;
  /** The lines that are written when `STATS` stops to answer, and when it refuses a batch. */
  readonly unsent: { readonly event: string };
  readonly refused: { readonly event: string };
  readonly timing?: Timing;
  /** Where lines go. Default: the console. */
  readonly report?: (line: string) => void;
}

/** The batches of what an isolate counts. @param open as in `Batch`. */
export function batchesOf(counted: Minutes, open: () => readonly string[], flushMs: number): Collected<Batch> {
  const openMs = Math.max(OPEN_MS, flushMs + OPEN_AFTER_FLUSH_MS);
  /** Made with the first batch: randomness does not work before the first request. */
  let isolate: string | undefined;
  let number = 0;
  return {
    isEmpty: () => counted.isEmpty(),
    take() {
      isolate ??= crypto.randomUUID();
      return { isolate, number: ++number, minutes: counted.take(), open: open(), openMs };
    },
  };
}

/** The wait for a flush, in the background of one request. */
interface Watch {
  readonly sinceMs: number;
  untilMs: number;
}

/** @returns a function for every request that has added something. @param nowMs the local clock. */
export function createHandOn<B>(parts: HandOnParts<B>): (background: Background | undefined, nowMs?: number) => void {
  const { send, collected, flushMs, unsent, refused, timing = LOCAL_TIMING, report = console.warn } = parts;
  /** Sent, and perhaps added; sent again until it is confirmed. */
  let unconfirmed: B | undefined;
  let isAway = false;
  /** When to flush. Undefined: nothing was counted since the last flush. */
  let dueAtMs: number | undefined;
  let watch: Watch | undefined;
  /** When the present flush has begun. Undefined: none is under way. */
  let flushingSinceMs: number | undefined;

  /** What to send next. Undefined: nothing. */
  function nextBatch(): B | undefined {
    if (!unconfirmed && !collected.isEmpty()) unconfirmed = collected.take();
    return unconfirmed;
  }

  const say = (line: { readonly event: string }, more = {}) =>
    report(JSON.stringify({ ...line, at: new Date().toISOString(), ...more }));

  /** Never rejects. @returns false if the batch was neither confirmed nor refused in time. */
  async function deliver(batch: B): Promise<boolean> {
    const isConfirmed = () => unconfirmed !== batch;
    async function confirm(): Promise<void> {
      const answer = await send(batch);
      // A late answer counts too: the batch is not sent again.
      if (isConfirmed()) return;
      unconfirmed = undefined;
      if (isRejected(answer)) say(refused, { reason: answer.rejected });
    }
    await withinBudget(confirm(), { budgetMs: CALL_MS, timeoutMs: CALL_MS }).catch(() => {});
    // One line for each outage of `STATS`.
    if (!isConfirmed() && !isAway) say(unsent);
    isAway = !isConfirmed();
    return isConfirmed();
  }

  /** One call. A batch that is sent again is followed by what was counted meanwhile. */
  async function flush(): Promise<void> {
    const isSentAgain = unconfirmed !== undefined;
    const batch = nextBatch();
    if (!batch || !(await deliver(batch)) || !isSentAgain) return;
    const next = nextBatch();
    if (next) await deliver(next);
  }

  /** A flush whose request has ended may never end. */
  const isFlushing = (nowMs: number) =>
    flushingSinceMs !== undefined && Math.abs(nowMs - flushingSinceMs) < 2 * CALL_MS + LATE_MS;

  async function wait(own: Watch): Promise<void> {
    for (;;) {
      await timing.sleep(Math.max(0, own.untilMs - timing.nowMs()));
      // Another request has taken over.
      if (watch !== own) return;
      const startMs = timing.nowMs();
      let againAtMs = startMs + LATE_MS;
      if (!isFlushing(startMs)) {
        // A request that counts from now on waits for the flush after this one.
        watch = dueAtMs = undefined;
        flushingSinceMs = startMs;
        await flush();
        if (flushingSinceMs === startMs) flushingSinceMs = undefined;
        if (watch || (unconfirmed === undefined && collected.isEmpty())) return;
        againAtMs = dueAtMs = startMs + flushMs;
      }
      const isTooLate = againAtMs > own.sinceMs + MAX_WAIT_MS;
      watch = isTooLate ? undefined : own;
      if (isTooLate) return;
      own.untilMs = againAtMs;
    }
  }

  function isWatched(nowMs: number): boolean {
    // Before: the clock was set back.
    if (!watch || nowMs < watch.sinceMs) return false;
    const { untilMs } = watch;
    return nowMs < (untilMs < dueAtMs! ? untilMs - HAND_OVER_MS : untilMs + LATE_MS);
  }

  return (background, nowMs = timing.nowMs()) => {
    if (isWatched(nowMs)) return;
    if (dueAtMs === undefined || dueAtMs > nowMs + flushMs) dueAtMs = nowMs + flushMs;
    const untilMs = Math.min(Math.max(dueAtMs, nowMs), nowMs + MAX_WAIT_MS);
    watch = { sinceMs: nowMs, untilMs };
    keepAlive(wait(watch), background);
  };
}
