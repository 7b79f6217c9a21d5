/**
 * What an isolate remembers of the counts that the store last told it. Between replies the true counts can only be higher, so
 * what they refuse is refused rightly, without asking.
 */

import { BoundedMap } from "../bounded-map.ts";
import { algorithmOf, countsBytes, type LimitSpec } from "../core/algorithms.ts";
import { farAlgorithmOf } from "../core/far-algorithms.ts";
import { ENFORCED, type KeyRequest, type LimitReply, type TakeReply, type TakeRequest } from "../core/take.ts";
import type { PendingUnits } from "./pending-units.ts";
import type { StoreClock } from "./store-clock.ts";

/** Without a reply for so long counts are asked for again: resets, refunds and raised limits must show. */
const TRUSTED_MS = 5_000;
/** A refused key of one window takes about 0.5 KiB: 9 MiB of the 128 MiB that an isolate has, in two generations (Node 24, 2026-11). */
const MAX_KEYS = 10_000;
/** What any key counts for at least, in bytes. A key with many buckets counts as several. */
const KEY_BYTES = 512;
/** A request waits so long at most for its moment to come; a longer wait is as well spent on asking. */
const MAX_WAIT_MS = 50;
/** How often a request looks whether the answer to another one has come. */
const POLL_MS = 4;

interface Remembered {
  /** By the local clock, ms since the epoch. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** When the store looked, by its own clock. */
  readonly storeAtMs: number;
  /** The cost that the counts were asked for. */
  readonly cost: number;
  readonly limits: readonly LimitReply[];
}

export interface KnownCounts {
  /**
   * The refusal that the remembered counts are sure of; undefined if the store has to be asked.
   *
   * @param localAtMs now by the local clock, ms since the epoch.
   */
  refusal(request: TakeRequest, localAtMs: number): TakeReply | undefined;
  /**
   * What the store told another request that was sent after this one came, if it refuses this one too: in the meantime it would
   * have been told the same. Who waits for an answer need not ask again, though by now a unit may have come back.
   *
   * @param sinceMs when this request came, by the local clock, as `localAtMs`.
   */
  refusedSince(request: TakeRequest, sinceMs: number, localAtMs: number): TakeReply | undefined;
  /**
   * When a request that is not refused for sure would better ask, in ms from now; 0: at once. Not before the store can admit
   * it: whoever hammers a limit would else ask once for each request in the meantime.
   */
  askAfterMs(request: TakeRequest, localAtMs: number): number;
  /** Learns from a reply; the instants by the local clock, ms since the epoch. */
  learn(request: TakeRequest, reply: TakeReply, sentAtMs: number, receivedAtMs: number): void;
  forget(keys: readonly string[]): void;
  /** A clock has stepped: nothing that was computed with the old one is worth anything. */
  clear(): void;
}

