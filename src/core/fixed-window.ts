/** The fixed window counter: aligned windows with one count each. Mirror: lua/window.lua. */

import { type Algorithm, limitStatus } from "./algorithm.ts";
import { formatDuration } from "./duration.ts";
import { Kind, MAX_COUNT } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits } from "./units.ts";

export interface FixedWindowLimit {
  readonly kind: typeof Kind.fixedWindow;
  /** Units per window, 1 … 10^9. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface FixedWindowRecord {
  readonly kind: typeof Kind.fixedWindow;
  readonly windowMs: number;
  /** Number of the newest window written: `floor(ms / windowMs)`, ms since the epoch. */
  readonly newest: number;
  /** Units. */
  readonly count: number;
}

export const fixedWindow: Algorithm<FixedWindowLimit, FixedWindowRecord, FixedWindowRecord, FixedWindowRecord> = {
  /** If the clock has stepped back, the newer window stays. */
  read(record, _value, { kind, windowMs }, nowMs) {
    const current = Math.floor(nowMs / windowMs);
    return !record || record.newest < current ? { kind, windowMs, newest: current, count: 0 } : record;
  },
  admits: ({ count }, { limit }, cost) => count + cost <= limit,
  charge: (record, _limit, cost) => ({ ...record, count: Math.min(MAX_COUNT, record.count + cost) }),
  giveBack(record, { windowMs }, cost, { atMs }) {
    if (record.newest !== Math.floor(atMs / windowMs)) return record;
    return { ...record, count: Math.max(0, record.count - cost) };
  },
  chargedAtMs: ({ newest, windowMs }) => newest * windowMs,
  bucketAt: ({ windowMs }, atMs) => Math.floor(atMs / windowMs),
  record: (record) => record,
  recordNumbers: ["windowMs", "newest", "count"],
  recordEndsAtMs: ({ newest, windowMs }) => (newest + 1) * windowMs,
  resetAfterMs: ({ newest, windowMs, count }, _limit, nowMs) => (count === 0 ? 0 : (newest + 1) * windowMs - nowMs),
  view: (record) => record,

  encode: ({ windowMs }) => [windowMs, 0],
  quota: ({ limit, windowMs }) => ({ quota: limit, windowMs }),
  remaining: ({ count }, { limit }) => Math.max(0, limit - count),
  tell(record, limit, cost, refused, nowMs) {
    const { newest, count } = record;
    const endsAfterMs = (newest + 1) * limit.windowMs - nowMs;
    return limitStatus({
      remaining: fixedWindow.remaining(record, limit, nowMs),
      retryAfterMs: !refused ? 0 : cost > limit.limit ? undefined : endsAfterMs,
      growsAfterMs: count > 0 ? endsAfterMs : undefined,
      resetAfterMs: count > 0 ? endsAfterMs : 0,
    });
  },

  viewLength: () => 2,
  decode: ([newest = 0, count = 0], { kind, windowMs }) => ({ kind, windowMs, newest, count }),
  recall(record, limit, nowMs, _askedCost, cost) {
    const view = fixedWindow.read(record, undefined, limit, nowMs);
    return { view, refused: !fixedWindow.admits(view, limit, cost, nowMs) };
  },
  hasFixedWait: true,
  capacity: ({ limit, windowMs }) => ({ units: limit, windowMs }),
  lease: {
    endsAtMs: ({ windowMs }, chargedAtMs) => (Math.floor(chargedAtMs / windowMs) + 1) * windowMs,
    without: (record, limit, units, chargedAtMs) =>
      fixedWindow.giveBack(record, limit, units, { nowMs: chargedAtMs, atMs: chargedAtMs, slot: 0 }),
    inBucket: ({ count }) => count,
  },
};

/** Windows of the clock: each starts at zero. */
export interface FixedWindowInput extends WindowBase {
  /** Up to twice the limit across a boundary. */
  readonly algorithm: "fixed-window";
}

const FIELDS = { ...LIMIT, ...WINDOW } as const;

export const namedFixedWindow: Named<FixedWindowLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.fixedWindow,
  fields: FIELDS,
  meters: ["tokens", "usd"],
  limitOf: ({ limit, window }) => ({ kind: Kind.fixedWindow, limit, windowMs: window }),
  valuesOf: ({ limit, windowMs }) => ({ limit, window: windowMs }),
  describe: ({ limit, windowMs, unit }) => perWindow(limit, windowMs, unit),
  promise({ limit, windowMs, unit }) {
    const [most, across] = [describeUnits(limit, unit), describeUnits(2 * limit, unit)];
    return `never more than ${most} in one ${formatDuration(windowMs)} window of the clock, up to ${across} across a boundary`;
  },
};
