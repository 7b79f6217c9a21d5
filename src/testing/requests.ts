/** Requests to a store, and what its replies tell. */

import type { LimitStatus } from "../core/algorithm.ts";
import { algorithmOf, type LimitSpec } from "../core/algorithms.ts";
import type { WindowRecord } from "../core/sliding-window.ts";
import { ENFORCED, type KeyRequest, type LimitReply, type TakeReply } from "../core/take.ts";

export function keyRequest(
  key: string,
  limits: readonly LimitSpec[],
  { group = ENFORCED, cost = 1 }: { readonly group?: number; readonly cost?: number } = {},
): KeyRequest {
  return { key, group, cost, limits };
}

/** What a client is told about the first limit of the first key. */
export function firstStatus({ nowMs, keys }: TakeReply, limit: LimitSpec, cost: number): LimitStatus {
  const { refused, view } = keys[0]![0]!;
  return algorithmOf(limit).tell(view, limit, cost, refused, nowMs);
}

/** What is left of every limit, in the order of the request. */
export function remainingOf({ nowMs, keys }: TakeReply, asked: readonly KeyRequest[]): number[] {
  return asked.flatMap(({ limits }, k) =>
    limits.map((limit, l) => algorithmOf(limit).tell(keys[k]![l]!.view, limit, 0, false, nowMs).remaining),
  );
}

/** The counts in a reply about a sliding window. */
export function windowOf({ view }: LimitReply): WindowRecord {
  return view as WindowRecord;
}

/** The counts of the first limit of the first key, which must be a sliding window. */
export function firstWindow({ keys }: TakeReply): WindowRecord {
  return windowOf(keys[0]![0]!);
}
