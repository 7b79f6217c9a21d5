// What a look says of units that are reserved and not settled yet.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/config/policy-input.ts";
import { withIsolate } from "../../../src/isolate/isolate.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { memoryStore } from "../../../src/store/memory.ts";
import { type Store, StoreError } from "../../../src/store/store.ts";
import { recordingStore } from "../../support/redis/stores.ts";

/** Ten minutes past ten. */
const NOW_MS = Date.UTC(2026, 10, 22, 10, 10);
const MINUTE_MS = 60_000;

const day: LimitInput = { algorithm: "fixed-window", limit: 1_000, window: "1d" };
const calendar: LimitInput = { algorithm: "calendar", limit: 1_000, window: "day" };
const sliding: LimitInput = { limit: 1_000, window: "1m" };
const bucket: LimitInput = { algorithm: "token-bucket", limit: 1_000, window: "1m" };
const metered = (name: string, limits: LimitInput[]): PolicyInput => {
  return { name, key: ["global"], meter: { unit: "tokens" }, limits };
};

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

function setUp(...policies: PolicyInput[]) {
  const limiter = createLimiter({ policies, store: recordingStore() });
  /** What is reserved and left under each limit, by id. */
  const look = async () => {
    const { limits } = await limiter.peek(policies.map(({ name }) => ({ policy: name })));
    return Object.fromEntries(limits.map(({ limit, reserved, remaining }) => [limit.id, [reserved, remaining]]));
  };
  return { limiter, look };
}

it("tells what runs from what is spent, under every limit of a meter, and under no other limit", async () => {
  const { limiter, look } = setUp(metered("tokens", [day, calendar, sliding, bucket]), {
    ...{ name: "plain", key: ["global"], limits: [day] },
  });
  const all = (reserved: number, remaining: number) =>
    Object.fromEntries([1, 2, 3, 4].map((n) => [`tokens-${n}`, [reserved, remaining]]));
  expect(await look()).toEqual({ ...all(0, 1_000), plain: [undefined, 1_000] });
  const names = [{ policy: "tokens" }, { policy: "plain" }];
  const first = await limiter.reserve(names, { cost: 100 });
  const second = await limiter.reserve("tokens", { cost: 30 });
  expect(await look()).toEqual({ ...all(130, 870), plain: [undefined, 900] });
  await first.extend({ tokens: 50 });
  expect(await look()).toMatchObject(all(180, 820));
  await first.settle({ tokens: 120, plain: 100 });
  expect(await look()).toMatchObject(all(30, 850));
  await second.release();
  expect(await look()).toMatchObject(all(0, 880));
  expect((await limiter.take("tokens", { cost: 1 })).limits[0]).not.toHaveProperty("reserved");
});

it("says nothing of what was charged in an earlier period, nor of what is not used any more", async () => {
  const { limiter, look } = setUp(metered("tokens", [day, calendar, sliding]));
  vi.setSystemTime(Date.UTC(2026, 10, 22, 23, 59));
  await limiter.reserve("tokens", { cost: 100 });
  vi.setSystemTime(Date.UTC(2026, 10, 23, 0, 0, 30));
  await limiter.take("tokens", { cost: 7 });
  expect(await look()).toMatchObject({ "tokens-1": [0, 993], "tokens-2": [0, 993] });
  vi.setSystemTime(Date.UTC(2026, 10, 23, 0, 1));
  expect((await look())["tokens-3"]![0]).toBe(0);

  await limiter.reserve("tokens", { cost: 50 });
  await limiter.reset("tokens");
  expect((await look())["tokens-1"]).toEqual([0, 1_000]);
});

it("says of a window and a bucket only what they still count of a reservation", async () => {
  const { limiter, look } = setUp(metered("tokens", [sliding, bucket]));
  // Half a minute before a window's bucket ends.
  vi.setSystemTime(NOW_MS + 30_000);
  await limiter.reserve("tokens", { cost: 400 });
  // A quarter of the next bucket: three quarters of the reservation count. The token bucket has 750 more tokens.
  vi.setSystemTime(NOW_MS + 75_000);
  expect(await look()).toEqual({ "tokens-1": [300, 700], "tokens-2": [0, 1_000] });
  await limiter.take("tokens", { cost: 200 });
  expect(await look()).toEqual({ "tokens-1": [300, 500], "tokens-2": [0, 800] });

  await limiter.reserve("tokens", { cost: 100 });
  // The bucket refills by 50: it may be the reservation that is less.
  vi.setSystemTime(NOW_MS + 78_000);
  expect(await look()).toMatchObject({ "tokens-2": [50, 750] });
});

it("knows nothing of a reservation after a reset: what is used then was charged afterwards", async () => {
  const { limiter, look } = setUp(metered("tokens", [day]));
  const reservation = await limiter.reserve("tokens", { cost: 100 });
  await limiter.reset("tokens");
  await limiter.take("tokens", { cost: 30 });
  expect(await look()).toEqual({ tokens: [0, 970] });
  await reservation.extend({ tokens: 20 });
  expect(await look()).toEqual({ tokens: [20, 950] });
  await reservation.settle({ tokens: 120 });
  expect(await look()).toEqual({ tokens: [0, 950] });
});

it("keeps a bounded number of reservations of one key: the oldest look as if they were spent", async () => {
  const { limiter, look } = setUp(metered("tokens", [{ ...day, limit: 1_000_000 }]));
  for (let n = 0; n < 3_000; n++) await limiter.reserve("tokens", { cost: 1 });
  const [[reserved, remaining]] = Object.values(await look()) as [[number, number]];
  expect(remaining).toBe(997_000);
  expect(reserved).toBe(2_000);
});

it("takes what was never settled for spent after 10 minutes", async () => {
  const { limiter, look } = setUp(metered("tokens", [day]));
  await limiter.reserve("tokens", { cost: 100 });
  vi.setSystemTime(NOW_MS + 10 * MINUTE_MS - 1);
  expect(await look()).toEqual({ tokens: [100, 900] });
  vi.setSystemTime(NOW_MS + 10 * MINUTE_MS);
  expect(await look()).toEqual({ tokens: [0, 900] });
});

it("counts a key once that own counters and the store may both have charged", async () => {
  const memory = memoryStore();
  let isAway = true;
  const link: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      const reply = await memory.take(request);
      if (isAway) throw new StoreError("TIMEOUT");
      return reply;
    },
  };
  const limiter = createLimiter({ policies: [metered("tokens", [day])], store: withIsolate(link), onDecision() {} });
  const reserved = async () => (await limiter.peek("tokens")).limits[0]!.reserved;
  const reservation = await limiter.reserve("tokens", { cost: 100 });
  expect(reservation.decision.source).toBe("fallback");
  expect(await reserved()).toBe(100);
  isAway = false;
  await reservation.settle(40);
  expect(await reserved()).toBe(0);
});
