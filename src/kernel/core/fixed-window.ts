/** What people write and read about fixed windows. */

import { sayDuration } from "./duration.ts";
import { Kind } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits } from "./units.ts";
import type { FixedWindowLimit } from "./window.ts";

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
  promise: ({ windowMs }) => `starts again from zero every ${sayDuration(windowMs, "")}, by the clock (UTC)`,
  worstCase: ({ limit, unit }) => `up to ${describeUnits(2 * limit, unit)} in a short time around the end of a window`,
};
