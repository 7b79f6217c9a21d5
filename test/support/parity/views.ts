// What a reply says about sliding windows, for tests that look at the counts.

import type { WindowRecord } from "../../../src/core/sliding-window.ts";
import type { LimitReply, TakeReply } from "../../../src/core/take.ts";

export function windowOf({ view }: LimitReply): WindowRecord {
  return view as WindowRecord;
}

/** The window of the first limit of the first key. */
export function firstWindow({ keys }: TakeReply): WindowRecord {
  return windowOf(keys[0]![0]!);
}
