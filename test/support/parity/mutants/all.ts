import { calendar } from "./calendar.ts";
import { concurrency } from "./concurrency.ts";
import { fixedWindow } from "./fixed-window.ts";
import type { MutatedFile } from "./mutate.ts";
import { once } from "./once.ts";
import { oneBucket } from "./one-bucket.ts";
import { oneWindow } from "./one-window.ts";
import { records } from "./records.ts";
import { slidingLog } from "./sliding-log.ts";
import { slidingWindow } from "./sliding-window.ts";
import { take } from "./take.ts";
import { tokenBucket } from "./token-bucket.ts";
import { windowsOnly } from "./windows-only.ts";

/** The mutants of every file of lua/. */
export const mutatedFiles: readonly MutatedFile[] = [
  ...[take, oneWindow, oneBucket, windowsOnly, records, once],
  ...[slidingWindow, fixedWindow, tokenBucket, slidingLog, concurrency, calendar],
];
