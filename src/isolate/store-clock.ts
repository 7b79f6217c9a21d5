/**
 * What an isolate knows about the store's clock: an interval, computed from the instants in replies and from their
 * round trips.
 */

/** The largest drift of two clocks, as a part of the time that passes (100 ppm is poor for a server's quartz). */
const DRIFT = 1e-4;
/** Local clocks stand still between I/O in production. A request computes for less than this in between. */
const STANDSTILL_MS = 5;

/** The store's time lies between these two instants, ms since the epoch. */
interface StoreTime {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export interface StoreClock {
  /**
   * Learns from a reply. All instants are in ms since the epoch; the first two are by the local clock.
   *
   * @returns false if one of the two clocks has stepped: nothing computed with the old offset holds any more.
   */
  observe(sentAtMs: number, receivedAtMs: number, storeAtMs: number): boolean;
  /**
   * The store's time at a local instant; undefined before the first reply, and after a step back of the local clock.
   */
  at(localAtMs: number): StoreTime | undefined;
}

/** Reads no clock: every instant is an argument. */
export function createStoreClock(): StoreClock {
  /** Store time minus local time, as known at `atMs`. */
  let offset: { readonly atMs: number; readonly low: number; readonly high: number } | undefined;
  /** The last result of `at`, and its argument: local clocks stand still while a request computes. */
  let told: StoreTime | undefined;
  let toldFor: number | undefined;
  /** The newest instant that the store's clock has shown, in ms since the epoch. */
  let newestMs = 0;

  /** The interval at a later instant: wider by the drift of the clocks. */
  const widened = (localAtMs: number) => {
    if (!offset || localAtMs < offset.atMs) return undefined;
    const drift = (localAtMs - offset.atMs) * DRIFT;
    return { low: offset.low - drift, high: offset.high + drift };
  };

  return {
    observe(sentAtMs, receivedAtMs, storeAtMs) {
      toldFor = undefined;
      // The store read its clock between these two instants, perhaps near the end of its millisecond.
      const seen = { low: storeAtMs - receivedAtMs - STANDSTILL_MS, high: storeAtMs + 1 - sentAtMs };
      // The local clock was set back while the call was on its way: the reply tells nothing about the offset.
      if (seen.low > seen.high) {
        offset = undefined;
        return false;
      }
      const known = widened(receivedAtMs);
      const low = Math.max(seen.low, known?.low ?? seen.low);
      const high = Math.min(seen.high, known?.high ?? seen.high);
      const stepped = offset !== undefined && (known === undefined || low > high);
      offset = { atMs: receivedAtMs, ...(stepped ? seen : { low, high }) };
      newestMs = known && !stepped ? Math.max(newestMs, storeAtMs) : storeAtMs;
      return !stepped;
    },

    at(localAtMs) {
      if (toldFor !== localAtMs) {
        toldFor = localAtMs;
        const known = widened(localAtMs);
        told = known && {
          earliestMs: Math.max(newestMs, Math.floor(localAtMs + known.low)),
          latestMs: Math.ceil(localAtMs + known.high) + STANDSTILL_MS,
        };
      }
      return told;
    },
  };
}
