/** What people write and read about sliding windows, which are the default. */

import { sayDuration } from "./duration.ts";
import { Kind, MAX_BUCKETS } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits, nameOfOne } from "./units.ts";
import type { WindowLimit } from "./window.ts";

/** The default: a window that slides in buckets. */
export interface SlidingWindowInput extends WindowBase {
  /** May be left out. */
  readonly algorithm?: "sliding-window" | undefined;
  /** Number of buckets in the window, 1 … 60. Must divide the window in milliseconds. Default 1. */
  readonly buckets?: number | undefined;
  /** How the oldest bucket counts: the part inside the window (`"weighted"`, default), or all of it (`"whole"`). */
  readonly oldest?: "weighted" | "whole" | undefined;
}

const FIELDS = {
  ...LIMIT,
  ...WINDOW,
  buckets: {
    is: "integer",
    least: 1,
    most: MAX_BUCKETS,
    default: 1,
  },
  oldest: { is: "word", words: ["weighted", "whole"], default: "weighted" },
} as const;

export const namedSlidingWindow: Named<WindowLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.weighted,
  fields: FIELDS,
  meters: ["tokens"],
  misfit: ({ window, buckets }) =>
    window % buckets === 0
      ? undefined
      : { field: "buckets", expected: `a number that divides the window of ${window} ms` },
  limitOf: ({ limit, window, buckets, oldest }) => ({ kind: Kind[oldest], limit, bucketMs: window / buckets, buckets }),
  valuesOf: ({ kind, limit, bucketMs, buckets }) => ({
    limit,
    window: bucketMs * buckets,
    buckets,
    oldest: kind === Kind.whole ? "whole" : "weighted",
  }),
  describe: ({ limit, bucketMs, buckets, unit }) => perWindow(limit, bucketMs * buckets, unit),
  promise({ kind, bucketMs, buckets, unit }) {
    if (kind === Kind.weighted) return `older ${unit ?? "units"} count less and less, until they no longer count`;
    return `a ${nameOfOne(unit)} counts for ${sayDuration(bucketMs * buckets)}, and up to ${sayDuration(bucketMs)} longer`;
  },
  worstCase({ kind, limit, bucketMs, buckets, unit }) {
    if (kind === Kind.whole || limit === 1) return undefined;
    const worst = `up to ${describeUnits(2 * limit - 1, unit)} in ${sayDuration(bucketMs * buckets)}, if a burst comes at the end of a bucket`;
    return buckets > 1 ? `${worst}; never more than the limit in ${sayDuration(bucketMs * (buckets - 1))}` : worst;
  },
};
