/**
 * Refusals that need no call to the store: what the counts of the last reply refuse, the store would refuse too. The
 * store's counts only grow, unless units come back: by a reset, by a higher limit, or from another isolate that gives
 * units back. A refusal may then be wrong for as long as a reply is trusted.
 */

import { algorithmOf, type LimitSpec } from "../core/algorithms.ts";
import { isConcurrency, withoutSlots } from "../core/concurrency.ts";
import { hasSameNumber, haveSameNumbers } from "../core/numbers.ts";
import { ENFORCED, type KeyRequest, type LimitReply, type TakeReply } from "../core/take.ts";
import { type Memory, recordOf } from "./memory.ts";
import { unitsAsked } from "./pending.ts";
import type { KeyReply } from "./record.ts";
import { lastReply, refusingReply } from "./replies.ts";
import type { Now } from "./store-clock.ts";
import type { AskedKey } from "./taker.ts";

/** Older counts are asked for again, so that resets, refunds and raised limits take effect. */
export const TRUSTED_ALONE_MS = 5_000;
/** The longest time that a request waits for its units to come back. Waiting longer is no better than a call. */
const MAX_WAIT_MS = 50;
/** How often a request looks for the answer to another request. */
export const POLL_MS = 4;

/** Whether the last reply about one of the keys may refuse requests. If none does, nothing here knows a refusal. */
export function mayBeRefused(memory: Memory, keys: readonly KeyRequest[]): boolean {
  for (const { key } of keys) if (refusingReply(memory, key)) return true;
  return false;
}

/** The refusal that the remembered counts make certain. undefined: the store must be called. */
export function knownRefusal(memory: Memory, keys: readonly KeyRequest[], now: Now): TakeReply | undefined {
  const { earliestMs, latestMs } = now;
  if (earliestMs === undefined) return undefined;
  const known = keys.map((key) => refusingAbout(memory, key) ?? quietAbout(memory, key, now, earliestMs));
  // The header fields and the waits need every limit, not only the one that refuses.
  const at = (nowMs: number) => keys.map((key, k) => recall(key, known[k], now, nowMs));
  const earliest = at(earliestMs);
  if (!areKnown(earliest)) return undefined;
  const latest = at(latestMs);
  if (!areKnown(latest)) return undefined;
  // The refusal must hold at the latest instant that the store's clock may show. Waits begin at the earliest instant,
  // so that no wait is too short.
  return refuses(keys, known, latest, latestMs) && isRefusedBy(keys, earliest)
    ? { nowMs: earliestMs, allowed: false, keys: earliest, charged: [] }
    : undefined;
}

/** Whether the remembered counts make it certain that this key refuses, although its wait may not be certain. */
export function surelyRefuses(memory: Memory, key: KeyRequest, now: Now): boolean {
  if (now.earliestMs === undefined) return false;
  return recall(key, refusingAbout(memory, key), now, now.latestMs)?.some(({ refused }) => refused) ?? false;
}

/**
 * What the remembered counts say about a request that another place refuses. undefined: some key is not known, or may
 * refuse too. Only the place itself can then tell for how long.
 */
export function knownBeside(memory: Memory, keys: readonly KeyRequest[], now: Now): TakeReply | undefined {
  const nowMs = now.earliestMs;
  if (nowMs === undefined) return undefined;
  const known = keys.map((key) => recallBeside(memory, key, now, nowMs));
  return areKnown(known) ? { nowMs, allowed: false, keys: known, charged: [] } : undefined;
}

/**
 * The refusal that another request was told, if that request was sent after this one came and if the reply refuses this
 * one too. The store would have refused this request too. A unit may have come back since then.
 *
 * @param came the last number that was given away when this request came.
 */
export function refusedSince(
  memory: Memory,
  keys: readonly KeyRequest[],
  came: number,
  now: Now,
): TakeReply | undefined {
  const known = keys.map((key) => refusingAbout(memory, key));
  // The counts of the other keys are older. They have only grown since, unless units came back: see the head of this
  // file.
  const newest = known.reduce((a, b) => (b && (!a || b.storeAtMs > a.storeAtMs) ? b : a), undefined);
  if (!newest || newest.call <= came) return undefined;
  const nowMs = newest.storeAtMs;
  const recalled = keys.map((key, k) => recall(key, known[k], now, nowMs));
  if (!areKnown(recalled) || !refuses(keys, known, recalled, nowMs)) return undefined;
  return { nowMs, allowed: false, keys: recalled, charged: [] };
}

/**
 * How long a request without a certain refusal should wait before it calls the store, in ms; 0: not at all. It waits
 * until the store can admit it. Otherwise every request at a used-up limit would be a call.
 */
export function callAfterMs(memory: Memory, keys: readonly KeyRequest[], now: Now): number {
  const { earliestMs, latestMs, localAtMs } = now;
  if (earliestMs === undefined) return 0;
  const waits = keys.map((key) => {
    const known = refusingAbout(memory, key);
    // The store may know the id of the request, and admit a repeat.
    if (key.group !== ENFORCED || !known || key.once) return 0;
    const others = unitsAsked(recordOf(memory, key.key), localAtMs);
    // Other requests may be asking for everything that is left. Their answers will show it.
    if (others > 0) return admittedAfterMs(key, known, others + key.cost, latestMs) > 0 ? POLL_MS : 0;
    const waitMs = admittedAfterMs(key, known, key.cost, earliestMs);
    return waitMs <= MAX_WAIT_MS ? waitMs : 0;
  });
  return Math.max(...waits);
}

/** As `replyAbout`, of a reply that may refuse. */
function refusingAbout(memory: Memory, key: KeyRequest): KeyReply | undefined {
  return replyAbout(key, refusingReply(memory, key.key));
}

