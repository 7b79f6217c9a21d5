// Calendar limits in the script alone: what parity does not try.

import { beforeEach, expect, it } from "vitest";
import { Kind } from "../../src/kernel/core/algorithm.ts";
import type { CalendarLimit } from "../../src/kernel/core/calendar.ts";
import { Flag } from "../../src/kernel/core/take.ts";
import { TAKE } from "../../src/kernel/store/redis/script.generated.ts";
import { keyRequest } from "../support/gateway/counter.ts";
import { encodeRow, idOf } from "../support/redis/records-codec.ts";
import { argsOf } from "../support/redis/script-call.ts";
import { redisWithKey } from "../support/redis/shared-redis.ts";

const DAY_MS = 86_400_000;
/** Noon of a day in UTC. */
const NOON_MS = 19_700 * DAY_MS + DAY_MS / 2;
const MIDNIGHT_MS = NOON_MS + DAY_MS / 2;
const day: CalendarLimit = { kind: Kind.calendar, limit: 9, window: "day", zone: "UTC", firstDay: 1 };

let { redis, key } = {} as ReturnType<typeof redisWithKey>;
beforeEach(() => {
  ({ redis, key } = redisWithKey());
});

async function take(nowMs: number, boundsAtMs = nowMs): Promise<number[]> {
  const request = { keys: [keyRequest(key, [day])], flag: Flag.take, atMs: nowMs };
  return (await redis.eval(TAKE.text, 1, key, ...argsOf(request, nowMs, boundsAtMs).map(String))) as number[];
}

it.each([NOON_MS + 1, MIDNIGHT_MS - 1, MIDNIGHT_MS + 1])(
  "an end that is ahead, and no end of this limit's periods (a zone was changed), is counted until: %i",
  async (endsAtMs) => {
    await redis.set(key, encodeRow([idOf(day), endsAtMs, 3]));
    expect(await take(NOON_MS)).toEqual([NOON_MS, idOf(day), endsAtMs, 4]);
    expect(await take(endsAtMs - 1, NOON_MS)).toMatchObject({ 2: endsAtMs, 3: 5 });
    const next = endsAtMs < MIDNIGHT_MS ? MIDNIGHT_MS : MIDNIGHT_MS + DAY_MS;
    expect(await take(endsAtMs, NOON_MS)).toMatchObject({ 2: next, 3: 1 });
  },
);
