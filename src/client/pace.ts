/**
 * What a client remembers of limits: what is left of each, and when there is more. Its own calls line up by it: as many
 * go at once as are known to be left, and one at a time asks when nothing is known. Plain data, bounded, no timer: a
 * Worker may make one at module scope. A call that waits looks again by itself: in a Worker one request must not wake another.
 */

import type { Rule } from "./fields.ts";

/** One call, however often it is sent. Instants are ms since the epoch. */
export interface Call {
  /** Where it goes, and as whom: limits are remembered by this and their name. */
  readonly origin: string;
  /** The same with method and path: which limits apply is remembered by this. */
  readonly path: string;
  /** It may be sent until then. */
  readonly endsAt: number;
  /** It may not be sent before, as the server told. */
  notBefore: number;
  /** How many answers had been learned from when it was sent last. */
  sentAfter?: number;
}

export interface Memory {
  /** In how many milliseconds to ask again; 0: the call is sent now, and is in flight until `answered` or `leave`. */
  waitMs(call: Call, nowMs: number): number;
  /**
   * Learns from an answer. @param chance 0 ≤ x < 1.
   * @param refusedMs after a refusal: among strangers, the longest wait by chance on top of what the rules say.
   */
  answered(call: Call, rules: readonly Rule[], nowMs: number, chance: number, refusedMs?: number): void;
  /** The call is over, however it ended. */
  leave(call: Call): void;
}

interface Limit {
  /** Units of the whole window, as told or guessed. */
  readonly quota: number;
  readonly isConcurrent: boolean | undefined;
  /** Units left when it was told, the fewest of answers that crossed. In flight: how many calls there may be at a time. */
  readonly remaining: number;
  /** The number of the answer that told it: answers to what was sent after that are newer. */
  readonly answer: number;
  /** More units come then, not before. */
  readonly moreAt: number;
  /** A call that is alone waits until then, if few are left. */
  readonly paceAt: number;
  /** One unit comes back in that time, ms. */
  readonly gapMs: number;
  /** Among strangers `moreAt` is put off by so much, times `chance`. */
  readonly spreadMs: number;
  readonly chance: number;
  /** Own calls admitted since one that had waited as it was told was refused: then others were there as well. */
  readonly own: number;
  /** While nothing is known to be left, the next call asks then. */
  askAt: number;
}

/** Limits and paths remembered, each; the one noted longest ago goes first. About 30 KB when full. */
const MAX_ENTRIES = 100;

/** Below this part of the quota a client spreads what is left; above it, it goes as fast as it likes. */
const FEW = 0.2;
/** How many units to expect of a limit that does not tell its quota. */
const GUESSED_QUOTA = 10;

/** How often the first in line looks whether an answer has come, ms; those behind it look less often. */
const LOOK_MS = 10;

/** Refusals come at once: after so long without an answer a call is taken to be admitted, ms. */
const PATIENCE_MS = 100;

/** Above every count and every wait, and still an exact number. */
const MOST = 2 ** 53 - 1;
/** A limit that was not told yet. */
const UNKNOWN = { own: 0, answer: 0, remaining: MOST, moreAt: 0, gapMs: 0 } as Limit;

