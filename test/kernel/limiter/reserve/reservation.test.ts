// Units that are charged before their cost is known, and settled afterwards.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../../src/kernel/config/policy-input.ts";
import type { Policy } from "../../../../src/kernel/core/policy.ts";
import { addCharge, type BookedCharge } from "../../../../src/kernel/limiter/settlement.ts";
import type { Charge, Settler } from "../../../../src/kernel/place/taker.ts";
import { memoryStore } from "../../../../src/kernel/store/memory.ts";
import { remoteStore } from "../../../../src/stores/remote-store.ts";
import { splitStore } from "../../../../src/stores/split-store.ts";
import { createLimiter, limiterOf } from "../../../support/limiter.ts";
import { matchedBy } from "../../../support/matched.ts";
import { recordingStore } from "../../../support/redis/stores.ts";

const NOW_MS = 1_700_000_040_000;
const minute: LimitInput = { limit: 1_000, window: "1m", buckets: 6 };
const BUCKET: LimitInput = { algorithm: "token-bucket", limit: 1_000, window: "1m", burst: 80 };
const METER = { unit: "tokens", maxOutput: 4_096, perImage: 1_000, onExceeded: "finish" } as const;
const slots: LimitInput = { algorithm: "concurrency", limit: 2, timeout: "30s" };
const policy = (name: string, limits: LimitInput[], more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits, ...more };
};

/** A reservation of this cost under each of the policies, what is left under each limit, by id, and all takes. */
async function reserving(cost: number, ...policies: PolicyInput[]) {
  const store = recordingStore();
  const limiter = createLimiter({ policies, store });
  const names = policies.map(({ name }) => ({ policy: name }));
  const reservation = await limiter.reserve(names, { cost });
  const left = async (): Promise<Record<string, number>> => {
    const { limits, shadow } = await limiter.peek(names);
    store.takes.pop();
    return Object.fromEntries([...limits, ...shadow].map(({ limit, remaining }) => [limit.id, remaining]));
  };
  return { reservation, left, takes: store.takes };
}
const tokens = policy("tokens", [minute]);

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

