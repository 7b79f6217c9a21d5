// What a take answers about sliding windows, for tests that look at their counts.

import type { WindowRecord } from "../../../src/core/sliding-window.ts";
import type { LimitReply, TakeReply } from "../../../src/core/take.ts";

/** Of a reply about a sliding window. */
export function windowOf({ view }: LimitReply): WindowRecord {
  return view as WindowRecord;
}

/** Of the first limit of the first key. */
export function firstWindow({ keys }: TakeReply): WindowRecord {
  return windowOf(keys[0]![0]!);
}