/** @param isShort forgets everything when no call is waiting or in flight. */
export function createMemory(isShort = false): Memory {
  const limits = new Map<string, Limit>();
  /** Which limits answered last: under this method and path, and at this origin. */
  const applied = new Map<string, readonly string[]>();
  /** In the order in which they came. */
  const waiting = new Set<Call>();
  const inFlight = new Set<Call>();
  let answers = 0;

  const keyOf = ({ origin }: Call, name: string) => `${origin} ${name}`;
  const keysOf = ({ path, origin }: Call) => applied.get(path) ?? applied.get(origin) ?? [];

  /** How many calls, those before `end`, are subject to a limit and may be sent for all that they were told themselves. */
  function count(key: string, calls: Iterable<Call>, nowMs = MOST, end?: Call): number {
    let found = 0;
    for (const call of calls) {
      if (call === end) break;
      if (call.notBefore <= nowMs && keysOf(call).includes(key)) found++;
    }
    return found;
  }

  /** When the call may go for all that this limit knows, or should look again. */
  function goAt(key: string, call: Call, nowMs: number): number {
    const limit = limits.get(key);
    if (!limit) return nowMs;
    const { quota, isConcurrent, moreAt, gapMs } = limit;
    const pending = count(key, inFlight);
    const ahead = count(key, waiting, nowMs, call);
    const strangers = Math.max(0, 1 - (limit.own + pending) / quota);
    const opensAt = moreAt + limit.chance * Math.min(strangers * limit.spreadMs, call.endsAt - moreAt);
    const isFull = !isConcurrent && nowMs >= opensAt + gapMs * quota;
    const left = (isFull ? quota : limit.remaining) - pending - ahead;

    if (left >= 1 && !(isConcurrent && nowMs < opensAt)) {
      return isFull || call.sentAfter !== undefined || waiting.size > 1 ? nowMs : limit.paceAt;
    }
    if (nowMs < opensAt) return opensAt;
    const lookAt = Math.min(nowMs + LOOK_MS * (1 + (8 * ahead) / quota), call.endsAt);
    if (isConcurrent) return lookAt;
    const askAt = Math.max(opensAt, limit.askAt) + ahead * gapMs;
    return pending + ahead > 0 ? Math.min(askAt, lookAt) : askAt;
  }

  return {
    waitMs(call, nowMs) {
      waiting.add(call);
      const keys = keysOf(call);
      // What comes after the call may be sent is not waited for.
      const known = keys.map((key) => goAt(key, call, nowMs)).filter((atMs) => atMs <= call.endsAt);
      const waitMs = Math.min(Math.max(call.notBefore, ...known) - nowMs, MOST);
      if (waitMs > 0) return waitMs;
      waiting.delete(call);
      inFlight.add(call);
      call.sentAfter = answers;
      for (const limit of keys.flatMap((key) => limits.get(key) ?? [])) {
        const { quota, gapMs } = limit;
        limit.askAt = nowMs + Math.min(gapMs, inFlight.size < quota ? PATIENCE_MS : gapMs);
      }
      return 0;
    },

    answered(call, rules, nowMs, chance, refusedMs) {
      inFlight.delete(call);
      if (rules.length === 0) return;
      const keys = rules.map(({ name }) => keyOf(call, name));
      remember(applied, call.path, keys);
      remember(applied, call.origin, keys);
      answers++;
      const admitted = refusedMs === undefined;
      for (const { name, remaining, afterMs = 0, quota: told, windowMs, isConcurrent } of rules) {
        const key = keyOf(call, name);
        if (admitted && !afterMs && remaining < 1 && !isConcurrent) {
          limits.delete(key);
          continue;
        }
        const old = limits.get(key) ?? UNKNOWN;
        const pending = count(key, inFlight);
        // Sent before the answer that was learned from last: it may be the older one.
        const hasCrossed = call.sentAfter! < old.answer;
        let own = admitted || hasCrossed || pending > 0 ? old.own : 0;
        if (admitted) own++;
        if (hasCrossed && admitted && !isConcurrent && remaining >= old.remaining) {
          remember(limits, key, { ...old, own });
          continue;
        }
        const quota = told || GUESSED_QUOTA;
        const gapMs = isConcurrent ? 0 : (windowMs ?? afterMs) / quota || old.gapMs;
        const isFew = remaining <= Math.max(1, quota * FEW);
        const most = Math.min(old.remaining, quota);
        const atOnce = admitted ? Math.max(most, remaining + 1) : Math.max(1, Math.min(most, pending));
        remember(limits, key, {
          quota,
          isConcurrent,
          own,
          gapMs,
          answer: answers,
          askAt: 0,
          remaining: isConcurrent ? atOnce : Math.min(remaining, hasCrossed ? old.remaining : remaining),
          moreAt: isConcurrent && admitted ? old.moreAt : Math.max(nowMs + afterMs, hasCrossed ? old.moreAt : 0),
          paceAt: isFew ? nowMs + ((1 + chance) * afterMs) / (Math.floor(remaining) + 1) : nowMs,
          spreadMs: refusedMs ?? gapMs,
          chance: hasCrossed ? old.chance : chance,
        });
      }
    },

    leave(call) {
      waiting.delete(call);
      inFlight.delete(call);
      if (isShort && waiting.size + inFlight.size === 0) {
        limits.clear();
        applied.clear();
      }
    },
  };
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_ENTRIES) map.delete(map.keys().next().value!);
}