describe("settling", () => {
  it.each([
    [100, 0, 1_000],
    [100, 99, 901],
    [100, 100, 900],
    [100, 101, 899],
    [100, 1_500, 0],
    [0, 70, 930],
  ])("of %i reserved units, %i used: leaves %i, in at most one call more", async (cost, used, remaining) => {
    const { reservation, left, takes } = await reserving(cost, tokens);
    expect(reservation.decision).toMatchObject({ allowed: true, remaining: 1_000 - cost });
    expect(reservation.reserved).toEqual({ tokens: cost });
    await reservation.settle(used);
    expect(takes).toHaveLength(used === cost ? 1 : 2);
    expect(await left()).toEqual({ tokens: remaining });
  });

  it("charges, gives back and frees slots under several policies and keys in one call", async () => {
    const { reservation, left, takes } = await reserving(
      10,
      policy("more", [minute, { ...minute, limit: 5_000, scope: "region" }]),
      policy("less", [minute, slots]),
      policy("same", [minute]),
      policy("flight", [slots]),
    );
    await reservation.settle({ more: 25, less: 4 });
    expect(takes).toHaveLength(2);
    const full = { "more-1": 975, "more-2": 4_975, "less-1": 996, "less-2": 2, same: 990, flight: 2 };
    expect(await left()).toEqual(full);
  });

  it("frees a slot beside an excess of the same policy: in a call of its own, because no key is in one call twice", async () => {
    const { reservation, left, takes } = await reserving(10, policy("both", [minute, slots]));
    await reservation.settle(30);
    expect(takes).toHaveLength(3);
    expect(await left()).toEqual({ "both-1": 970, "both-2": 2 });
  });

  it.each<[string, LimitInput]>([
    ["instants of a log", { algorithm: "sliding-log", limit: 1_000, window: "1d" }],
    ["buckets of a window", { limit: 1_000, window: "1h", buckets: 60, oldest: "whole" }],
  ])("gives back any number of %s", async (_what, limit) => {
    const { reservation, left, takes } = await reserving(100, policy("tokens", [limit]));
    for (let more = 0; more < 8; more++) {
      vi.setSystemTime(Date.now() + 60_000);
      expect((await reservation.extend({ tokens: 100 })).allowed).toBe(true);
    }
    await reservation.settle(50);
    expect(await left()).toEqual({ tokens: 950 });
    expect(takes).toHaveLength(9 + 9);
  });

  it("counts once: the first call stands, whichever it is", async () => {
    const { reservation, left, takes } = await reserving(100, tokens);
    await Promise.all([reservation.settle(60), reservation.settle(10), reservation.release()]);
    await reservation.release();
    expect(takes).toHaveLength(2);
    expect(await left()).toEqual({ tokens: 940 });
  });

  it("takes more than 10^9 units for 10^9", async () => {
    const { reservation, takes } = await reserving(1, tokens);
    await reservation.settle(5e12);
    expect(takes[1]!.keys.map(({ cost }) => cost)).toEqual([999_999_999]);
  });

  it.each([[-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], [{ tokens: "5" }], [{ token: 5 }], [null]])(
    "rejects %j, and may be done again",
    async (used) => {
      const { reservation, left } = await reserving(100, tokens);
      await expect(reservation.settle(used as number)).rejects.toThrow(TypeError);
      await reservation.settle(1);
      expect(await left()).toEqual({ tokens: 999 });
    },
  );

  it("wants the names of several policies, each once", async () => {
    const policies = [policy("a", [minute]), policy("b", [minute], { key: ["header:x"] })];
    const limiter = createLimiter({ policies, store: memoryStore() });
    const reservation = await limiter.reserve([{ policy: "a" }, { policy: "b", key: "ann" }]);
    await expect(reservation.settle(5)).rejects.toThrow("of a, b; found");
    const twice = ["ann", "bob"].map((key) => ({ policy: "b", key }));
    await expect(limiter.reserve(twice)).rejects.toThrow("reserve: the same policy twice");
  });

  it("does nothing after a refusal, which holds nothing", async () => {
    const { reservation, left, takes } = await reserving(1_001, tokens, policy("flight", [slots]));
    expect([reservation.decision.allowed, reservation.reserved]).toEqual([false, {}]);
    await reservation.settle({ tokens: 700 });
    await expect(reservation.extend({ tokens: 1 })).rejects.toThrow("settled");
    expect(takes).toHaveLength(1);
    expect(await left()).toEqual({ tokens: 1_000, flight: 2 });
  });

  it("leaves a policy in shadow alone that refused, and settles one that admitted", async () => {
    const [small, large] = [{ ...minute, limit: 50 }, minute].map((limit, i) => {
      return policy(i === 0 ? "small" : "large", [limit], { mode: "shadow" });
    });
    const { reservation, left } = await reserving(100, tokens, small!, large!);
    expect(reservation.reserved).toEqual({ tokens: 100, large: 100 });
    await reservation.settle({ tokens: 30, small: 30, large: 30 });
    expect(await left()).toEqual({ tokens: 970, small: 50, large: 970 });
  });
});

