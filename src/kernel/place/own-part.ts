/**
 * Which part of what all isolates charge is this one's. While replies come too late, nobody hears of the others in
 * time: if each admits its part of what the last reply has left, all of them together admit hardly more than that.
 */

import { algorithmOf } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import { haveSameNumbers } from "../core/numbers.ts";
import type { LimitReply } from "../core/take.ts";
import type { KeyRecord, KeyReply } from "./record.ts";

/** Older charges weigh less, by this time constant in ms. */
const AVERAGED_MS = 5_000;
/** So many units of its own count beside what it has seen: a few units may be chance. */
const CHANCE_UNITS = 2;

/** Notes the newest reply about a key, which came late. @param sent what the isolate had sent when it was asked for. */
export function seePart(record: KeyRecord, sent: number): void {
  const { limits, replies, storeAtMs, shown } = record;
  const counted = limits.flatMap((limit, l) => (isConcurrency(limit) ? [] : [{ limit, reply: replies[l]! }]));
  const now = {
    limits: counted.map(({ limit }) => limit),
    replies: counted.map(({ reply }) => reply),
    storeAtMs,
    sent,
  };
  record.shown = { ...now, own: 0, all: 0 };
  if (!shown || storeAtMs < shown.storeAtMs || !haveSameNumbers(shown.limits, now.limits)) return;
  const kept = Math.exp((shown.storeAtMs - storeAtMs) / AVERAGED_MS);
  const charged = leftBy(shown, shown.replies, storeAtMs) - leftBy(now, now.replies, storeAtMs);
  record.shown.own = kept * shown.own + sent - shown.sent;
  record.shown.all = kept * shown.all + charged;
}

/** 0 to 1. 1: no others are known. @param isSlow as in memory.ts. */
export function partOf({ leases, shown }: KeyRecord, isSlow: boolean): number {
  const leased = leases?.[0]?.ownPart;
  if (leased) return leased;
  if (!shown || !isSlow) return 1;
  const others = Math.max(0, shown.all - shown.own);
  const own = CHANCE_UNITS + Math.max(0, shown.own);
  return own / (own + others);
}

/** What is left by a reply, at an instant of the store's clock. */
export function leftBy({ limits }: Pick<KeyReply, "limits">, replies: readonly LimitReply[], nowMs: number): number {
  const each = limits.map((limit, l) => {
    const recalled = algorithmOf(limit).recall(replies[l]!.view, limit, nowMs, 1, 1);
    return recalled ? algorithmOf(limit).remaining(recalled.view, limit, nowMs) : 0;
  });
  return Math.min(...each);
}
