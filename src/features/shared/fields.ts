/** An isolate that decides by its part of a limit, and tells the store afterwards. */

import { expectLeasable } from "../../kernel/config/fields/consistency.ts";
import type { AddedFields, Checked, ClientWords } from "../../kernel/config/fields/field.ts";
import { algorithmOf } from "../../kernel/core/algorithms.ts";
import { isConcurrency } from "../../kernel/core/concurrency.ts";
import { formatDuration, parseDurationMs } from "../../kernel/core/duration.ts";

const DEFAULT_SYNC = "1s";
/** The least window under `shared`, as a multiple of `sync`: a unit must be told before it leaves its window. */
const LEAST_SYNCS = 2;

export const sharedFields = {
  consistency: "shared",
  own: {
    fields: {
      /** How often an isolate tells the store what it has admitted. */
      sync: {
        is: "duration",
        leastMs: 100,
        mostMs: 60_000,
        expected: 'a duration from 100ms to 60s, for example "1s"',
        isOptional: true,
      },
    },
    beside(checked) {
      const { consistency, sync, onStoreFailure } = checked.written;
      if (consistency !== "shared") {
        if (sync !== undefined) checked.wrong("ERR_POLICY_SYNC", "sync", 'no sync without consistency = "shared"');
        return;
      }
      expectLeasable(checked);
      // The isolate decides by its own counts whether the store answers or not.
      if (onStoreFailure === "allow" || onStoreFailure === "deny") {
        const expected = '"local" beside consistency = "shared", which always decides by its own counts';
        checked.wrong("ERR_POLICY_CONSISTENCY", "onStoreFailure", expected);
      }
      checkWindows(checked);
    },
    compile: ({ consistency, sync = parseDurationMs(DEFAULT_SYNC) }) =>
      consistency === "shared" ? { syncMs: sync } : {},
    write: ({ syncMs }) => (syncMs === undefined ? {} : { sync: formatDuration(syncMs) }),
  },
} as const satisfies AddedFields;

export const sharedWords: ClientWords = {
  consistency: {
    shared: "Each server process decides on its own, and all together stay within a few percent of the limit",
  },
};

/** Under `shared` an isolate tells the store what it has admitted often enough for every window. */
function checkWindows({ written: { sync = DEFAULT_SYNC }, limits, path, wrong }: Checked): void {
  const syncMs = typeof sync === "string" ? parseDurationMs(sync) : undefined;
  // A wrong one has been reported.
  if (syncMs === undefined) return;
  const leastMs = LEAST_SYNCS * syncMs;
  const expected = `a window of at least ${formatDuration(leastMs)}: ${LEAST_SYNCS} times sync; or a shorter sync, or consistency = "strict"`;
  for (const { limit, path: at } of limits) {
    const { windowMs } = algorithmOf(limit).capacity(limit);
    if (isConcurrency(limit) || windowMs >= leastMs) continue;
    wrong("ERR_POLICY_SYNC", `${at.slice(path.length + 1)}.window`, expected, formatDuration(windowMs));
  }
}