describe("extending", () => {
  it("charges more under all limits or none, and is settled with the rest", async () => {
    const { reservation, left, takes } = await reserving(100, tokens, policy("few", [{ limit: 150, window: "1m" }]));
    expect((await reservation.extend({ tokens: 50, few: 50 })).allowed).toBe(true);
    const refused = await reservation.extend({ tokens: 50, few: 1 });
    expect([refused.allowed, refused.limits.map(({ admitted }) => admitted)]).toEqual([false, [true, false]]);
    expect(reservation.reserved).toEqual({ tokens: 150, few: 150 });
    expect(await left()).toEqual({ tokens: 850, few: 0 });
    await reservation.settle({ tokens: 120, few: 20 });
    expect(takes).toHaveLength(4);
    expect(await left()).toEqual({ tokens: 880, few: 130 });
  });

  it("takes no second slot, and frees the first in the call that settles", async () => {
    const flight = policy("flight", [{ ...slots, limit: 1 }]);
    const { reservation, left, takes } = await reserving(10, policy("both", [minute, slots]), flight);
    expect((await reservation.extend({ both: 20, flight: 5 })).allowed).toBe(true);
    expect((await reservation.extend({ flight: 5 })).allowed).toBe(true);
    expect(await left()).toEqual({ "both-1": 970, "both-2": 1, flight: 0 });
    await reservation.settle({ both: 25 });
    expect(takes).toHaveLength(3);
    expect(await left()).toEqual({ "both-1": 975, "both-2": 2, flight: 1 });
  });

  it("gives back bucket by bucket, the newest first, in at most five calls", async () => {
    const { reservation, left, takes } = await reserving(100, tokens);
    for (let i = 1; i <= 6; i++) {
      vi.setSystemTime(NOW_MS + i * 5_000);
      await reservation.extend({ tokens: 10 });
    }
    takes.length = 0;
    await reservation.settle(95);
    // 20 units were charged in each of the buckets of 10, 20 and 30 s, but the last has only 10 yet.
    expect(takes.map(({ keys }) => keys.map(({ cost }) => cost))).toEqual([[10], [20], [20], [15]]);
    expect(await left()).toEqual({ tokens: 905 });
  });

  it("is one charge in one bucket: a long stream keeps no list", () => {
    const settlerOf = (): Settler => ({ settle: async () => {}, renew: async () => true });
    const { limits } = createLimiter({ policies: [tokens], store: memoryStore() }).policies[0]!;
    const receipt = { key: "k", group: 0, cost: 256, limits, atMs: NOW_MS };
    const charge = { receipt, slot: 0, since: 0, by: settlerOf() };
    const costsWith = (later: Partial<Charge>, atMs = NOW_MS) => {
      const all: BookedCharge[] = [];
      addCharge(all, { policy: "tokens", charge });
      addCharge(all, { policy: "tokens", charge: { ...charge, receipt: { ...receipt, atMs }, ...later } });
      return all.map((one) => one.charge.receipt.cost);
    };
    expect(costsWith({}, NOW_MS + 1)).toEqual([512]);
    expect(costsWith({}, NOW_MS + 60_000)).toEqual([256, 256]);
    expect(costsWith({ by: settlerOf() })).toEqual([256, 256]);
  });

  it("is waited for by what settles, and ends with it", async () => {
    const { reservation, left } = await reserving(100, tokens);
    const extended = reservation.extend({ tokens: 50 });
    await reservation.settle(120);
    expect(await left()).toEqual({ tokens: 880 });
    expect((await extended).allowed).toBe(true);
    await expect(reservation.extend({ tokens: 1 })).rejects.toThrow("settled");
  });

  it.each([[{ other: 1 }], [{ tokens: -1 }], [{ tokens: 2e9 }]])("rejects %j", async (more) => {
    const { reservation, takes } = await reserving(1, tokens);
    await expect(reservation.extend(more as Record<string, number>)).rejects.toThrow(TypeError);
    expect(takes).toHaveLength(1);
  });
});

it("over a chain extends, settles and releases what the payer has reserved, by its name", async () => {
  const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
  const policies: PolicyInput[] = [
    { name: "plan", key: ["header:x-user"], limits: limits(5), overflow: "team" },
    { name: "team", key: ["header:x-team"], limits: limits(20) },
    { name: "site", key: ["global"], limits: limits(100) },
  ];
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision() {} });
  const chain = [
    { policy: "plan", key: "ann", cost: 4 },
    { policy: "team", key: "acme", cost: 4 },
  ];
  const left = async () => [
    (await limiter.peek("plan", { key: "ann" })).remaining,
    (await limiter.peek("team", { key: "acme" })).remaining,
  ];
  const [first, second, third] = [
    await matchedBy(limiter).reserve(chain),
    await matchedBy(limiter).reserve(chain),
    await matchedBy(limiter).reserve([...chain, { policy: "site", cost: 2 }]),
  ];
  expect([first, second, third].map(({ reserved }) => reserved)).toEqual([
    { plan: 4 },
    { team: 4 },
    { team: 4, site: 2 },
  ]);
  expect((await first.extend({ plan: 1 })).allowed).toBe(true);
  expect((await first.extend({ plan: 1 })).allowed).toBe(false);
  expect((await first.extend({ team: 1 })).allowed).toBe(true);
  await first.settle({ plan: 3 });
  await second.settle({ team: 6 });
  expect(await left()).toEqual([2, 10]);
  await expect(third.settle(1)).rejects.toThrow(TypeError);
  await third.release();
  expect(await left()).toEqual([2, 14]);
});

