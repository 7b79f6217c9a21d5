// The script's arguments as the store sends them, and its reply written a second time, as the header of lua/take.lua
// describes it.

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitView } from "../../../src/kernel/core/algorithms.ts";
import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { encodeRequest } from "../../../src/kernel/store/redis.ts";
import { idOf } from "./records-codec.ts";

/** The script's ARGV. @param boundsAtMs the caller believes that this is the script's clock. */
export const argsOf = (request: TakeRequest, nowMs: number, boundsAtMs = nowMs || Date.now()): number[] =>
  encodeRequest(request, 0, boundsAtMs).with(0, nowMs);

/** Whether a flat reply refuses no limit. Only a refused limit makes a number negative. */
export const admits = (reply: readonly number[]): boolean => reply.every((integer) => integer >= 0);

/** A reply as the script's flat array. */
export function flatten({ nowMs, keys }: TakeReply, request: TakeRequest): number[] {
  const integers = [nowMs];
  for (const [k, { limits, once }] of request.keys.entries()) {
    if (once) {
      const is = (field: "repeated" | "beyond") => keys[k]!.every((limit) => limit[field]);
      const [{ settled } = {}] = keys[k]!;
      if (settled !== undefined) integers.push(3 + settled);
      else integers.push(is("repeated") ? 1 : is("beyond") ? 2 : 0);
    }
    for (const [l, { refused, view }] of keys[k]!.entries()) {
      const id = idOf(limits[l]!);
      integers.push(refused ? -id : id, ...integersOf(view));
    }
  }
  return integers;
}

/** A view as the integers that its Lua file returns. */
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
    case Kind.calendar:
      return [view.endsAtMs, view.count];
    case Kind.ban:
      return [view.endsAtMs, view.bans, view.counts[0]!, view.counts[1]!];
  }
}
