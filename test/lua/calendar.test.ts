// Calendar limits in the script alone: what parity does not try.

import { randomUUID } from "node:crypto";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";
import type { CalendarLimit } from "../../src/kernel/core/calendar.ts";
import { Flag, keysOfRequest } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeRow, idOf } from "../support/redis/records-codec.ts";
import { argsOf } from "../support/redis/script-call.ts";
import { sharedRedis } from "../support/redis/shared-redis.ts";

const DAY_MS = 86_400_000;
/** Noon of a day in UTC. */
const NOON_MS = 19_700 * DAY_MS + DAY_MS / 2;
const MIDNIGHT_MS = NOON_MS + DAY_MS / 2;
const day: CalendarLimit = { kind: Kind.calendar, limit: 9, window: "day", zone: "UTC", firstDay: 1 };
const window: LimitSpec = { kind: Kind.weighted, limit: 9, bucketMs: DAY_MS, buckets: 1 };
const log: LimitSpec = { kind: Kind.log, limit: 9, windowMs: DAY_MS };
const slots: LimitSpec = { kind: Kind.concurrency, limit: 9, timeoutMs: DAY_MS };
const bucket: LimitSpec = { kind: Kind.bucket, limit: 9, windowMs: DAY_MS, burst: 9, maxDelayMs: 0 };

let redis: ReturnType<typeof sharedRedis>;
let key: string;
const keysOf = (limits: readonly LimitSpec[]) => keysOfRequest({ keys: [keyRequest(key, limits)], flag: Flag.take });
beforeEach(() => {
  redis = sharedRedis();
  key = `headgate-test:{${randomUUID()}}`;
  const used = keysOf([log, slots]);
  onTestFinished(async () => {
    await redis.unlink(used);
  });
});

interface Options {
  readonly flag?: Flag;
  readonly cost?: number;
  readonly nowMs?: number;
  readonly boundsAtMs?: number;
}

async function take(limits: readonly LimitSpec[], options: Options = {}): Promise<number[]> {
  const { flag = Flag.take, cost = 1, nowMs = NOON_MS, boundsAtMs = nowMs } = options;
  const request = { keys: [keyRequest(key, limits, { cost })], flag, atMs: nowMs, slot: 7 };
  const keys = keysOfRequest(request);
  const args = argsOf(request, nowMs, boundsAtMs).map(String);
  return (await redis.eval(TAKE.text, keys.length, ...keys, ...args)) as number[];
}

describe("an end that is ahead, and no end of this limit's periods: the zone was changed by law, or by an update", () => {
  it.each([NOON_MS + 1, MIDNIGHT_MS - 1, MIDNIGHT_MS + 1])("counts until the record's end: %i", async (endsAtMs) => {
    await redis.set(key, encodeRow([idOf(day), endsAtMs, 3]));
    expect(await take([day])).toEqual([NOON_MS, idOf(day), endsAtMs, 4]);
    expect(await take([day], { nowMs: endsAtMs - 1, boundsAtMs: NOON_MS })).toMatchObject({ 2: endsAtMs, 3: 5 });
    const next = await take([day], { nowMs: endsAtMs, boundsAtMs: NOON_MS });
    expect(next).toMatchObject({ 2: endsAtMs < MIDNIGHT_MS ? MIDNIGHT_MS : MIDNIGHT_MS + DAY_MS, 3: 1 });
  });
});

describe.each<[what: string, limits: readonly LimitSpec[]]>([
  ["alone", [day]],
  ["beside a window", [window, day]],
  ["beside every other kind", [log, slots, bucket, window, day]],
])("a calendar limit %s", (_what, limits) => {
  // The bounds of the day after, and those of two days before.
  it.each([MIDNIGHT_MS, NOON_MS - 2 * DAY_MS])(
    "does nothing under any flag if the clock is in neither of the periods around %i",
    async (boundsAtMs) => {
      await take(limits);
      const dump = () => Promise.all(keysOf(limits).map((one) => redis.dumpBuffer(one)));
      const before = await dump();
      expect(before.some((bytes) => bytes !== null)).toBe(true);
      for (const flag of Object.values(Flag)) {
        expect(await take(limits, { flag, boundsAtMs, nowMs: NOON_MS + 1 })).toEqual([NOON_MS + 1]);
        expect(await dump()).toEqual(before);
      }
      // No key comes into being either.
      key = `${key}:new`;
      expect(await take(limits, { boundsAtMs })).toEqual([NOON_MS]);
      expect(await redis.exists(...keysOf(limits))).toBe(0);
    },
  );
});

it("serves the whole of both periods, and not a millisecond more", async () => {
  const startsAtMs = MIDNIGHT_MS - DAY_MS;
  const asked = [
    startsAtMs - 1,
    startsAtMs,
    MIDNIGHT_MS - 1,
    MIDNIGHT_MS,
    MIDNIGHT_MS + DAY_MS - 1,
    MIDNIGHT_MS + DAY_MS,
  ];
  const replies = [];
  for (const nowMs of asked) {
    const [, , endsAtMs, count] = await take([day], { nowMs, boundsAtMs: NOON_MS });
    replies.push([endsAtMs, count]);
  }
  const nothing = [undefined, undefined];
  const [first, second] = [MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS];
  expect(replies).toEqual([nothing, [first, 1], [first, 2], [second, 1], [second, 2], nothing]);
});
