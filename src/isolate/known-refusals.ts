/**
 * Refusals that need no call to the store: what the counts of the last reply refuse, the store would refuse too. The
 * store's counts only grow, unless units come back: by a reset, by a higher limit, or from another isolate that gives
 * units back. A refusal may then be wrong for as long as a reply is trusted.
 */

import { algorithmOf, type LimitSpec } from "../core/algorithms.ts";
import { isConcurrency, withoutSlots } from "../core/concurrency.ts";
import { hasSameNumber, haveSameNumbers } from "../core/numbers.ts";
import { ENFORCED, type KeyRequest, type LimitReply, type TakeReply, type TakeRequest } from "../core/take.ts";
import type { PendingUnits } from "./pending-units.ts";
import type { StoreClock } from "./store-clock.ts";
import type { KeyReply, ToldCounts } from "./told-counts.ts";

/** Older counts are asked for again, so that resets, refunds and raised limits take effect. */
export const TRUSTED_ALONE_MS = 5_000;
/** The longest time that a request waits for its units to come back. Waiting longer is no better than a call. */
const MAX_WAIT_MS = 50;
/** How often a request looks for the answer to another request. */
const POLL_MS = 4;

export interface KnownRefusals {
  /**
   * The refusal that the remembered counts make certain. undefined: the store must be called.
   *
   * @param localAtMs now by the local clock, in ms since the epoch.
   */
  refusal(request: TakeRequest, localAtMs: number): TakeReply | undefined;
  /**
   * What the remembered counts say about a request that another place refuses. undefined: some key is not known, or may
   * refuse too. Only the place itself can then tell for how long.
   */
  beside(request: TakeRequest, localAtMs: number): TakeReply | undefined;
  /**
   * The refusal that another request was told, if that request was sent after this one came and if the reply refuses
   * this one too. The store would have refused this request too. A unit may have come back since then.
   *
   * @param sinceMs when this request came, by the local clock.
   */
  refusedSince(request: TakeRequest, sinceMs: number, localAtMs: number): TakeReply | undefined;
  /**
   * How long a request without a certain refusal should wait before it calls the store, in ms; 0: not at all. It waits
   * until the store can admit it. Otherwise every request at a used-up limit would be a call.
   */
  callAfterMs(request: TakeRequest, localAtMs: number): number;
}

interface KnownRefusalParts {
  readonly told: ToldCounts;
  readonly clock: StoreClock;
  /** What this isolate is asking the store for. */
  readonly inFlight: PendingUnits;
  /** For how long counts are trusted after their reply, in milliseconds. Default 5,000. */
  readonly trustedMs?: (() => number) | undefined;
}

