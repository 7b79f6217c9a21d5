// The script's arguments and reply, written a second time, as the header of lua/take.lua describes them.

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec, LimitView } from "../../../src/kernel/core/algorithms.ts";
import type { CalendarLimit } from "../../../src/kernel/core/calendar.ts";
import { periodAt } from "../../../src/kernel/core/periods.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { idOf } from "./records-codec.ts";

/** The script's ARGV. @param boundsAtMs the caller believes that this is the script's clock. */
export function argsOf(
  { keys, flag: common, atMs: commonAtMs = 0, slot = 0 }: TakeRequest,
  nowMs: number,
  boundsAtMs = nowMs || Date.now(),
): number[] {
  const args = [nowMs];
  for (const { group, cost, limits, once, flag = common, atMs = commonAtMs } of keys) {
    const id = BigInt(once ? 1 : 0) << 36n;
    const head = BigInt(flag) | (BigInt(limits.length) << 2n) | (BigInt(cost) << 6n) | id | (BigInt(group) << 37n);
    args.push(Number(head));
    if (once?.settles !== undefined) args.push(once.forMs, -(once.settles + 1));
    else if (once) args.push(once.forMs, flag === Flag.giveBack ? (once.isRepeat ? 1 : 0) : once.repeats);
    for (const limit of limits) {
      args.push(...numbersOf(limit));
      if (limit.kind === Kind.calendar) args.push(...boundsOf(limit, boundsAtMs));
      if (flag === Flag.giveBack) args.push(bucketInstant(limit, limit.atMs ?? atMs));
      if (flag === Flag.chargeAnyway && limit.kind === Kind.calendar) {
        args.push(limit.atMs ? bucketInstant(limit, limit.atMs) : 0);
      }
    }
  }
  if (slot > 0) args.push(slot);
  return args;
}

function numbersOf(limit: LimitSpec): number[] {
  const numbers = [limit.limit, idOf(limit)];
  if (limit.kind === Kind.ban) return [...numbers, limit.withinMs, limit.forMs.length, ...limit.forMs];
  return limit.kind === Kind.bucket ? [...numbers, limit.burst, limit.maxDelayMs] : numbers;
}

/** The bounds of the period of an instant, and the end of the next one. */
export function boundsOf(
  limit: CalendarLimit,
  atMs: number,
): [startsAtMs: number, turnsAtMs: number, endsAtMs: number] {
  const { startsAtMs, endsAtMs } = periodAt(limit, atMs);
  return [startsAtMs, endsAtMs, periodAt(limit, endsAtMs).endsAtMs];
}

/** The instant that the script gets to give back to, or to charge. */
function bucketInstant(limit: LimitSpec, atMs: number): number {
  return limit.kind === Kind.calendar ? periodAt(limit, atMs).endsAtMs - 1 : atMs;
}

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
