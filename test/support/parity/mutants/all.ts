import { ban } from "./ban.ts";
import { calendar } from "./calendar.ts";
import { concurrency } from "./concurrency.ts";
import type { MutatedFile } from "./mutate.ts";
import { once } from "./once.ts";
import { oneBucket } from "./one-bucket.ts";
import { oneWindow } from "./one-window.ts";
import { records } from "./records.ts";
import { slidingLog } from "./sliding-log.ts";
import { take } from "./take.ts";
import { tokenBucket } from "./token-bucket.ts";
import { window } from "./window.ts";
import { windowsOnly } from "./windows-only.ts";

/** The mutants of every file of lua/. */
export const mutatedFiles: readonly MutatedFile[] = [
  ...[take, oneWindow, oneBucket, windowsOnly, records, once],
  ...[window, tokenBucket, slidingLog, concurrency, calendar, ban],
];