/** @param inFlight what this isolate is asking the store for. @param waiting what waits for the answers. */
export function createKnownCounts(clock: StoreClock, inFlight: PendingUnits, waiting: PendingUnits): KnownCounts {
  const remembered = new BoundedMap<string, Remembered>({
    maxSize: MAX_KEYS * 2 * KEY_BYTES,
    weigh: ({ limits }) => limits.reduce((bytes, { view }) => bytes + countsBytes(view), KEY_BYTES),
  });

  /** What is remembered of one key, at an instant of the store; undefined if that is not enough. */
  function recall({ key, cost, limits }: KeyRequest, localAtMs: number, nowMs: number): LimitReply[] | undefined {
    const known = remembered.get(key);
    if (!known || localAtMs - known.receivedAtMs >= TRUSTED_MS) return undefined;
    const recalled = limits.map((limit, l) =>
      farAlgorithmOf(limit).recall(known.limits[l]!.view, limit, nowMs, known.cost, cost),
    );
    return recalled.every((limit) => limit !== undefined) ? recalled : undefined;
  }

  /**
   * Whether the wait that a refusal by this key tells is certain. What was left may have been taken by others since, and then it is
   * longer: unless nothing was left, the store was asked at this very instant, or it makes no difference.
   *
   * @param replies what is recalled of the key at this instant.
   */
  function hasCertainWait({ key, cost, limits }: KeyRequest, replies: readonly LimitReply[], nowMs: number): boolean {
    // Nothing is left if one unit is refused: no request of anybody changes this key before that ends.
    if (cost <= 1) return true;
    const known = remembered.get(key)!;
    if (known.storeAtMs === nowMs) return true;
    const isUsedUp = limits.some((limit, l) => {
      return farAlgorithmOf(limit).recall(known.limits[l]!.view, limit, nowMs, known.cost, 1)?.refused;
    });
    if (isUsedUp || limits.some((limit, l) => isNever(limit, replies[l]!, cost, nowMs))) return true;
    // A limit that does not refuse yet may refuse for longer by then.
    return limits.every((limit, l) => replies[l]!.refused && farAlgorithmOf(limit).hasFixedWait === true);
  }

  /** Until the counts that are remembered of this key admit so many units, in ms; 0: now, or nothing is known. */
  function admittedAfterMs({ key, limits }: KeyRequest, units: number, nowMs: number): number {
    const known = remembered.get(key);
    if (!known) return 0;
    const waits = limits.map((limit, l) => {
      const recalled = farAlgorithmOf(limit).recall(known.limits[l]!.view, limit, nowMs, known.cost, units);
      // What is left by now is not known, but that it was too little: others may be asking for it.
      if (!recalled) return lastRemaining(known, l, limit) < units ? Number.POSITIVE_INFINITY : 0;
      if (!recalled.refused) return 0;
      return algorithmOf(limit).tell(recalled.view, limit, units, true, nowMs).retryAfterMs ?? Number.POSITIVE_INFINITY;
    });
    return Math.max(...waits);
  }

  /** Whether the replies refuse, and are sure for how long. */
  function refuses({ keys }: TakeRequest, replies: readonly (readonly LimitReply[])[], nowMs: number): boolean {
    let isRefused = false;
    for (const [k, key] of keys.entries()) {
      if (key.group !== ENFORCED || !replies[k]!.some(({ refused }) => refused)) continue;
      if (!hasCertainWait(key, replies[k]!, nowMs)) return false;
      isRefused = true;
    }
    return isRefused;
  }

  return {
    refusal(request, localAtMs) {
      const storeTime = clock.at(localAtMs);
      if (!storeTime) return undefined;
      // Fields and waits need every limit, not only the one that refuses.
      const at = (nowMs: number) => request.keys.map((key) => recall(key, localAtMs, nowMs));
      const [earliest, latest] = [at(storeTime.earliestMs), at(storeTime.latestMs)];
      if (!areKnown(earliest) || !areKnown(latest)) return undefined;
      // Refused even at the latest instant that it may be there; waits are told from the earliest, so that they are never short.
      return refuses(request, latest, storeTime.latestMs)
        ? { nowMs: storeTime.earliestMs, allowed: false, keys: earliest }
        : undefined;
    },

    refusedSince(request, sinceMs, localAtMs) {
      const known = request.keys.map(({ key }) => remembered.get(key));
      // Counts that were told before the newest can only have grown until then.
      const newest = known.reduce((a, b) => (b && (!a || b.storeAtMs > a.storeAtMs) ? b : a), undefined);
      if (!newest || newest.sentAtMs <= sinceMs) return undefined;
      const nowMs = newest.storeAtMs;
      const keys = request.keys.map((key) => recall(key, localAtMs, nowMs));
      return areKnown(keys) && refuses(request, keys, nowMs) ? { nowMs, allowed: false, keys } : undefined;
    },

    askAfterMs({ keys }, localAtMs) {
      const storeTime = clock.at(localAtMs);
      if (!storeTime) return 0;
      const waits = keys.map((key) => {
        if (key.group !== ENFORCED) return 0;
        const asked = inFlight.units(key.key, localAtMs);
        // What others ask for meanwhile may be all that there is: their answer will tell.
        if (asked > 0) return admittedAfterMs(key, asked + key.cost, storeTime.latestMs) > 0 ? POLL_MS : 0;
        const waitMs = admittedAfterMs(key, key.cost, storeTime.earliestMs);
        return waitMs <= MAX_WAIT_MS ? waitMs : 0;
      });
      return Math.max(...waits);
    },

    learn({ keys }, reply, sentAtMs, receivedAtMs) {
      const mayRefuse = keys.some(({ key, group, cost, limits }, k) => {
        const wanted = Math.max(cost, waiting.units(key, receivedAtMs));
        return (
          group === ENFORCED &&
          limits.some((limit, l) => {
            const { refused, view } = reply.keys[k]![l]!;
            return refused || algorithmOf(limit).tell(view, limit, cost, refused, reply.nowMs).remaining < wanted;
          })
        );
      });
      for (const [k, { key, cost }] of keys.entries()) {
        // Only what may refuse is worth remembering: keys far from their limits would push the others out.
        if (!mayRefuse) remembered.delete(key);
        else remembered.set(key, { sentAtMs, receivedAtMs, storeAtMs: reply.nowMs, cost, limits: reply.keys[k]! });
      }
    },

    forget(keys) {
      for (const key of keys) remembered.delete(key);
    },

    clear: () => remembered.clear(),
  };
}

/** Units that a limit left when the store told of it. */
function lastRemaining({ limits, cost, storeAtMs }: Remembered, l: number, limit: LimitSpec): number {
  return algorithmOf(limit).tell(limits[l]!.view, limit, cost, false, storeAtMs).remaining;
}

/** Whether the limit refuses the cost for ever. */
function isNever(limit: LimitSpec, { view, refused }: LimitReply, cost: number, nowMs: number): boolean {
  return refused && algorithmOf(limit).tell(view, limit, cost, true, nowMs).retryAfterMs === undefined;
}

function areKnown(keys: readonly (LimitReply[] | undefined)[]): keys is LimitReply[][] {
  return keys.every((key) => key !== undefined);
}
