// An isolate at the end of a period of a calendar: what it remembers, leases, decides alone, owes and has reserved from
// before midnight must not count after it. The store's clock says when midnight is.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { type CalendarLimit, type CalendarRecord, calendar } from "../../../src/kernel/core/calendar.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { farAsking, type Told } from "./asking.ts";
import { farIsolate, farStore } from "./far-store.ts";
import { isolate, type Outcome, request, virtualStore } from "./isolates.ts";

const HOUR_MS = 3_600_000;
/** The midnight in Los Angeles between 2026-11-23 and 24, by the store's clock. */
const MIDNIGHT_MS = Date.UTC(2026, 10, 24, 8);
const day: LimitInput = { algorithm: "calendar", limit: 10, window: "day", zone: "America/Los_Angeles" };
const DAY: CalendarLimit = { kind: Kind.calendar, limit: 10, window: "day", zone: "America/Los_Angeles", firstDay: 1 };
const month: LimitInput = { algorithm: "fixed-window", limit: 100, window: "31d" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"] }));

/** An isolate whose clock is `behindMs` behind the store's. */
function setUp({ limits = [day], behindMs = 0 }: { behindMs?: number; limits?: LimitInput[] } = {}) {
  const far = farIsolate([{ name: "p", key: ["global"], limits }], farStore({ clockMs: behindMs }));
  /** Sets both clocks. @param afterMs from midnight on, by the store's clock. */
  return { ...far, at: (afterMs: number) => void vi.setSystemTime(MIDNIGHT_MS + afterMs - behindMs) };
}

const CLOCKS = [-30_000, 0, 30_000, 40 * HOUR_MS];

it("a refusal is remembered while it is before midnight by the latest instant of the store's clock, and no longer", () => {
  const limit = { ...DAY, limit: 1 };
  const keys = [{ key: "k", group: ENFORCED, cost: 1, limits: [limit] }];
  for (const offsetMs of CLOCKS) {
    const [store, one] = [virtualStore(), isolate(offsetMs)];
    const ask = (afterMs: number) => request(store, one, keys, MIDNIGHT_MS + afterMs, [0, 0]);
    const told = ({ reply }: Outcome) => {
      const { view, refused } = reply.keys[0]![0]!;
      return reply.nowMs + calendar.tell(view as CalendarRecord, limit, 1, refused, reply.nowMs).retryAfterMs!;
    };
    expect([ask(-1_000).reply.allowed, ask(-999).reply.allowed]).toEqual([true, false]);
    const known = Array.from({ length: 30 }, (_, i) => ask(i - 30));
    expect(known.filter(({ reply }) => reply.allowed)).toEqual([]);
    expect(known.map(told)).toEqual(Array(30).fill(MIDNIGHT_MS));
    // The last instants before midnight may be after it by the store's clock.
    const isLocal = known.map(({ local }) => local);
    expect([isLocal[0], isLocal.at(-1)]).toEqual([true, false]);
    expect(ask(0)).toMatchObject({ local: false, reply: { allowed: true } });
  }
});

it.each(CLOCKS)("alone, with a clock %i ms behind the store's, it counts anew from midnight on", async (behindMs) => {
  const { at, take, state } = setUp({ behindMs });
  at(-HOUR_MS);
  await take(6);
  state.failure = new StoreError("TIMEOUT");
  expect(await take(4)).toMatchObject({ allowed: true, source: "fallback" });
  at(-60_000);
  expect(await take()).toMatchObject({ allowed: false, source: "fallback" });
  at(1_000);
  expect(await take(10)).toMatchObject({ allowed: true, source: "fallback" });
  expect(await take()).toMatchObject({ allowed: false, source: "fallback" });
});

describe("units that were admitted without the store", () => {
  /** Admits one unit before midnight, and these without the store, which answers again at the last instant. */
  async function outage(limits: LimitInput[], admitted: readonly (readonly [afterMs: number, cost: number])[]) {
    const all = setUp({ limits });
    all.at(-2 * HOUR_MS);
    await all.take(1);
    all.state.failure = new StoreError("OPEN");
    for (const [afterMs, cost] of admitted) {
      all.at(afterMs);
      expect(await all.take(cost)).toMatchObject({ allowed: true, source: "fallback" });
    }
    all.state.failure = undefined;
    return all;
  }
  const before = [-HOUR_MS, 3] as const;
  const days = [-1, 0, 1, 2, 3, 4, 5].map((n) => [n * 24 * HOUR_MS + HOUR_MS, 2] as const);

  it.each([
    ["are not charged to the next period", [day], [before], [10]],
    ["are charged to it as far as they were admitted in it", [day], [before, [60_000, 2], [HOUR_MS, 1]], [10 - 2 - 1]],
    ["lose the oldest over several days, and none of the present", [day, month], days, [10 - 2, 100 - 1 - 4 * 2]],
  ] as const)("%s", async (_, limits, admitted, expected) => {
    const { at, take, left } = await outage([...limits], admitted);
    at(Math.max(0, admitted.at(-1)![0]));
    for (let i = 0; i < 9; i++) await take(0);
    expect(await left()).toEqual(expected);
  });

  it("are not charged to the next period either if the repayment was refused before", async () => {
    const { at, take, left, state } = await outage([day, month], [before]);
    state.failure = new StoreError("OPEN");
    state.fails = [Flag.chargeAnyway];
    await take(0);
    expect(await left()).toEqual([9, 99]);
    at(1);
    await take(2);
    state.failure = undefined;
    for (let i = 0; i < 3; i++) await take(0);
    expect(await left()).toEqual([8, 100 - 1 - 2 - 3]);
  });

  it("begin the isolate's own counts only in their period", async () => {
    const { at, take, state } = await outage([day], [before]);
    /** The store answers, but is told nothing. Then nothing reaches it. */
    const takeOne = async (afterMs: number) => {
      at(afterMs);
      Object.assign(state, { failure: new StoreError("OPEN"), fails: [Flag.chargeAnyway] });
      await take(1);
      state.fails = Object.values(Flag);
    };
    await takeOne(-HOUR_MS);
    // 1 and 1 are charged, and 3 are owed.
    expect(await take(6)).toMatchObject({ allowed: false, source: "fallback", remaining: 5 });
    await takeOne(HOUR_MS);
    expect(await take(10)).toMatchObject({ allowed: false, source: "fallback", remaining: 9 });
  });
});

it.each([
  ["before midnight", -1, 40, 960],
  ["after it with less", 1_000, 40, 1_000],
  ["after it with as much", 1_000, 100, 1_000],
  // The excess was used after midnight, as far as anybody knows.
  ["after it with more", 1_000, 130, 970],
])(
  "units that were reserved before midnight and settled %s go back only to their day",
  async (_, afterMs, used, left) => {
    const one = setUp({ limits: [{ ...day, limit: 1_000 }] });
    one.at(-1_000);
    const reservation = await one.limiter.reserve("p", { cost: 100 });
    expect(reservation.decision).toMatchObject({ allowed: true, remaining: 900 });
    one.at(afterMs);
    if (afterMs > 0) await one.take(50);
    await reservation.settle(used);
    expect(await one.left()).toEqual([afterMs > 0 ? left - 50 : left]);
  },
);

describe("units that were leased before midnight", () => {
  const limit = { ...DAY, limit: 100_000 };
  const key: KeyRequest = { key: "k", group: ENFORCED, cost: 1, limits: [limit] };
  const SECOND_MS = 1_000;

  it.each(CLOCKS)("are not spent after it, with a clock %i ms behind the store's", async (behindMs) => {
    const startMs = MIDNIGHT_MS - 3 * SECOND_MS;
    const { time, central, answers } = farAsking({ startMs, oneWayMs: 20, aheadMs: -behindMs });
    const background = { waitUntil() {} };
    const taken: { atMs: number; answer: Told }[] = [];
    for (let atMs = startMs; atMs < MIDNIGHT_MS + 3 * SECOND_MS; atMs += 2) {
      time.at(atMs, async () => {
        const answer = await answers.take({ keys: [key], flag: Flag.take }, background);
        taken.push({ atMs: time.nowMs(), answer });
      });
    }
    const countAt = async (atMs: number) => {
      const look = await central.take({ keys: [{ ...key, cost: 0 }], flag: Flag.look }, atMs);
      return (look.keys[0]![0]!.view as CalendarRecord).count;
    };
    await time.runUntil(MIDNIGHT_MS - 1);
    const before = taken.length;
    expect(await countAt(MIDNIGHT_MS - 1)).toBeGreaterThanOrEqual(before);
    await time.runUntil(MIDNIGHT_MS + 3 * SECOND_MS);
    // Whatever is answered after midnight is charged after it, apart from answers that were on their way.
    const after = taken.filter(({ atMs, answer }) => atMs >= MIDNIGHT_MS && answer.source === "lease");
    expect(after.length).toBeGreaterThan(1_000);
    expect(await countAt(MIDNIGHT_MS + 3 * SECOND_MS - 1)).toBeGreaterThanOrEqual(after.length);
    expect(taken.every(({ answer }) => answer.reply.allowed)).toBe(true);
    expect(taken.slice(0, before).filter(({ answer }) => answer.source === "lease").length).toBeGreaterThan(1_000);
  });
});
