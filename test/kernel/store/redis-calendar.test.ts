// Calendar limits on a real Redis whose clock is not this isolate's. Both clocks are set: `Date` is faked, and ARGV[1]
// of every call, which asks for the server's clock with 0, gets the instant that the test gives to the store. What else
// is sent and done is as in production.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { CalendarLimit, CalendarRecord } from "../../../src/kernel/core/calendar.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { redisPlace } from "../../../src/kernel/store/redis.ts";
import type { StoreError } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { sharedRedis } from "../../support/redis/shared-redis.ts";

const MINUTE_MS = 60_000;
/** The time budget of a call that comes late. */
const BUDGET_MS = 50;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const day: CalendarLimit = { kind: Kind.calendar, limit: 9, window: "day", zone: "America/Los_Angeles", firstDay: 1 };
/** The midnight in Los Angeles between 2026-11-23 and 24. No clock is changed around it. */
const MIDNIGHT_MS = Date.UTC(2026, 10, 24, 8);

/** Redis's clock, ms since the epoch. */
let storeMs: number;
/** Calls to the REST service. */
let calls: unknown[][];
let key: string;
/** Called before each call is sent. */
let beforeCall: () => void;

beforeEach(() => {
  [calls, key, beforeCall] = [[], `headgate-test:${randomUUID()}`, () => {}];
  const send = fetch;
  vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
    const body = JSON.parse(init.body as string) as unknown[];
    const now = 3 + Number(body[2]);
    beforeCall();
    if (/^eval/i.test(String(body[0])) && body[now] === 0) body[now] = storeMs;
    calls.push(body);
    return send(url, { ...init, body: JSON.stringify(body) });
  });
  vi.useFakeTimers({ toFake: ["Date"] });
  const redis = sharedRedis();
  onTestFinished(async () => {
    await redis.unlink(key);
  });
});

function open() {
  const store = redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 });
  /** A take with both clocks. Returns the end of the period that has counted it, the count, and the calls it took. */
  return async (clocks: { isolateMs: number; storeMs: number }, flag: Flag = Flag.take, atMs = 0) => {
    vi.setSystemTime(clocks.isolateMs);
    storeMs = clocks.storeMs;
    calls.length = 0;
    const reply = await store.take({ keys: [keyRequest(key, [day])], flag, atMs });
    const { endsAtMs, count } = reply.keys[0]![0]!.view as CalendarRecord;
    expect(reply.nowMs).toBe(storeMs);
    return { endsAtMs, count, calls: calls.length };
  };
}

/** The script is known before the test counts calls. */
async function warmed() {
  const take = open();
  await take({ isolateMs: MIDNIGHT_MS - 3 * DAY_MS, storeMs: MIDNIGHT_MS - 3 * DAY_MS });
  return take;
}

const BEFORE = [-1, -200, -59_000];
const AFTER = [0, 200, 59_000];

describe("a request around midnight is counted in the store's period, with one call", () => {
  const combinations = [...BEFORE, ...AFTER].flatMap((isolate) =>
    [...BEFORE, ...AFTER].map((store) => [isolate, store]),
  );
  it.each(combinations.filter(([isolate, store]) => Math.abs(isolate! - store!) <= MINUTE_MS))(
    "isolate %i ms, store %i ms from midnight",
    async (isolate, store) => {
      const take = await warmed();
      const endsAtMs = store! < 0 ? MIDNIGHT_MS : MIDNIGHT_MS + DAY_MS;
      const clocks = { isolateMs: MIDNIGHT_MS + isolate!, storeMs: MIDNIGHT_MS + store! };
      expect(await take(clocks)).toEqual({ endsAtMs, count: 1, calls: 1 });
      expect(await take(clocks)).toEqual({ endsAtMs, count: 2, calls: 1 });
    },
  );
});

it("an isolate that slept through two midnights asks again exactly once, and is right", async () => {
  const take = await warmed();
  await take({ isolateMs: MIDNIGHT_MS - HOUR_MS, storeMs: MIDNIGHT_MS - HOUR_MS });
  const asleep = { isolateMs: MIDNIGHT_MS - HOUR_MS, storeMs: MIDNIGHT_MS + DAY_MS + HOUR_MS };
  expect(await take(asleep)).toEqual({ endsAtMs: MIDNIGHT_MS + 2 * DAY_MS, count: 1, calls: 2 });
  expect(await take(asleep)).toEqual({ endsAtMs: MIDNIGHT_MS + 2 * DAY_MS, count: 2, calls: 1 });
  // It wakes up. What it has learned about Redis's clock holds no more.
  const awake = { isolateMs: asleep.storeMs, storeMs: asleep.storeMs };
  expect(await take(awake)).toEqual({ endsAtMs: MIDNIGHT_MS + 2 * DAY_MS, count: 3, calls: 2 });
  expect(await take(awake)).toEqual({ endsAtMs: MIDNIGHT_MS + 2 * DAY_MS, count: 4, calls: 1 });
});

it.each(Object.values(Flag))("asks again under flag %i too, and changes the counts once", async (flag) => {
  const take = await warmed();
  const inTime = { isolateMs: MIDNIGHT_MS, storeMs: MIDNIGHT_MS };
  await take(inTime);
  await take(inTime);
  const ahead = { isolateMs: MIDNIGHT_MS + 9 * DAY_MS, storeMs: MIDNIGHT_MS };
  const changed = { [Flag.take]: 3, [Flag.chargeAnyway]: 3, [Flag.giveBack]: 1, [Flag.look]: 2 }[flag];
  expect(await take(ahead, flag, MIDNIGHT_MS)).toEqual({ endsAtMs: MIDNIGHT_MS + DAY_MS, count: changed, calls: 2 });
});

it("gives up when Redis's clock jumps between both calls: nothing ran", async () => {
  const take = await warmed();
  beforeCall = () => {
    storeMs += 5 * DAY_MS;
  };
  const error = await take({ isolateMs: MIDNIGHT_MS, storeMs: MIDNIGHT_MS }).catch((thrown: StoreError) => thrown);
  expect(error).toMatchObject({ name: "StoreError", code: "REJECTED", notRun: true });
  expect(calls).toHaveLength(2);
});

it("asks again after its time budget too: the late answer is that of the second call, which alone has charged", async () => {
  const take = await warmed();
  await take({ isolateMs: MIDNIGHT_MS, storeMs: MIDNIGHT_MS });
  const send = fetch;
  vi.stubGlobal("fetch", async (url: string, init: RequestInit) => {
    const answer = await send(url, init);
    // In real time: the budget is a timer.
    await sleep(2 * BUDGET_MS);
    return answer;
  });
  const store = redisPlace({ url: inject("restUrl"), token: inject("restToken"), timeoutMs: BUDGET_MS });
  vi.setSystemTime(MIDNIGHT_MS + 9 * DAY_MS);
  calls.length = 0;
  const late = await store
    .take({ keys: [keyRequest(key, [day])], flag: Flag.take })
    .catch((error: StoreError) => error);
  expect(late).toMatchObject({ code: "TIMEOUT", notRun: false });
  const view = { endsAtMs: MIDNIGHT_MS + DAY_MS, count: 2 };
  expect(await (late as StoreError).timeout!.answer).toMatchObject({ allowed: true, keys: [[{ view }]] });
  expect(calls).toHaveLength(2);
});
