/**
 * When an isolate tells the store what it has admitted under `shared`: once per `sync`, for all keys together, and only
 * if there is something to tell or to look at. Pure: every instant is an argument, by the local clock, in ms since the
 * epoch.
 */

import { ENFORCED, type KeyRequest } from "../core/take.ts";

/** An isolate tells up to this part of `sync` later: isolates that began together must not tell in step. */
export const SPREAD = 0.2;
/** So long after its answer a request's timer surely fires: a runtime ends the background after 30 s. In ms. */
export const BACKGROUND_MS = 25_000;
/** A later request sets a timer of its own if it can wait for this much longer, in ms. */
const LONGER_MS = 5_000;
/** A timer may fire this much early, in ms. */
const EARLY_MS = 5;
/** A timer that is late by this much will never fire: the runtime has ended its request. In ms. */
const LOST_MS = 2_000;
/** An open breaker has let no call pass: the isolate tries again after this part of the time between two calls. */
const OPEN_PART = 0.1;
/** The most keys that one call tells or looks at. Isolates with more to tell make several calls at once. */
export const KEYS_PER_TELLING = 500;
/** The most keys to look at if each of them takes a call. */
const LOOKS_APART = 10;

export interface Telling {
  /** When the isolate told last. */
  lastAtMs: number;
  /** The least time from then to the next call, as a multiple of `sync`: 1 to 2. */
  spread: number;
  /** The `sync` of the key that was noted last, in ms. */
  syncMs: number;
  /** When to tell. Infinity: nothing is to be told. */
  dueAtMs: number;
  /** When the newest timer fires. Negative infinity: there is none. */
  timerAtMs: number;
  /** A call had no answer in time: the store is asked for one before anything is told again. */
  isUnsure: boolean;
  /** The keys of refused requests, of cost 0: the next call looks at their counts. */
  looks: Map<string, KeyRequest>;
}

export function newTelling(): Telling {
  const [never, ever] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const when = { lastAtMs: ever, spread: 1, syncMs: 0, dueAtMs: never, timerAtMs: ever };
  return { ...when, isUnsure: false, looks: new Map() };
}

/**
 * Notes that there is something to tell of a key, or to look at.
 *
 * @param isKnown whether a reply has shown the isolate's part of the key. If not, it is told as soon as possible.
 * @param random a number from 0 to 1. @returns when to tell.
 */
export function tellBy(
  telling: Telling,
  syncMs: number,
  isKnown: boolean,
  nowMs: number,
  random: () => number,
): number {
  // A clock that was set back must not delay the next call.
  if (telling.lastAtMs > nowMs) telling.lastAtMs = nowMs;
  telling.syncMs = syncMs;
  const earliestMs = telling.lastAtMs + syncMs * telling.spread;
  if (earliestMs > nowMs) telling.dueAtMs = Math.min(telling.dueAtMs, earliestMs);
  else if (!isKnown) telling.dueAtMs = Math.min(telling.dueAtMs, nowMs);
  // After a pause, isolates that begin together still tell at different moments.
  else if (telling.dueAtMs === Number.POSITIVE_INFINITY) telling.dueAtMs = nowMs + syncMs * random();
  return telling.dueAtMs;
}

/**
 * @param leastMs how long it sleeps at least, in ms.
 * @returns for how long a timer of this request should sleep, in ms. undefined: another timer is enough.
 */
export function timerFor(telling: Telling, nowMs: number, leastMs = 0): number | undefined {
  const { dueAtMs, timerAtMs } = telling;
  const atMs = Math.min(Math.max(dueAtMs, nowMs + leastMs), nowMs + BACKGROUND_MS);
  const isSet = timerAtMs > nowMs - LOST_MS && timerAtMs <= nowMs + BACKGROUND_MS;
  const isEnough = timerAtMs === dueAtMs || (dueAtMs > atMs && atMs < timerAtMs + LONGER_MS);
  if (isSet && timerAtMs <= dueAtMs && isEnough) return undefined;
  telling.timerAtMs = atMs;
  return Math.max(0, atMs - nowMs);
}

/**
 * A timer has fired. An idle isolate tells before its time, and whatever a clock says that was set back: no later timer
 * will.
 *
 * @param firedAtMs the `timerAtMs` of this timer. @returns whether to tell now.
 */
export function isTimeToTell({ dueAtMs, timerAtMs }: Telling, firedAtMs: number, nowMs: number): boolean {
  if (dueAtMs === Number.POSITIVE_INFINITY) return false;
  return timerAtMs === firedAtMs || Math.min(dueAtMs, timerAtMs) <= nowMs + EARLY_MS;
}

/** The isolate tells now. @param random a number from 0 to 1. */
export function beginTelling(telling: Telling, nowMs: number, random: () => number): void {
  // A first call finds other isolates that began at the same moment. The next calls of all must not.
  const isFirst = telling.lastAtMs === Number.NEGATIVE_INFINITY;
  telling.spread = 1 + (isFirst ? 1 : SPREAD) * random();
  telling.lastAtMs = nowMs;
  telling.dueAtMs = Number.POSITIVE_INFINITY;
}

/** Something could not be told: it is told with the next call. @param isOpen the breaker has let no call pass. */
export function tellLater(telling: Telling, isOpen: boolean): void {
  const waitMs = telling.syncMs * telling.spread * (isOpen ? OPEN_PART : 1);
  telling.dueAtMs = Math.min(telling.dueAtMs, telling.lastAtMs + waitMs);
}

/** Notes that the next call should look at the counts of a key. */
export function noteLook({ looks }: Telling, key: KeyRequest): void {
  if (looks.size < KEYS_PER_TELLING) looks.set(key.key, { ...key, group: ENFORCED, cost: 0 });
}

/** The keys that the isolate looks at now, without those that it tells: these replies show the counts too. */
export function takeLooks(telling: Telling, owing: ReadonlySet<string>, isApart: boolean): KeyRequest[] {
  const { looks } = telling;
  telling.looks = new Map();
  return [...looks.values()].filter(({ key }) => !owing.has(key)).slice(0, isApart ? LOOKS_APART : KEYS_PER_TELLING);
}
