/** While the store has no answer: this isolate's own counters, which go on from the counts that the store told last. */

import { BoundedMap } from "../../bounded-map.ts";
import { Kind } from "../../core/algorithm.ts";
import { countsBytes, type LimitRecord, type LimitSpec, type LimitView } from "../../core/algorithms.ts";
import type { ConcurrencyView } from "../../core/concurrency.ts";
import type { LogLimit, LogView } from "../../core/sliding-log.ts";
import { ENFORCED, Flag, limitKeyOf, type TakeReply, type TakeRequest } from "../../core/take.ts";
import { lateReplyOf } from "../../store/failure.ts";
import { createCounts } from "../../store/memory.ts";
import { type Store, StoreError } from "../../store/store.ts";
import type { Debts } from "../repay/debts.ts";
import type { ReplySource } from "../reply-source.ts";
import { createStoreClock } from "../store-clock.ts";
import { takeBeside } from "./take-beside-unanswered.ts";
import { trackUnanswered } from "./unanswered.ts";

/**
 * Counts: at most 20 MiB of the 128 MiB that an isolate has (src/store/memory.ts). What the store told: about 0.5 KiB of a window or a
 * log, 10 MiB of twice as many (Node 24, 2026-11); 5.4 KiB of eight windows of 60 buckets.
 */
const MAX_KEYS = 10_000;
/** What any key counts for at least, in bytes. A key with many buckets counts as several. */
const KEY_BYTES = 512;
/** Keys that were reset: late replies from before teach nothing. */
const MAX_RESETS = 1_000;

/** The counts that the store told of a key last. */
interface Told {
  /** When, by the store's clock, ms since the epoch. */
  readonly atMs: number;
  /** Empty: they are counted already. */
  readonly limits: readonly ToldLimit[];
}

interface ToldLimit {
  readonly limit: LimitSpec;
  readonly view: Exclude<LimitView, ConcurrencyView>;
}

export interface Fallback extends ReplySource {
  /** The store itself. What it tells of a key replaces what the fallback has counted there. */
  readonly watched: Store;
}

/** The key used longest ago is forgotten first, and then begins at zero: with more active keys than this, limits loosen. */
export function createFallback(store: Store, debts: Debts): Fallback {
  const clock = createStoreClock();
  const told = new BoundedMap<string, Told>({
    maxSize: MAX_KEYS * 2 * KEY_BYTES,
    weigh: ({ limits }) => limits.reduce((bytes, { view }) => bytes + countsBytes(view), KEY_BYTES),
  });
  const counts = createCounts(MAX_KEYS);
  const unanswered = trackUnanswered();
  /** By the local clock, ms since the epoch. */
  const resetAtMs = new BoundedMap<string, number>({ maxSize: MAX_RESETS });

  function forget(keys: readonly string[]): void {
    for (const key of keys) {
      told.delete(key);
      counts.write(key, undefined);
    }
  }

  /** A request may ask for a part of a key's limits only: what is told is remembered with the limit that it is about. */
  function learn({ keys }: TakeRequest, reply: TakeReply, sentAtMs: number): void {
    clock.observe(sentAtMs, Date.now(), reply.nowMs);
    for (const [k, { key, limits }] of keys.entries()) {
      // A late reply may tell what was true before the newest one.
      if ((told.get(key)?.atMs ?? 0) > reply.nowMs) continue;
      const known = limits.flatMap((limit, l): ToldLimit[] => {
        const { view } = reply.keys[k]![l]!;
        // Slots come back at any moment, and whose they are is not known: requests in flight are counted from now on.
        return view.kind === Kind.concurrency ? [] : [{ limit, view }];
      });
      // A slot was renewed or released: nothing is told of the other limits.
      if (known.length > 0) told.set(key, { atMs: reply.nowMs, limits: known });
    }
  }

  /**
   * Makes what the store told last, and what it has yet to be told, what is counted. Later, in the same outage, there is nothing new
   * to begin with.
   */
  function begin(key: string, nowMs: number): void {
    const known = told.get(key);
    if (!known || known.limits.length === 0) return;
    // The instant stays: a late reply must not bring older counts back.
    told.set(key, { atMs: known.atMs, limits: [] });
    unanswered.uncounted(key);
    const records = known.limits.map(({ limit, view }): LimitRecord => {
      if (view.kind !== Kind.log) return view;
      const record = logRecordOf(view, limit as LogLimit);
      // When each unit came is not known: none leaves before the last.
      counts.write(limitKeyOf(key, limit), [{ atMs: record.newestAtMs, cost: record.used }]);
      return record;
    });
    counts.write(key, records);
    const limits = known.limits.map(({ limit }) => limit);
    const cost = debts.units(key, Date.now());
    counts.take({ keys: [{ key, group: ENFORCED, cost, limits }], flag: Flag.chargeAnyway }, nowMs);
  }

  return {
    watched: {
      // Member by member: a store of one's own may be an object of a class.
      kind: store.kind,
      keySecret: store.keySecret,
      ...(store.timeoutMs !== undefined && { timeoutMs: store.timeoutMs }),
      ping: () => store.ping(),
      async take(request, nowMs, budgetMs) {
        const sentAtMs = Date.now();
        const end = request.flag === Flag.take ? unanswered.begin(request.keys, sentAtMs) : () => {};
        try {
          const reply = await store.take(request, nowMs, budgetMs);
          learn(request, reply, sentAtMs);
          end();
          return reply;
        } catch (error) {
          const late = lateReplyOf(error);
          if (!late) {
            end();
            throw error;
          }
          const answer = late.answer.then((reply) => {
            end();
            // What was charged before a reset is gone, and its counts are nobody's.
            if (!reply || request.keys.some(({ key }) => (resetAtMs.get(key) ?? 0) >= sentAtMs)) return undefined;
            learn(request, reply, sentAtMs);
            return reply;
          });
          throw new StoreError("TIMEOUT", undefined, { ...late, answer, asked: request.keys });
        }
      },
      async reset(keys) {
        await store.reset(keys);
        forget(keys);
        debts.forget(keys);
        for (const key of keys) resetAtMs.set(key, Date.now());
      },
    },

    async take(request) {
      const localAtMs = Date.now();
      // The earliest instant that it may be at the store: what it counted leaves no sooner here than there.
      const nowMs = clock.at(localAtMs)?.earliestMs ?? localAtMs;
      for (const { key } of request.keys) begin(key, nowMs);
      if (request.flag !== Flag.take) return { reply: counts.take(request, nowMs), source: "fallback" };
      const reply = takeBeside(counts, unanswered.beside(request.keys, localAtMs), request, nowMs);
      if (reply.allowed) for (const key of request.keys) unanswered.counted(key);
      return { reply, source: "fallback" };
    },

    async reset(keys) {
      forget(keys);
    },
  };
}

function logRecordOf({ kind, used, resetAtMs }: LogView, { windowMs }: LogLimit) {
  return { kind, windowMs, used, newestAtMs: resetAtMs - windowMs };
}
