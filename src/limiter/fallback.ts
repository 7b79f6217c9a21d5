/** While the store has no answer: this isolate's own counters, which go on from the counts that the store told last. */

import { Kind } from "../core/algorithm.ts";
import type { LimitRecord } from "../core/algorithms.ts";
import type { LogLimit, LogView } from "../core/sliding-log.ts";
import { type KeyRequest, type LimitReply, ownKeyOf } from "../core/take.ts";
import { Lru } from "../lru.ts";
import type { Answers } from "../region/answers.ts";
import { createStoreClock } from "../region/clock.ts";
import { createCounts } from "../store/memory.ts";
import type { Store } from "../store/store.ts";

/**
 * Counts: at most 20 MiB of the 128 MiB that an isolate has (src/store/memory.ts). What the store told: about 0.5 KiB of a window or a
 * log, 10 MiB of twice as many (Node 24, 2026-11); 5.4 KiB of eight windows of 60 buckets.
 */
const MAX_KEYS = 10_000;

export interface Fallback extends Answers {
  /** The store itself. What it tells of a key replaces what the fallback has counted there. */
  readonly watched: Store;
}

/** The key used longest ago is forgotten first, and then begins at zero: with more active keys than this, limits loosen. */
export function createFallback(store: Store): Fallback {
  const clock = createStoreClock();
  const told = new Lru<string, readonly LimitReply[]>({ maxSize: MAX_KEYS });
  const counts = createCounts(MAX_KEYS);

  function forget(keys: readonly string[]): void {
    for (const key of keys) {
      told.delete(key);
      counts.write(key, undefined);
    }
  }

  /** Makes what the store told last what is counted. Later, in the same outage, there is nothing new to begin with. */
  function begin({ key, limits }: KeyRequest): void {
    const replies = told.get(key);
    if (!replies) return;
    told.delete(key);
    const records = limits.flatMap((limit, l): LimitRecord[] => {
      const view = replies[l]!.view;
      // Slots come back at any moment, and whose they are is not known: requests in flight are counted from now on.
      if (view.kind === Kind.concurrency) return [];
      if (view.kind !== Kind.log) return [view];
      const record = logRecordOf(view, limit as LogLimit);
      // When each unit came is not known: none leaves before the last.
      counts.write(ownKeyOf(key, limit), [{ atMs: record.newestAtMs, cost: record.used }]);
      return [record];
    });
    counts.write(key, records);
  }

  return {
    watched: {
      ...store,
      async take(request, nowMs) {
        const sentAtMs = Date.now();
        const reply = await store.take(request, nowMs);
        clock.observe(sentAtMs, Date.now(), reply.nowMs);
        for (const [k, { key, limits }] of request.keys.entries()) {
          // Whoever renews or releases a slot asks for a part of a key's limits, and learns nothing that counts here.
          if (limits.some(({ kind }) => kind !== Kind.concurrency)) told.set(key, reply.keys[k]!);
        }
        return reply;
      },
      async reset(keys) {
        await store.reset(keys);
        forget(keys);
      },
    },

    async take(request) {
      const localAtMs = Date.now();
      for (const key of request.keys) begin(key);
      // The earliest instant that it may be at the store: what it counted leaves no sooner here than there.
      const nowMs = clock.at(localAtMs)?.earliestMs ?? localAtMs;
      return { reply: counts.take(request, nowMs), source: "fallback" };
    },

    async reset(keys) {
      forget(keys);
    },
  };
}

function logRecordOf({ kind, used, resetAtMs }: LogView, { windowMs }: LogLimit) {
  return { kind, windowMs, used, newestAtMs: resetAtMs - windowMs };
}
