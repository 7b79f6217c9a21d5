/** What people write and read about sliding windows, which are the default. */

import { formatDuration } from "./duration.ts";
import { Kind, MAX_BUCKETS } from "./layout.ts";
import { LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits } from "./units.ts";
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
  promise({ kind, limit, bucketMs, buckets, unit }) {
    const [most, window] = [describeUnits(limit, unit), formatDuration(bucketMs * buckets)];
    if (kind === Kind.whole) {
      return `never more than ${most} in any ${window}; a unit returns up to ${formatDuration(bucketMs)} late`;
    }
    const surely = formatDuration(bucketMs * (buckets - 1));
    const span = buckets > 1 ? `never more than ${most} in any ${surely}` : "older requests fade out evenly";
    const worst = describeUnits(2 * limit - 1, unit);
    return `${span}, at worst ${worst} in one ${window}, when a burst comes at the end of a bucket`;
  },
};
