// The script's arguments and reply, written a second time, as the header of lua/take.lua describes them.

import { Kind } from "../../../src/core/algorithm.ts";
import type { LimitSpec, LimitView } from "../../../src/core/algorithms.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../../src/core/take.ts";
import { idOf } from "./records-codec.ts";

/** The script's ARGV. */
export function argsOf({ keys, flag: common, atMs: commonAtMs = 0, slot = 0 }: TakeRequest, nowMs: number): number[] {
  const args = [nowMs];
  for (const { group, cost, limits, once, flag = common, atMs = commonAtMs } of keys) {
    const id = BigInt(once ? 1 : 0) << 36n;
    const head = BigInt(flag) | (BigInt(limits.length) << 2n) | (BigInt(cost) << 6n) | id | (BigInt(group) << 37n);
    args.push(Number(head));
    if (once) args.push(once.forMs, flag === Flag.giveBack ? (once.isRepeat ? 1 : 0) : once.repeats);
    for (const limit of limits) args.push(...numbersOf(limit), ...(flag === Flag.giveBack ? [limit.atMs ?? atMs] : []));
  }
  if (slot > 0) args.push(slot);
  return args;
}

function numbersOf(limit: LimitSpec): number[] {
  const numbers = [limit.limit, idOf(limit)];
  return limit.kind === Kind.bucket ? [...numbers, limit.burst, limit.maxDelayMs] : numbers;
}

/** Whether a flat reply refuses no limit. Only a refused limit makes a number negative. */
export const admits = (reply: readonly number[]): boolean => reply.every((integer) => integer >= 0);

/** A reply as the script's flat array. */
export function flatten({ nowMs, keys }: TakeReply, request: TakeRequest): number[] {
  const integers = [nowMs];
  for (const [k, { limits, once }] of request.keys.entries()) {
    if (once) integers.push(keys[k]!.every(({ repeated }) => repeated) ? 1 : 0);
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
  }
}
