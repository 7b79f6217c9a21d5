/**
 * What an isolate knows about the store's clock: an interval, computed from the instants in replies and from their
 * round trips. Reads no clock: every instant is an argument.
 */

/** The largest drift of two clocks, as a part of the time that passes (100 ppm is poor for a server's quartz). */
export const DRIFT = 1e-4;
/** Local clocks stand still between I/O in production. A request computes for less than this in between. */
const STANDSTILL_MS = 5;

/** An instant by both clocks, in ms since the epoch. */
export interface Now {
  readonly localAtMs: number;
  /**
   * The store's time lies between these two instants. undefined and infinity: nothing is known, before the first reply
   * and after a step back of the local clock.
   */
  readonly earliestMs: number | undefined;
  readonly latestMs: number;
  /** For how long a reply may refuse other requests, in milliseconds. */
  readonly trustedMs: number;
}

export interface StoreClock {
  /** Store time minus local time, as known at the local instant `atMs`. undefined: not known. */
  offset: { readonly atMs: number; readonly low: number; readonly high: number } | undefined;
  /** The newest instant that the store's clock has shown, in ms since the epoch. */
  newestMs: number;
}

export function newStoreClock(): StoreClock {
  return { offset: undefined, newestMs: 0 };
}

/**
 * Learns from a reply. All instants are in ms since the epoch; the first two are by the local clock.
 *
 * @returns false if one of the two clocks has stepped: nothing computed with the old offset holds any more.
 */
export function observe(clock: StoreClock, sentAtMs: number, receivedAtMs: number, storeAtMs: number): boolean {
  // The store read its clock between these two instants, perhaps near the end of its millisecond.
  const seen = { low: storeAtMs - receivedAtMs - STANDSTILL_MS, high: storeAtMs + 1 - sentAtMs };
  // The local clock was set back while the call was on its way: the reply tells nothing about the offset.
  if (seen.low > seen.high) {
    clock.offset = undefined;
    return false;
  }
  const { offset } = clock;
  if (!offset) {
    begin(clock, receivedAtMs, seen, storeAtMs);
    return true;
  }
  // The offset at a later instant: its interval is wider by the drift of the clocks.
  const driftMs = (receivedAtMs - offset.atMs) * DRIFT;
  const low = Math.max(seen.low, offset.low - driftMs);
  const high = Math.min(seen.high, offset.high + driftMs);
  if (driftMs < 0 || low > high) {
    begin(clock, receivedAtMs, seen, storeAtMs);
    return false;
  }
  clock.offset = { atMs: receivedAtMs, low, high };
  clock.newestMs = Math.max(clock.newestMs, storeAtMs);
  return true;
}

/** Knows the clock by this reply alone. */
function begin(clock: StoreClock, atMs: number, seen: { low: number; high: number }, storeAtMs: number): void {
  clock.offset = { atMs, ...seen };
  clock.newestMs = storeAtMs;
}

export function nowBy(clock: StoreClock, localAtMs: number, trustedMs: number): Now {
  const { offset, newestMs } = clock;
  // Every answer from memory comes through here: no other object is made for it.
  if (!offset || localAtMs < offset.atMs) {
    return { localAtMs, earliestMs: undefined, latestMs: Number.POSITIVE_INFINITY, trustedMs };
  }
  const driftMs = (localAtMs - offset.atMs) * DRIFT;
  const earliestMs = Math.max(newestMs, Math.floor(localAtMs + offset.low - driftMs));
  return { localAtMs, earliestMs, latestMs: Math.ceil(localAtMs + offset.high + driftMs) + STANDSTILL_MS, trustedMs };
}
