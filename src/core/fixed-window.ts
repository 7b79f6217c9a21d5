/** The fixed window counter: aligned windows with one count each. Mirror: lua/window.lua, as a window of 0 buckets. */

import { counter } from "./algorithm.ts";
import { formatDuration } from "./duration.ts";
import { Kind } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits } from "./units.ts";
import { periodic } from "./window.ts";

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

export const fixedWindow = counter<FixedWindowLimit, FixedWindowRecord>({
  ...periodic({
    endAt: ({ windowMs }, atMs) => (Math.floor(atMs / windowMs) + 1) * windowMs,
    begin: ({ kind, windowMs }, endsAtMs) => ({ kind, windowMs, newest: endsAtMs / windowMs - 1, count: 0 }),
    endsAtMs,
    windowMs: ({ windowMs }) => windowMs,
  }),
  chargedAtMs: ({ newest, windowMs }) => newest * windowMs,
  encode: ({ windowMs }) => [windowMs, 0],
  decode: ([newest = 0, count = 0], { kind, windowMs }) => ({ kind, windowMs, newest, count }),
  records: { numbers: ["windowMs", "newest", "count"], endsAtMs },
});

function endsAtMs({ newest, windowMs }: FixedWindowRecord): number {
  return (newest + 1) * windowMs;
}

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
