/**
 * What the store told this isolate last, by key. Every reply is remembered here, once. Known refusals
 * (known-refusals.ts) and the fallback (fallback/fallback.ts) read it.
 */

import { BoundedMap } from "../bounded-map.ts";
import { algorithmOf, countsBytes, type LimitSpec } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import { haveSameNumbers } from "../core/numbers.ts";
import { ENFORCED, Flag, type LimitReply, type TakeReply, type TakeRequest } from "../core/take.ts";
import type { PendingUnits } from "./pending-units.ts";

/**
 * A key of one window takes about 0.5 KiB. In two generations that is 10 MiB of an isolate's 128 MiB (Node 24,
 * 2026-11). A key of eight windows of 60 buckets takes 5.4 KiB and counts as several keys.
 */
const MAX_KEYS = 10_000;
/** The least weight of a key, in bytes. */
const KEY_BYTES = 512;

/** When a call was made and answered. */
export interface CallTimes {
  /** By the local clock, in ms since the epoch. */
  readonly sentAtMs: number;
  readonly receivedAtMs: number;
  /** The number of the call. Calls are numbered in the order in which they are sent. */
  readonly call: number;
  /** The number of the last call that had been sent when the reply came. */
  readonly lastCall: number;
}

/** One reply about one key. */
export interface KeyReply extends CallTimes {
  /** When the store decided, by its own clock, in ms since the epoch. */
  readonly storeAtMs: number;
  /** The requested cost. */
  readonly cost: number;
  /** The limits that were asked about: all limits of the key, or some of them. */
  readonly limits: readonly LimitSpec[];
  /** One reply for each limit. */
  readonly replies: readonly LimitReply[];
  /** Whether this call has settled units, or another one of the same millisecond of the store. */
  readonly hasSettled: boolean;
}

export interface ToldCounts {
  /** Remembers a reply. A key keeps its newer reply if it has one. */
  hear(request: TakeRequest, reply: TakeReply, times: CallTimes): void;
  /** What a take or a look was told about a key, if that may refuse a request. */
  refusing(key: string): KeyReply | undefined;
  /** What was told about a key last: it may be far from its limits. */
  last(key: string): KeyReply | undefined;
  /** What was told about a key last, for the isolate's own counters to begin with. The next call returns nothing. */
  begin(key: string): KeyReply | undefined;
  /** Forgets what may refuse. The fallback still begins with the counts of these keys. */
  forgetRefusals(keys: readonly string[]): void;
  /** Forgets everything about these keys. */
  forget(keys: readonly string[]): void;
  /**
   * A clock has stepped: what was told cannot be compared with any instant, and neither can replies to calls that were
   * sent before. The fallback still begins with the counts. @param lastCall the number of the last call that was sent.
   */
  clearRefusals(lastCall: number): void;
}

/** @param waiting what requests of this isolate wait for. */
export function createToldCounts(waiting: PendingUnits): ToldCounts {
  /** All keys: the fallback also begins with counts that are far from their limits. */
  const newest = new BoundedMap<string, KeyReply>(bounds());
  /** The last call that was sent before a clock was seen to have stepped. */
  let steppedCall = 0;
  /** Only keys near their limits: the others would push them out. */
  const refusing = new BoundedMap<string, KeyReply>(bounds());

  /** Whether the reply may refuse the same cost, or a request that waits for an answer at this moment. */
  function mayRefuse({ keys, flag }: TakeRequest, reply: TakeReply, receivedAtMs: number): boolean {
    return keys.some(({ key, group, cost, limits, flag: own = flag }, k) => {
      const wanted = Math.max(cost, waiting.units(key, receivedAtMs));
      return (
        group === ENFORCED &&
        own !== Flag.giveBack &&
        limits.some((limit, l) => {
          const { refused, view } = reply.keys[k]![l]!;
          return refused || algorithmOf(limit).tell(view, limit, cost, refused, reply.nowMs).remaining < wanted;
        })
      );
    });
  }

  function last(key: string): KeyReply | undefined {
    const told = newest.get(key);
    return told && told.replies.length > 0 ? told : undefined;
  }

  return {
    hear(request, reply, times) {
      const isClose = mayRefuse(request, reply, times.receivedAtMs);
      const storeAtMs = reply.nowMs;
      for (const [k, { key, cost, limits, flag = request.flag }] of request.keys.entries()) {
        const known = newest.get(key);
        // If a call was sent after a reply had come, the store decided it later, even if the store's clock has stepped
        // back. Two calls that were on their way together may overtake each other.
        const wereTogether = known !== undefined && times.call <= known.lastCall;
        if (wereTogether && storeAtMs < known.storeAtMs) continue;
        // Of two replies of one millisecond of the store nobody knows which is newer. If one of them has settled units,
        // the other one's counts may lack these units, or still have them.
        const isTied = wereTogether && storeAtMs === known.storeAtMs;
        const mayBeOld = times.call <= steppedCall || (isTied && (known.hasSettled || !decides(flag)));
        const told = {
          ...times,
          storeAtMs,
          cost,
          limits,
          replies: reply.keys[k]!,
          hasSettled: !decides(flag) || mayBeOld,
        };
        // Between two decisions units were only charged: the newer reply is the one that leaves less.
        if (isTied && !mayBeOld && leavesMore(told, known)) continue;
        const hasCounts = !limits.every(isConcurrency);
        if (hasCounts) newest.set(key, told);
        // Renewing or releasing a slot tells nothing about the other limits.
        else if (!decides(flag)) continue;
        if (isClose && !mayBeOld && flag !== Flag.giveBack) refusing.set(key, told);
        // Units have come back, or no limit is close: what was told before refuses too much.
        else refusing.delete(key);
      }
    },

    refusing: (key) => refusing.get(key),

    last,

    begin(key) {
      const told = last(key);
      if (!told) return undefined;
      // Keep the instants: a late reply must not bring older counts back.
      newest.set(key, { ...told, limits: [], replies: [] });
      return told;
    },

    forgetRefusals(keys) {
      for (const key of keys) refusing.delete(key);
    },

    forget(keys) {
      for (const key of keys) {
        newest.delete(key);
        refusing.delete(key);
      }
    },

    clearRefusals(lastCall) {
      refusing.clear();
      steppedCall = lastCall;
    },
  };
}

/** Whether a reply leaves more units than another one of the same instant. */
function leavesMore(one: KeyReply, other: KeyReply): boolean {
  const left = ({ limits, replies, storeAtMs }: KeyReply) =>
    limits.map((limit, l) =>
      isConcurrency(limit) ? 0 : algorithmOf(limit).remaining(replies[l]!.view, limit, storeAtMs),
    );
  if (!haveSameNumbers(one.limits, other.limits)) return false;
  const theirs = left(other);
  return left(one).some((units, l) => units > theirs[l]!);
}

/** Whether the reply to a call with this flag shows what a request would be told. */
export function decides(flag: Flag): boolean {
  return flag === Flag.take || flag === Flag.look;
}

function bounds() {
  return {
    maxSize: MAX_KEYS * 2 * KEY_BYTES,
    weigh: ({ replies }: KeyReply) => replies.reduce((bytes, { view }) => bytes + countsBytes(view), KEY_BYTES),
  };
}
