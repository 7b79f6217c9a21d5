// What an isolate tells its listener: calls to the store, and what became of each leased unit. In virtual time.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../../src/kernel/core/take.ts";
import type { LeaseEvent } from "../../../src/kernel/place/listener.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { farAsking, type Told } from "./asking.ts";

const START_MS = 1_700_000_000_000;
const KEY: KeyRequest = {
  key: "k",
  group: ENFORCED,
  cost: 1,
  limits: [{ kind: Kind.weighted, limit: 1_000, bucketMs: 60_000, buckets: 1 }],
};

/** An isolate whose store is 50 ms away, and what it has told. */
function listened() {
  const state = { lost: false };
  const calls: [outcome: string, ms: number][] = [];
  const units: Record<LeaseEvent, number> = { granted: 0, spent: 0, returned: 0, lapsed: 0 };
  const listener = {
    storeCall: (outcome: string, ms: number) => void calls.push([outcome, ms]),
    leaseUnits(_key: string, event: LeaseEvent, count: number) {
      units[event] += count;
    },
  };
  const seen = () => (state.lost ? new StoreError("NETWORK") : undefined);
  const { time, central, answers: replies } = farAsking({ startMs: START_MS, oneWayMs: 25, seen, listener });
  const background = { waitUntil() {} };
  const charged = async () => {
    const { keys } = await central.take({ keys: [{ ...KEY, cost: 0 }], flag: Flag.look }, time.nowMs());
    const { counts } = keys[0]![0]!.view as { counts: readonly number[] };
    return counts.reduce((sum, count) => sum + count, 0);
  };
  /** Makes takes over a time. */
  async function takes(count: number, ms: number): Promise<Told[]> {
    const startMs = time.nowMs();
    const taken: Promise<Told>[] = [];
    const take = () => taken.push(replies.take({ keys: [KEY], flag: Flag.take }, background));
    for (let i = 0; i < count; i++) time.at(startMs + (i * ms) / count, take);
    await time.runUntil(startMs + ms + 200);
    return await Promise.all(taken);
  }
  return { time, state, replies, calls, units, charged, takes };
}

it("tells each unit that was granted once more: as spent, or as returned", async () => {
  const { time, units, charged, takes } = listened();
  const answers = await takes(200, 2_000);
  expect(units.granted - units.spent).toBeGreaterThan(0);
  await time.runUntil(time.nowMs() + 19_000);
  expect(answers.every(({ reply }) => reply.allowed)).toBe(true);
  expect(units.spent).toBe(200);
  expect(units).toEqual({ granted: 200 + units.returned, spent: 200, returned: expect.any(Number), lapsed: 0 });
  expect(await charged()).toBe(200);
});

it("tells units that were lost as lapsed: by a reset, or because the store did not answer", async () => {
  const first = listened();
  await first.takes(50, 500);
  const inStock = first.units.granted - first.units.spent;
  const reset = first.replies.reset(["k"]);
  await first.time.runUntil(first.time.nowMs() + 1_000);
  await reset;
  expect(inStock).toBeGreaterThan(0);
  expect(first.units.lapsed).toBe(inStock);

  const second = listened();
  await second.takes(50, 500);
  second.state.lost = true;
  await second.time.runUntil(second.time.nowMs() + 19_000);
  const { granted, spent, returned, lapsed } = second.units;
  expect([spent + returned + lapsed, returned]).toEqual([granted, 0]);
});

it("takes back what it told as spent if the request is refused elsewhere", async () => {
  const { units, takes } = listened();
  const [answer] = await takes(1, 1);
  expect(units.spent).toBe(1);
  answer!.returnUnits!();
  expect(units.spent).toBe(0);
});

it("tells every call, how long it took, and why it had no answer", async () => {
  const { time, state, calls, replies } = listened();
  const look = async () => {
    const answer = replies.take({ keys: [KEY], flag: Flag.look }).catch(() => {});
    await time.runUntil(time.nowMs() + 100);
    await answer;
  };
  await look();
  state.lost = true;
  await look();
  expect(calls).toEqual([
    ["OK", 50],
    ["NETWORK", 50],
  ]);
});
