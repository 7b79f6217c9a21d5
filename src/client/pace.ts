/**
 * What a client remembers: how many units of each limit are left, and when more come. Calls of the client line up: as
 * many are sent at once as units are known to be left. If nothing is known to be left, one call at a time is sent to
 * find out. A pace is plain data, bounded, without timers: a Worker may make one at module scope. A waiting call
 * looks again by itself, because in a Worker one request must not wake another.
 */

import type { Rule } from "./fields.ts";

/** One call, however often it is sent. Instants are ms since the epoch. */
export interface Call {
  /** The URL's origin: own calls are counted by this text and the limit's name. */
  readonly site: string;
  /** The URL's origin and the caller's headers: a limit is remembered by this text and the limit's name. */
  readonly origin: string;
  /** The same with method and path: the limits that apply are remembered by this text. */
  readonly path: string;
  /** The call may be sent until this instant. */
  readonly endsAt: number;
  /** The call may not be sent before this instant: the server said so. */
  notBefore: number;
  /** How many answers were learned before the call was last sent. */
  sentAfter?: number;
}

export interface Pace {
  /** Milliseconds until the caller asks again; 0: send the call now. It is in flight until `answered` or `leave`. */
  waitMs(call: Call, nowMs: number): number;
  /**
   * Learns from an answer.
   *
   * @param chance a random number, 0 ≤ x < 1.
   * @param refusedMs only after a refusal: the longest random wait on top of the rules' wait, in milliseconds. The more
   * of the limit went to own calls, the less of it applies.
   */
  answered(call: Call, rules: readonly Rule[], nowMs: number, chance: number, refusedMs?: number): void;
  /** The call is over, however it ended, or it has failed without an answer. */
  leave(call: Call): void;
}

interface Limit {
  /** Units of the whole window, stated or guessed. */
  readonly quota: number;
  readonly isConcurrent: boolean | undefined;
  /**
   * Units left, as last stated; of answers that crossed, the smallest number. Concurrency: how many calls may be in
   * flight at a time.
   */
  readonly remaining: number;
  /** The number of the answer that stated this: an answer to a call sent later is newer. */
  readonly answer: number;
  /** More units come at this instant, not before. */
  readonly moreAt: number;
  /** If few units are left, and strangers have used others, a lone call waits until this instant. */
  readonly paceAt: number;
  /** The time in which one unit comes back, ms. */
  readonly gapMs: number;
  /** Among strangers, calls wait up to `spreadMs * chance` longer than `moreAt`. */
  readonly spreadMs: number;
  readonly chance: number;
  readonly own: Own;
  /** While nothing is known to be left, the next call is sent at this instant to find out. */
  askAt: number;
}

/**
 * Own calls that a limit has admitted lately. If they are as many as the quota, no other client uses the limit. If a
 * call is refused although it has waited as stated, the refusal shows that other clients use the same limit: the count
 * begins anew.
 */
interface Own {
  /** Calls of the present span, and of the span before it. */
  now: number;
  before: number;
  /** When the present span began. */
  since: number;
  /** The longest span that an answer has stated: two windows, since a sliding window counts those. 0: no answer has. */
  spanMs: number;
}

/** Remembered limits, and remembered paths, at most; the entry noted longest ago goes first. About 30 KB when full. */
const MAX_ENTRIES = 100;

/** With this share of the quota left, or less, a client spreads its calls; with more it does not slow down. */
const FEW = 0.2;
/** The quota assumed for a limit that does not state its quota, units. */
const GUESSED_QUOTA = 10;

/** How often the first call in line looks for an answer, ms; the calls behind it look less often. */
const LOOK_MS = 10;

/** A refusal arrives fast: a call without an answer for this long is assumed to be admitted, ms. */
const PATIENCE_MS = 100;

/** Above every count and every wait, and still an exact integer. */
const MOST = 2 ** 53 - 1;
/** A limit that no answer has stated yet. */
const UNKNOWN = { answer: 0, remaining: MOST, moreAt: 0, gapMs: 0 } as Limit;