export function createKnownRefusals({
  told,
  clock,
  inFlight,
  trustedMs = () => TRUSTED_ALONE_MS,
}: KnownRefusalParts): KnownRefusals {
  /**
   * What was told about a key with the numbers of this request, in the order of its limits. undefined: only the store
   * can answer. The reply was about a part of these limits (an extension of a reservation leaves out slots), or about
   * other numbers.
   */
  function toldAbout({ key, limits }: KeyRequest, known = told.refusing(key)): KeyReply | undefined {
    if (!known || haveSameNumbers(known.limits, limits)) return known;
    const found = limits.map((limit) => known.limits.findIndex((one) => hasSameNumber(one, limit)));
    if (found.includes(-1)) return undefined;
    return { ...known, limits, replies: found.map((l) => known.replies[l]!) };
  }

  /** What was told about one key, brought to an instant of the store. undefined: not known. */
  function recall(key: KeyRequest, localAtMs: number, nowMs: number, known = toldAbout(key)): LimitReply[] | undefined {
    if (!known || localAtMs - known.receivedAtMs >= trustedMs()) return undefined;
    const recalled = key.limits.map((limit, l) =>
      algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, key.cost),
    );
    return recalled.every((limit) => limit !== undefined) ? recalled : undefined;
  }

  /**
   * Whether the wait that a refusal by this key tells is certain. Others may have taken the rest, which makes the wait
   * longer. The wait is certain if nothing was left, if the store was asked at this very instant, or if others make no
   * difference to it.
   *
   * @param replies what is recalled about the key at this instant.
   */
  function hasCertainWait(key: KeyRequest, replies: readonly LimitReply[], nowMs: number): boolean {
    const { cost, limits } = key;
    // If one unit is refused, nothing is left: no request changes this key until units come back.
    if (cost <= 1) return true;
    const known = toldAbout(key)!;
    if (known.storeAtMs === nowMs) return true;
    const isUsedUp = limits.some((limit, l) => {
      return algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, 1)?.refused;
    });
    if (isUsedUp || limits.some((limit, l) => isNever(limit, replies[l]!, cost, nowMs))) return true;
    // A limit that does not refuse now may refuse later, and for longer.
    return limits.every((limit, l) => replies[l]!.refused && algorithmOf(limit).hasFixedWait === true);
  }

  /** Milliseconds until the remembered counts of this key admit this many units. 0: now, or nothing is known. */
  function admittedAfterMs(key: KeyRequest, units: number, nowMs: number): number {
    const known = toldAbout(key);
    if (!known) return 0;
    const waits = key.limits.map((limit, l) => {
      const recalled = algorithmOf(limit).recall(known.replies[l]!.view, limit, nowMs, known.cost, units);
      // What is left now is not known. If the last reply left too little, other requests may be asking for it.
      if (!recalled) return lastRemaining(known, l, limit) < units ? Number.POSITIVE_INFINITY : 0;
      if (!recalled.refused) return 0;
      return algorithmOf(limit).tell(recalled.view, limit, units, true, nowMs).retryAfterMs ?? Number.POSITIVE_INFINITY;
    });
    return Math.max(...waits);
  }

  /** Whether the replies refuse, and the wait is certain. */
  function refuses({ keys }: TakeRequest, replies: readonly (readonly LimitReply[])[], nowMs: number): boolean {
    let isRefused = false;
    for (const [k, key] of keys.entries()) {
      if (key.group !== ENFORCED || !replies[k]!.some(({ refused }) => refused)) continue;
      if (!hasCertainWait(key, replies[k]!, nowMs)) return false;
      isRefused = true;
    }
    return isRefused;
  }

  /** As `beside`, of one key. How many slots are taken is never known from memory, and is not told (decide.ts). */
  function recallBeside(key: KeyRequest, localAtMs: number, nowMs: number): LimitReply[] | undefined {
    const units = { ...key, limits: withoutSlots(key.limits) };
    const known = toldAbout(units, told.last(key.key));
    const replies = units.limits.length > 0 ? recall(units, localAtMs, nowMs, known) : [];
    if (!replies || (key.group === ENFORCED && replies.some(({ refused }) => refused))) return undefined;
    return key.limits.map((limit) => {
      if (!isConcurrency(limit)) return replies[units.limits.indexOf(limit)]!;
      return { refused: false, view: { kind: limit.kind, inFlight: 0 } };
    });
  }

  /** A refusal must name the limit that refuses. Without it, the reply would be read as an admission. */
  function isRefusedBy({ keys }: TakeRequest, replies: readonly (readonly LimitReply[])[]): boolean {
    return keys.some(({ group }, k) => group === ENFORCED && replies[k]!.some(({ refused }) => refused));
  }

  return {
    refusal(request, localAtMs) {
      const storeTime = clock.at(localAtMs);
      if (!storeTime) return undefined;
      // The header fields and the waits need every limit, not only the one that refuses.
      const at = (nowMs: number) => request.keys.map((key) => recall(key, localAtMs, nowMs));
      const earliest = at(storeTime.earliestMs);
      if (!areKnown(earliest)) return undefined;
      const latest = at(storeTime.latestMs);
      if (!areKnown(latest)) return undefined;
      // The refusal must hold at the latest instant that the store's clock may show. Waits begin at the earliest
      // instant, so that no wait is too short.
      return refuses(request, latest, storeTime.latestMs) && isRefusedBy(request, earliest)
        ? { nowMs: storeTime.earliestMs, allowed: false, keys: earliest }
        : undefined;
    },

    beside(request, localAtMs) {
      const storeTime = clock.at(localAtMs);
      if (!storeTime) return undefined;
      const nowMs = storeTime.earliestMs;
      const keys = request.keys.map((key) => recallBeside(key, localAtMs, nowMs));
      return areKnown(keys) ? { nowMs, allowed: false, keys } : undefined;
    },

    refusedSince(request, sinceMs, localAtMs) {
      const known = request.keys.map((key) => toldAbout(key));
      // The counts of the other keys are older. They have only grown since, unless units came back: see the head of
      // this file.
      const newest = known.reduce((a, b) => (b && (!a || b.storeAtMs > a.storeAtMs) ? b : a), undefined);
      if (!newest || newest.sentAtMs <= sinceMs) return undefined;
      const nowMs = newest.storeAtMs;
      const keys = request.keys.map((key) => recall(key, localAtMs, nowMs));
      return areKnown(keys) && refuses(request, keys, nowMs) ? { nowMs, allowed: false, keys } : undefined;
    },

    callAfterMs({ keys }, localAtMs) {
      const storeTime = clock.at(localAtMs);
      if (!storeTime) return 0;
      const waits = keys.map((key) => {
        if (key.group !== ENFORCED) return 0;
        const others = inFlight.units(key.key, localAtMs);
        // Other requests may be asking for everything that is left. Their answers will show it.
        if (others > 0) return admittedAfterMs(key, others + key.cost, storeTime.latestMs) > 0 ? POLL_MS : 0;
        const waitMs = admittedAfterMs(key, key.cost, storeTime.earliestMs);
        return waitMs <= MAX_WAIT_MS ? waitMs : 0;
      });
      return Math.max(...waits);
    },
  };
}

/** The units that a limit had left when the store told about it. */
function lastRemaining({ replies, cost, storeAtMs }: KeyReply, l: number, limit: LimitSpec): number {
  return algorithmOf(limit).tell(replies[l]!.view, limit, cost, false, storeAtMs).remaining;
}

/** Whether the limit refuses this cost forever. */
function isNever(limit: LimitSpec, { view, refused }: LimitReply, cost: number, nowMs: number): boolean {
  return refused && algorithmOf(limit).tell(view, limit, cost, true, nowMs).retryAfterMs === undefined;
}

function areKnown(keys: readonly (LimitReply[] | undefined)[]): keys is LimitReply[][] {
  return keys.every((key) => key !== undefined);
}
