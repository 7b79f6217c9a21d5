// Arguments and reply of the script, written a second time: as the head of lua/take.lua describes them.

import { Kind } from "../../src/core/algorithm.ts";
import { algorithmOf, type LimitView } from "../../src/core/algorithms.ts";
import type { TakeReply, TakeRequest } from "../../src/core/take.ts";

/** ARGV. */
export function argsOf({ keys, flag, atMs = 0, slot = 0 }: TakeRequest, nowMs: number): number[] {
  const perKey = keys.map(({ group, cost, limits }) => {
    return [group, cost, limits.length, ...limits.flatMap((limit) => algorithmOf(limit).encode(limit))];
  });
  return [nowMs, flag, atMs, slot, keys.length, ...perKey.flat()];
}

/** The flat reply. */
export function flatten({ nowMs, allowed, keys }: TakeReply): number[] {
  const limits = keys.flat().flatMap(({ refused, view }) => [Number(refused), ...integersOf(view)]);
  return [nowMs, Number(allowed), ...limits];
}

/** A view as its Lua file's `view` says it. */
function integersOf(view: LimitView): number[] {
  switch (view.kind) {
    case Kind.weighted:
    case Kind.whole:
      return [view.newest, ...view.counts];
    case Kind.fixedWindow:
      return [view.newest, view.count];
    case Kind.bucket:
      return [view.atMs, view.debt];
    case Kind.log:
      return [view.used, view.retryAtMs, view.growsAtMs, view.resetAtMs];
    case Kind.concurrency:
      return [view.inFlight];
  }
}
