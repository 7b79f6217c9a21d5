/**
 * What the store told this isolate last. Each reply is remembered here. Refusals (refusals.ts) and the isolate's own
 * counts (own-counts.ts) begin with it.
 */

import { algorithmOf, type LimitSpec } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import { haveSameNumbers } from "../core/numbers.ts";
import { decides, ENFORCED, Flag, type LimitReply, type TakeReply, type TakeRequest } from "../core/take.ts";
import { noticeLoss, unitsAdded } from "./losses.ts";
import { keep, type Memory, recordFor, recordOf } from "./memory.ts";
import { unitsWaiting } from "./pending.ts";
import type { KeyRecord, KeyReply } from "./record.ts";

/** Remembers a reply. A key keeps its newer reply if it has one. */
export function remember(
  memory: Memory,
  request: TakeRequest,
  reply: TakeReply,
  times: Pick<KeyReply, "receivedAtMs" | "call" | "heard">,
  isLate = false,
): void {
  const isClose = mayRefuse(memory, request, reply, times.receivedAtMs);
  const storeAtMs = reply.nowMs;
  for (const [k, asked] of request.keys.entries()) {
    const { key, cost, limits, flag = request.flag } = asked;
    const record = recordFor(memory, key);
    const replies = reply.keys[k]!;
    const hasDecided = decides(flag);
    // Renewing or releasing a slot tells nothing about the other limits.
    if (!hasDecided && limits.every(isConcurrency)) continue;
    let mayBeOld = times.call < memory.step;
    // If a call was sent after a reply had come, the store decided it later, even if the store's clock has stepped
    // back. Two calls that were on their way together may overtake each other.
    const wereTogether = times.call <= record.heard;
    if (wereTogether) {
      if (storeAtMs < record.storeAtMs) continue;
      if (storeAtMs === record.storeAtMs) {
        // Nobody knows which reply is newer. If one of them has settled units, the other one's counts may lack these
        // units, or still have them. Between two decisions units were only charged: the newer one leaves less.
        mayBeOld ||= record.hasSettled || !hasDecided;
        if (!mayBeOld && leavesMore(limits, replies, record)) continue;
      }
    }
    const added = unitsAdded(
      reply.charged.find((one) => one.key === key),
      asked,
      flag,
    );
    const isComparable = record.call > Math.max(memory.step, record.reset) && haveSameNumbers(limits, record.limits);
    const sinceMs = isComparable ? record.addedAtMs : 0;
    record.receivedAtMs = times.receivedAtMs;
    record.call = times.call;
    record.heard = times.heard;
    record.storeAtMs = storeAtMs;
    record.cost = cost;
    record.limits = limits;
    record.replies = replies;
    record.isBegun = false;
    record.addedAtMs = added > 0 ? storeAtMs : sinceMs;
    if (sinceMs > 0 && !wereTogether) noticeLoss(memory.losses, key, record, added, sinceMs);
    record.hasSettled = !hasDecided || mayBeOld;
    // Units have come back, or no limit is close: what was remembered before refuses too much. Counts that lack
    // what the isolate owes would refuse for too short a time.
    record.mayRefuse = isClose && !mayBeOld && flag !== Flag.giveBack && !lacksDebts(record, times.call);
    if (!isLate) record.shown = undefined;
    keep(memory, record, true);
  }
}

/** Whether the isolate owes units under the key that the reply to this call cannot have counted. */
export function lacksDebts({ own }: KeyRecord, call: number): boolean {
  if (!own) return false;
  if (own.debts.length > 0) return true;
  for (const number of own.repaying.keys()) if (number > call) return true;
  return false;
}

/** Whether the reply may refuse the same cost, or a request that waits for an answer at this moment. */
function mayRefuse(memory: Memory, { keys, flag }: TakeRequest, reply: TakeReply, receivedAtMs: number): boolean {
  for (const [k, { key, group, cost, limits, flag: own = flag }] of keys.entries()) {
    if (group !== ENFORCED || own === Flag.giveBack) continue;
    const wanted = Math.max(cost, unitsWaiting(recordOf(memory, key), 0, receivedAtMs));
    for (const [l, limit] of limits.entries()) {
      const { refused, view } = reply.keys[k]![l]!;
      if (refused || algorithmOf(limit).remaining(view, limit, reply.nowMs) < wanted) return true;
    }
  }
  return false;
}

/** Whether a reply leaves more units than the remembered one of the same instant. */
function leavesMore(limits: readonly LimitSpec[], replies: readonly LimitReply[], record: KeyRecord): boolean {
  if (record.isBegun || !haveSameNumbers(limits, record.limits)) return false;
  const left = (one: readonly LimitReply[], l: number) =>
    isConcurrency(limits[l]!)
      ? 0
      : algorithmOf(limits[l]!).remaining(one[l]!.view, record.limits[l]!, record.storeAtMs);
  return limits.some((_, l) => left(replies, l) > left(record.replies, l));
}

/** What may refuse requests under a key. undefined: nothing is known, or it does not refuse. */
export function refusingReply(memory: Memory, key: string): KeyRecord | undefined {
  const record = recordOf(memory, key);
  return record?.mayRefuse && record.call > memory.step ? record : undefined;
}

/** What was replied about a key last. It may be far from its limits. undefined: the own counts are newer. */
export function lastReply(memory: Memory, key: string): KeyRecord | undefined {
  const record = recordOf(memory, key);
  return record && record.call > 0 && !record.isBegun ? record : undefined;
}

/** Forgets what may refuse. The own counts still begin with the counts of these keys. */
export function forgetRefusals(memory: Memory, keys: readonly string[]): void {
  for (const key of keys) {
    const record = recordOf(memory, key);
    if (!record?.mayRefuse) continue;
    record.mayRefuse = false;
    keep(memory, record);
  }
}
