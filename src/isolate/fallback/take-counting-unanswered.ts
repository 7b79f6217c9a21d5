/**
 * A take from the isolate's own counters. Calls without an answer may have been charged: they count for this one
 * decision.
 */

import type { LimitValue } from "../../core/algorithms.ts";
import { isConcurrency, type Slots, withoutSlots } from "../../core/concurrency.ts";
import { MAX_UNITS } from "../../core/layout.ts";
import type { Records } from "../../core/records.ts";
import { ENFORCED, Flag, limitKeyOf, type Stored, type TakeReply, type TakeRequest, take } from "../../core/take.ts";
import type { Counts } from "../../store/memory.ts";
import { refusedGroups } from "../repay/charged-in-vain.ts";
import type { Unanswered } from "./unanswered.ts";

/** @param nowMs ms since the epoch. @returns the reply. Its counts include the calls without an answer. */
export function takeCountingUnanswered(
  counts: Counts,
  unanswered: readonly Unanswered[],
  request: TakeRequest,
  nowMs: number,
): TakeReply {
  if (unanswered.length === 0) return counts.take(request, nowMs);
  const { reply } = take(withUnanswered(counts, unanswered, nowMs), request, nowMs);
  const refused = refusedGroups(request.keys, reply);
  const admitted = refused.has(ENFORCED) ? [] : request.keys.filter(({ group }) => !refused.has(group));
  if (admitted.length > 0) counts.take({ ...request, keys: admitted, flag: Flag.chargeAnyway }, nowMs);
  return reply;
}

/** The counters as they would be if all calls without an answer were charged. Writes nothing. */
function withUnanswered(counts: Counts, unanswered: readonly Unanswered[], nowMs: number): Stored {
  const charged = new Map<string, Records | LimitValue | undefined>();
  const at = (key: string) => (charged.has(key) ? charged.get(key) : counts.read(key));
  const stored: Stored = {
    records: (key) => at(key) as Records | undefined,
    value: (key) => at(key) as LimitValue | undefined,
  };
  for (const { request, units, requests } of unanswered) {
    for (const limit of request.limits.filter(isConcurrency)) {
      const ownKey = limitKeyOf(request.key, limit);
      const slots = Array.from({ length: requests }, (_, i) => [-1 - i, Number.POSITIVE_INFINITY] as const);
      charged.set(ownKey, new Map([...((at(ownKey) as Slots | undefined) ?? []), ...slots]));
    }
    const limits = withoutSlots(request.limits);
    if (limits.length === 0) continue;
    const keys = [{ ...request, group: ENFORCED, cost: Math.min(units, MAX_UNITS), limits }];
    const { records, values } = take(stored, { keys, flag: Flag.chargeAnyway }, nowMs);
    for (const written of records) charged.set(written.key, written.records);
    for (const written of values) charged.set(written.key, written.kept?.value);
  }
  return stored;
}