/** @param isShort true: when no call is waiting or in flight, the pace forgets all but the number of own calls. */
export function createPace(isShort = false): Pace {
  const limits = new Map<string, Limit>();
  const owned = new Map<string, Own>();
  /** The limits of the last answer, by `path` of a call and by `origin`. */
  const applied = new Map<string, readonly string[]>();
  /** In the order of arrival. */
  const waiting = new Set<Call>();
  const inFlight = new Set<Call>();
  let answers = 0;

  const keyOf = ({ origin }: Call, name: string) => `${origin} ${name}`;
  const keysOf = ({ path, origin }: Call) => applied.get(path) ?? applied.get(origin) ?? [];

  function ownOf({ site }: Call, name: string, nowMs: number): Own {
    const key = `${site} ${name}`;
    const own = owned.get(key) ?? { now: 0, before: 0, since: nowMs, spanMs: 0 };
    remember(owned, key, own);
    return own;
  }

  /** How many calls before `end` are subject to a limit and are past their own `notBefore`. */
  function count(key: string, calls: Iterable<Call>, nowMs = MOST, end?: Call): number {
    let found = 0;
    for (const call of calls) {
      if (call === end) break;
      if (call.notBefore <= nowMs && keysOf(call).includes(key)) found++;
    }
    return found;
  }

  /** The instant when this limit lets the call go, or when the call should look again. */
  function goAt(key: string, call: Call, nowMs: number): number {
    const limit = limits.get(key);
    if (!limit) return nowMs;
    const { quota, isConcurrent, moreAt, gapMs } = limit;
    const pending = count(key, inFlight);
    const ahead = count(key, waiting, nowMs, call);
    const spreadMs = strangers(limit.own, nowMs, quota, quota - pending) * limit.spreadMs;
    const opensAt = moreAt + limit.chance * Math.min(spreadMs, call.endsAt - moreAt);
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
      // An instant after the call's end is useless to wait for: send the call now.
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
      const admitted = refusedMs === undefined;
      // An answer may state limits only when it is a refusal.
      if (rules.length === 0) {
        if (admitted) admit(ownOf(call, "", nowMs), nowMs);
        return;
      }
      const keys = rules.map(({ name }) => keyOf(call, name));
      remember(applied, call.path, keys);
      remember(applied, call.origin, keys);
      answers++;
      for (const { name, remaining, afterMs = 0, quota: stated, windowMs, isConcurrent } of rules) {
        const key = keyOf(call, name);
        const own = ownOf(call, name, nowMs);
        own.spanMs = Math.max(own.spanMs, 2 * (windowMs ?? afterMs));
        if (admitted) admit(own, nowMs);
        if (admitted && !afterMs && remaining < 1 && !isConcurrent) {
          limits.delete(key);
          continue;
        }
        const old = limits.get(key) ?? UNKNOWN;
        const pending = count(key, inFlight);
        // The call was sent before the last answer was learned: of the two answers, this one may be the older.
        const hasCrossed = call.sentAfter! < old.answer;
        if (!admitted && remaining < 1 && old !== UNKNOWN && !hasCrossed && pending === 0) own.now = own.before = 0;
        if (hasCrossed && admitted && !isConcurrent && remaining >= old.remaining) {
          remember(limits, key, old);
          continue;
        }
        const quota = stated || GUESSED_QUOTA;
        const gapMs = isConcurrent ? 0 : (windowMs ?? afterMs) / quota || old.gapMs;
        const isFew = remaining <= Math.max(1, quota * FEW);
        const paceMs = strangers(own, nowMs, quota, quota - remaining) * (1 + chance) * afterMs;
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
          paceAt: isFew ? nowMs + paceMs / (Math.floor(remaining) + 1) : nowMs,
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

/** How many own calls were admitted lately: within one span at least, within two at most. */
function recent(own: Own, nowMs: number): number {
  const spans = own.spanMs ? Math.floor((nowMs - own.since) / own.spanMs) : 0;
  if (spans > 0) {
    own.before = spans > 1 ? 0 : own.now;
    own.now = 0;
    own.since += spans * own.spanMs;
  }
  return own.now + own.before;
}

function admit(own: Own, nowMs: number): void {
  recent(own, nowMs);
  own.now++;
}

/** The part of a quota, 0 to 1, that strangers have used if this many units of it are used. */
function strangers(own: Own, nowMs: number, quota: number, used: number): number {
  return Math.max(0, used - recent(own, nowMs)) / quota;
}

function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  if (map.size > MAX_ENTRIES) map.delete(map.keys().next().value!);
}
