/** While the store has no answer: this isolate's own counters. They begin with the counts that the store told last. */

import { Kind } from "../../core/algorithm.ts";
import type { LimitRecord } from "../../core/algorithms.ts";
import { isConcurrency } from "../../core/concurrency.ts";
import type { LogLimit, LogView } from "../../core/sliding-log.ts";
import { ENFORCED, Flag, limitKeyOf } from "../../core/take.ts";
import { createCounts } from "../../store/memory.ts";
import type { Debts } from "../repay/debts.ts";
import type { ReplySource } from "../reply-source.ts";
import type { StoreClock } from "../store-clock.ts";
import type { Timing } from "../timing.ts";
import type { ToldCounts } from "../told-counts.ts";
import { takeCountingUnanswered } from "./take-counting-unanswered.ts";
import type { UnansweredRequests } from "./unanswered.ts";

/** At most 20 MiB of an isolate's 128 MiB (src/store/memory.ts). */
const MAX_KEYS = 10_000;

interface FallbackParts {
  readonly told: ToldCounts;
  readonly clock: StoreClock;
  readonly unanswered: UnansweredRequests;
  readonly debts: Debts;
  readonly timing: Timing;
}

/**
 * With more than `MAX_KEYS` active keys, limits loosen: the key used longest ago is forgotten first, and begins at zero
 * the next time.
 */
export function createFallback({ told, clock, unanswered, debts, timing }: FallbackParts): ReplySource {
  const counts = createCounts(MAX_KEYS);

  /**
   * Charges what the store told last and what the isolate owes to it. It does this once for each reply of the store:
   * later in the same outage, the isolate's own counters are the newer ones.
   */
  function begin(key: string, nowMs: number): void {
    const known = told.begin(key);
    if (!known) return;
    // Nobody knows which requests hold slots at the store, and slots come back at any moment. Requests in flight are
    // counted from now on.
    const views = known.limits.flatMap((limit, l) => {
      const { view } = known.replies[l]!;
      return isConcurrency(view) ? [] : [{ limit, view }];
    });
    if (views.length === 0) return;
    unanswered.uncounted(key);
    const records = views.map(({ limit, view }): LimitRecord => {
      if (view.kind !== Kind.log) return view;
      const record = logRecordOf(view, limit as LogLimit);
      // The store does not tell when each unit was charged. All units count until the last one leaves.
      counts.write(limitKeyOf(key, limit), [{ atMs: record.newestAtMs, cost: record.used }]);
      return record;
    });
    counts.write(key, records);
    const limits = views.map(({ limit }) => limit);
    const cost = debts.units(key, timing.nowMs(), known.sentAtMs);
    counts.take({ keys: [{ key, group: ENFORCED, cost, limits }], flag: Flag.chargeAnyway }, nowMs);
  }

  return {
    async take(request) {
      const localAtMs = timing.nowMs();
      // The earliest instant of the store's clock: no unit that the store told leaves here sooner than there. A reply
      // can make the interval narrower: the isolate's own units then leave sooner, by less than a round trip.
      const nowMs = clock.at(localAtMs)?.earliestMs ?? localAtMs;
      for (const { key } of request.keys) begin(key, nowMs);
      if (request.flag !== Flag.take) return { reply: counts.take(request, nowMs), source: "fallback" };
      const reply = takeCountingUnanswered(counts, unanswered.beside(request.keys, localAtMs), request, nowMs);
      if (reply.allowed) for (const key of request.keys) unanswered.counted(key);
      return { reply, source: "fallback" };
    },

    async reset(keys) {
      for (const key of keys) counts.write(key, undefined);
    },
  };
}

function logRecordOf({ kind, used, resetAtMs }: LogView, { windowMs }: LogLimit) {
  return { kind, windowMs, used, newestAtMs: resetAtMs - windowMs };
}