it.each<[string, LimitInput[], string | undefined, number, number]>([
  ["half of the smallest window", [minute, { limit: 301, window: "1d" }], undefined, 900, 150],
  ["half of a bucket's burst, because more can never pass", [BUCKET], undefined, 900, 40],
  ["half of the plan's number", [minute], "pro", 9_000, 3_000],
  ["nothing away from a small cost", [minute], undefined, 7, 7],
  ["nothing away from a look", [minute], undefined, 0, 0],
  ["at least 1", [{ limit: 1, window: "1m" }], undefined, 50, 1],
])("with a meter, a cost is cut to %s", async (_what, limits, plan, cost, reserved) => {
  const store = memoryStore();
  const { policies } = createLimiter({
    policies: [policy("tokens", limits, plan === undefined ? {} : { plans: { [plan]: { tokens: 6_000 } } })],
    store,
  });
  const one: Policy = { ...policies[0]!, meter: METER };
  const take = { policy: one, key: { kind: "global", values: [] }, cost, ...(plan !== undefined && { plan }) };
  const reservation = await limiterOf([one], { store }).reserveMatched([take], () => "eu");
  expect(reservation.reserved).toEqual({ tokens: reserved });
});

it.each<[string, Readonly<Record<string, number>>, number]>([
  ["back", { first: 0 }, 1_000],
  ["more", { first: 130 }, 870],
  ["what is as it was", { first: 100 }, 900],
  ["what nobody has reserved", { other: 5 }, 900],
])("settles some policies first: %s. The others are settled later, with the slots", async (_what, used, left) => {
  const names = ["first", "later"];
  const limiter = createLimiter({
    policies: [policy("first", [minute, slots]), policy("later", [minute])],
    store: memoryStore(),
  });
  const { reserve, peek } = matchedBy(limiter);
  const takes = names.map((name) => ({ policy: name, cost: 100 }));
  const reservation = await reserve(takes);
  const remaining = async () => (await peek(takes)).limits.map((one) => one.remaining);
  await reservation.settleFirst(used);
  expect(await remaining()).toEqual([left, 1, 900]);
  await reservation.settle({ first: 700, later: 30 });
  const wasFirst = used.first !== undefined;
  expect(await remaining()).toEqual([wasFirst ? left : 300, 2, 970]);
  await reservation.settleFirst({ later: 0 });
});

it("settles in every place, however many they are", async () => {
  const stores = Array.from({ length: 7 }, recordingStore);
  const names = stores.map((_, i) => `p${i}`);
  const store = splitStore(
    stores.map((one) => remoteStore({ ...one, kind: "far" })),
    (key) => Number(/\{p(\d)/.exec(key)![1]),
  );
  const limiter = createLimiter({ policies: names.map((name) => policy(name, [minute])), store });
  const reservation = await limiter.reserve(
    names.map((name) => ({ policy: name })),
    { cost: 50 },
  );
  await reservation.settle(Object.fromEntries(names.map((name, i) => [name, 45 + i])));
  // The place of 50 has nothing to settle.
  expect(stores.map(({ takes }) => takes.length)).toEqual([2, 2, 2, 2, 2, 1, 2]);
  const { limits } = await limiter.peek(names.map((name) => ({ policy: name })));
  expect(limits.map(({ remaining }) => remaining)).toEqual([955, 954, 953, 952, 951, 950, 949]);
});