/** The same of a key of cost 0 that is far from its limits, such as a ban that has not begun: it refuses nothing. */
function quietAbout(memory: Memory, key: KeyRequest, now: Now, nowMs: number): KeyReply | undefined {
  if (key.cost > 0) return undefined;
  const known = replyAbout(key, lastReply(memory, key.key));
  return recall(key, known, now, nowMs)?.some(({ refused }) => refused) ? undefined : known;
}

/**
 * What was replied about a key with the numbers of this request, in the order of its limits. undefined: only the store
 * can answer. The reply was about a part of these limits (an extension of a reservation leaves out slots), or about
 * other numbers.
 */
function replyAbout({ limits }: KeyRequest, known: KeyReply | undefined): KeyReply | undefined {
  if (!known || haveSameNumbers(known.limits, limits)) return known;
  const found = limits.map((limit) => known.limits.findIndex((one) => hasSameNumber(one, limit)));
  if (found.includes(-1)) return undefined;
  return { ...known, limits, replies: found.map((l) => known.replies[l]!) };
}

/**
 * A reply about one key, brought to an instant of the store. undefined: nothing is known, or the key would refuse a
 * request that may be a repeat.
 */
function recall(
  { limits, cost, once, trustedMs: most }: AskedKey,
  known: KeyReply | undefined,
  { localAtMs, trustedMs }: Now,
  nowMs: number,
): LimitReply[] | undefined {
  if (!known || localAtMs - known.receivedAtMs >= (most === undefined ? trustedMs : Math.min(most, trustedMs))) {
    return undefined;
  }
  const recalled = limits.map((limit, l) =>
    algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, cost),
  );
  if (!recalled.every((limit) => limit !== undefined)) return undefined;
  return once && recalled.some(({ refused }) => refused) ? undefined : recalled;
}

/** As `knownBeside`, of one key. How many slots are taken is never known from memory, and is not told (decide.ts). */
function recallBeside(memory: Memory, key: KeyRequest, now: Now, nowMs: number): LimitReply[] | undefined {
  const units = { ...key, limits: withoutSlots(key.limits) };
  const known = replyAbout(units, lastReply(memory, key.key) ?? refusingReply(memory, key.key));
  const replies = units.limits.length > 0 ? recall(units, known, now, nowMs) : [];
  if (!replies || (key.group === ENFORCED && replies.some(({ refused }) => refused))) return undefined;
  return key.limits.map((limit) => {
    if (!isConcurrency(limit)) return replies[units.limits.indexOf(limit)]!;
    return { refused: false, view: { kind: limit.kind, inFlight: 0 } };
  });
}

/** Whether the replies refuse, and the wait is certain. @param replies what is recalled at this instant. */
function refuses(
  keys: readonly KeyRequest[],
  known: readonly (KeyReply | undefined)[],
  replies: readonly (readonly LimitReply[])[],
  nowMs: number,
): boolean {
  for (const [k, key] of keys.entries()) {
    if (key.group !== ENFORCED || !replies[k]!.some(({ refused }) => refused)) continue;
    if (!hasCertainWait(key, known[k]!, replies[k]!, nowMs)) return false;
  }
  return isRefusedBy(keys, replies);
}

/**
 * Whether the wait that a refusal by this key tells is certain. Others may have taken the rest, which makes the wait
 * longer. The wait is certain if nothing was left, if the store was asked at this very instant, or if others make no
 * difference to it.
 */
function hasCertainWait(
  { cost, limits }: KeyRequest,
  known: KeyReply,
  replies: readonly LimitReply[],
  nowMs: number,
): boolean {
  // If one unit is refused, nothing is left: no request changes this key until units come back.
  if (cost <= 1 || known.storeAtMs === nowMs) return true;
  const isUsedUp = limits.some((limit, l) => {
    return algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, 1)?.refused;
  });
  if (isUsedUp || limits.some((limit, l) => isNever(limit, replies[l]!, cost, nowMs))) return true;
  // A limit that does not refuse now may refuse later, and for longer.
  return limits.every((limit, l) => replies[l]!.refused && algorithmOf(limit).hasFixedWait);
}

/** Milliseconds until the remembered counts of a key admit this many units. 0: now. */
function admittedAfterMs({ limits }: KeyRequest, known: KeyReply, units: number, nowMs: number): number {
  const waits = limits.map((limit, l) => {
    const recalled = algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, units);
    // What is left now is not known. If the last reply left too little, other requests may be asking for it.
    if (!recalled) {
      const left = algorithmOf(limit).remaining(known.replies[l]!.view, limit, known.storeAtMs);
      return left < units ? Number.POSITIVE_INFINITY : 0;
    }
    if (!recalled.refused) return 0;
    return algorithmOf(limit).tell(recalled.view, limit, units, true, nowMs).retryAfterMs ?? Number.POSITIVE_INFINITY;
  });
  return Math.max(...waits);
}

/** A refusal must name the limit that refuses. Without it, the reply would be read as an admission. */
function isRefusedBy(keys: readonly KeyRequest[], replies: readonly (readonly LimitReply[])[]): boolean {
  return keys.some(({ group }, k) => group === ENFORCED && replies[k]!.some(({ refused }) => refused));
}

/** Whether the limit refuses this cost forever. */
function isNever(limit: LimitSpec, { view, refused }: LimitReply, cost: number, nowMs: number): boolean {
  return refused && algorithmOf(limit).tell(view, limit, cost, true, nowMs).retryAfterMs === undefined;
}

function areKnown(keys: readonly (LimitReply[] | undefined)[]): keys is LimitReply[][] {
  return keys.every((key) => key !== undefined);
}
