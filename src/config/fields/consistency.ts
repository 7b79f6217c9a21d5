/** Who admits: the store, or an isolate ahead of it. */

import { algorithmOf, NAMED } from "../../core/algorithms.ts";
import { isConcurrency } from "../../core/concurrency.ts";
import { formatDuration, parseDurationMs } from "../../core/duration.ts";
import type { Checked, Feature } from "./field.ts";
import { ALGORITHMS, expectAlgorithms } from "./limits.ts";

const DEFAULT_SYNC = "1s";
/** The least window under `shared`, as a multiple of `sync`: a unit must be told before it leaves its window. */
const LEAST_SYNCS = 2;

/** Algorithms whose units can be charged before a request comes. */
export const LEASABLE = ALGORITHMS.filter((name) => algorithmOf(NAMED[name]).lease && !NAMED[name].isNeverLeased);

export const consistency = {
  fields: {
    consistency: {
      is: "word",
      words: ["strict", "leased", "shared"],
      default: "strict",
      besideMeter: { is: "word", words: ["strict"], default: "strict", expected: '"strict" beside meter' },
    },
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
    if (isAhead(consistency)) {
      const expected = `one of ${LEASABLE.join(", ")}: units of other algorithms cannot be leased or shared; or consistency = "strict"`;
      expectAlgorithms(checked, (algorithm) => LEASABLE.includes(algorithm), "ERR_POLICY_CONSISTENCY", expected);
    }
    if (consistency === "shared") {
      // The isolate decides by its own counts whether the store answers or not.
      if (onStoreFailure === "allow" || onStoreFailure === "deny") {
        const expected = '"local" beside consistency = "shared", which always decides by its own counts';
        checked.wrong("ERR_POLICY_CONSISTENCY", "onStoreFailure", expected);
      }
      checkWindows(checked);
    } else if (sync !== undefined) {
      checked.wrong("ERR_POLICY_SYNC", "sync", 'no sync without consistency = "shared"');
    }
  },
  compile: ({ consistency, sync = DEFAULT_SYNC_MS }) =>
    consistency === "shared" ? { consistency, syncMs: sync } : { consistency },
  write: ({ consistency, syncMs }) =>
    syncMs === undefined ? { consistency } : { consistency, sync: formatDuration(syncMs) },
} as const satisfies Feature;

const DEFAULT_SYNC_MS = parseDurationMs(DEFAULT_SYNC)!;

/** Whether a request is admitted before the store has been asked. */
export function isAhead(consistency: unknown): boolean {
  return consistency === "leased" || consistency === "shared";
}

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

/** For clients. */
export const CONSISTENCY_MEANINGS = {
  strict: "Every admitted request was counted centrally first",
  shared:
    "Each running copy of the server decides by itself, and all together keep to the limit to within a few per cent",
  leased: "Units are taken ahead of demand, never more than the limit; fewer units may be left than is shown",
};
