// Units that are charged before their cost is known, and settled afterwards.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../../src/kernel/config/policy-input.ts";
import type { Policy } from "../../../../src/kernel/core/policy.ts";
import { addCharge, type BookedCharge } from "../../../../src/kernel/limiter/settlement.ts";
import type { Charge, Settler } from "../../../../src/kernel/place/taker.ts";
import { memoryStore } from "../../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../../src/kernel/store/store.ts";
import type { Limiter, Take } from "../../../../src/limiter.ts";
import { remoteStore } from "../../../../src/stores/remote-store.ts";
import { splitStore } from "../../../../src/stores/split-store.ts";
import { createLimiter, limiterOf } from "../../../support/limiter.ts";
import { matchedBy } from "../../../support/matched.ts";
import { recordingStore } from "../../../support/redis/stores.ts";

const NOW_MS = 1_700_000_040_000;
const minute: LimitInput = { limit: 1_000, window: "1m", buckets: 6 };
const slots: LimitInput = { algorithm: "concurrency", limit: 2, timeout: "30s" };
const policy = (name: string, limits: LimitInput[], more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], limits, ...more };
};

function setUp(...policies: PolicyInput[]) {
  const store = recordingStore();
  const limiter = createLimiter({ policies, store });
  /** What is left under each limit, by id. */
  const left = async (): Promise<Record<string, number>> => {
    const { limits, shadow } = await limiter.peek(policies.map(({ name }) => ({ policy: name })));
    store.takes.pop();
    return Object.fromEntries([...limits, ...shadow].map(({ limit, remaining }) => [limit.id, remaining]));
  };
  return { limiter, left, takes: store.takes };
}

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

describe("settling", () => {
  it.each([
    [0, 1_000],
    [99, 901],
    [100, 900],
    [101, 899],
    [950, 50],
    [1_500, 0],
  ])("%i of 100 reserved units leaves %i, in at most one call more", async (used, remaining) => {
    const { limiter, left, takes } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens", { cost: 100 });
    expect(reservation.decision).toMatchObject({ allowed: true, remaining: 900 });
    expect(reservation.reserved).toEqual({ tokens: 100 });
    await reservation.settle(used);
    expect(takes).toHaveLength(used === 100 ? 1 : 2);
    expect(await left()).toEqual({ tokens: remaining });
  });

  it("charges, gives back and frees slots under several policies and keys in one call", async () => {
    const { limiter, left, takes } = setUp(
      policy("more", [minute, { ...minute, limit: 5_000, scope: "region" }]),
      policy("less", [minute, slots]),
      policy("same", [minute]),
      policy("flight", [slots]),
    );
    const names = ["more", "less", "same", "flight"];
    const reservation = await limiter.reserve(
      names.map((name) => ({ policy: name })),
      { cost: 10 },
    );
    await reservation.settle({ more: 25, less: 4 });
    expect(takes).toHaveLength(2);
    const full = { "more-1": 975, "more-2": 4_975, "less-1": 996, "less-2": 2, same: 990, flight: 2 };
    expect(await left()).toEqual(full);
  });

  it("frees a slot beside an excess of the same policy: in a call of its own, because no key is in one call twice", async () => {
    const { limiter, left, takes } = setUp(policy("both", [minute, slots]));
    await (await limiter.reserve("both", { cost: 10 })).settle(30);
    expect(takes).toHaveLength(3);
    expect(await left()).toEqual({ "both-1": 970, "both-2": 2 });
  });

  it.each<[string, LimitInput]>([
    ["instants of a log", { algorithm: "sliding-log", limit: 1_000, window: "1d" }],
    ["buckets of a window", { limit: 1_000, window: "1h", buckets: 60, oldest: "whole" }],
  ])("gives back any number of %s", async (_what, limit) => {
    const { limiter, left, takes } = setUp(policy("tokens", [limit]));
    const reservation = await limiter.reserve("tokens", { cost: 100 });
    for (let more = 0; more < 8; more++) {
      vi.setSystemTime(Date.now() + 60_000);
      expect((await reservation.extend({ tokens: 100 })).allowed).toBe(true);
    }
    await reservation.settle(50);
    expect(await left()).toEqual({ tokens: 950 });
    expect(takes).toHaveLength(9 + 9);
  });

  it("counts once: the first call stands, whichever it is", async () => {
    const { limiter, left, takes } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens", { cost: 100 });
    await Promise.all([reservation.settle(60), reservation.settle(10), reservation.release()]);
    await reservation.release();
    expect(takes).toHaveLength(2);
    expect(await left()).toEqual({ tokens: 940 });
  });

  it("charges what follows a reservation of nothing", async () => {
    const { limiter, left } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens", { cost: 0 });
    expect(reservation.reserved).toEqual({ tokens: 0 });
    await reservation.settle(70);
    expect(await left()).toEqual({ tokens: 930 });
  });

  it("takes more than 10^9 units for 10^9", async () => {
    const { limiter, takes } = setUp(policy("tokens", [minute]));
    await (await limiter.reserve("tokens", { cost: 1 })).settle(5e12);
    expect(takes[1]!.keys.map(({ cost }) => cost)).toEqual([999_999_999]);
  });

  it.each([[-1], [1.5], [Number.NaN], [Number.POSITIVE_INFINITY], [{ tokens: "5" }], [{ token: 5 }], [null]])(
    "rejects %j, and may be done again",
    async (used) => {
      const { limiter, left } = setUp(policy("tokens", [minute]));
      const reservation = await limiter.reserve("tokens", { cost: 100 });
      await expect(reservation.settle(used as number)).rejects.toThrow(TypeError);
      await reservation.settle(1);
      expect(await left()).toEqual({ tokens: 999 });
    },
  );

  it("wants the names of several policies, each once", async () => {
    const { limiter } = setUp(policy("a", [minute]), policy("b", [minute], { key: ["header:x"] }));
    const reservation = await limiter.reserve([{ policy: "a" }, { policy: "b", key: "ann" }]);
    await expect(reservation.settle(5)).rejects.toThrow("of a, b; found");
    const twice = limiter.reserve([
      { policy: "b", key: "ann" },
      { policy: "b", key: "bob" },
    ]);
    await expect(twice).rejects.toThrow("reserve: the same policy twice");
  });

  it("does nothing after a refusal, which holds nothing", async () => {
    const { limiter, left, takes } = setUp(policy("tokens", [minute]), policy("flight", [slots]));
    const reservation = await limiter.reserve([{ policy: "tokens", cost: 1_001 }, { policy: "flight" }]);
    expect([reservation.decision.allowed, reservation.reserved]).toEqual([false, {}]);
    await reservation.settle({ tokens: 700 });
    await expect(reservation.extend({ tokens: 1 })).rejects.toThrow("settled");
    expect(takes).toHaveLength(1);
    expect(await left()).toEqual({ tokens: 1_000, flight: 2 });
  });

  it("leaves a policy in shadow alone that refused, and settles one that admitted", async () => {
    const shadow = { mode: "shadow" } as const;
    const { limiter, left } = setUp(
      policy("tokens", [minute]),
      policy("small", [{ ...minute, limit: 50 }], shadow),
      policy("large", [minute], shadow),
    );
    const names = ["tokens", "small", "large"];
    const reservation = await limiter.reserve(
      names.map((name) => ({ policy: name })),
      { cost: 100 },
    );
    expect(reservation.reserved).toEqual({ tokens: 100, large: 100 });
    await reservation.settle({ tokens: 30, small: 30, large: 30 });
    expect(await left()).toEqual({ tokens: 970, small: 50, large: 970 });
  });
});

describe("extending", () => {
  it("charges more under all limits or none, and is settled with the rest", async () => {
    const { limiter, left, takes } = setUp(policy("tokens", [minute]), policy("few", [{ limit: 150, window: "1m" }]));
    const reservation = await limiter.reserve([{ policy: "tokens" }, { policy: "few" }], { cost: 100 });
    expect((await reservation.extend({ tokens: 50, few: 50 })).allowed).toBe(true);
    expect(reservation.reserved).toEqual({ tokens: 150, few: 150 });
    const refused = await reservation.extend({ tokens: 50, few: 1 });
    expect([refused.allowed, refused.limits.map(({ admitted }) => admitted)]).toEqual([false, [true, false]]);
    expect(reservation.reserved).toEqual({ tokens: 150, few: 150 });
    expect(await left()).toEqual({ tokens: 850, few: 0 });
    await reservation.settle({ tokens: 120, few: 20 });
    expect(takes).toHaveLength(4);
    expect(await left()).toEqual({ tokens: 880, few: 130 });
  });

  it("takes no second slot, and frees the first in the call that settles", async () => {
    const { limiter, left, takes } = setUp(policy("both", [minute, slots]), policy("flight", [{ ...slots, limit: 1 }]));
    const reservation = await limiter.reserve([{ policy: "both" }, { policy: "flight" }], { cost: 10 });
    expect((await reservation.extend({ both: 20, flight: 5 })).allowed).toBe(true);
    expect((await reservation.extend({ flight: 5 })).allowed).toBe(true);
    expect(await left()).toEqual({ "both-1": 970, "both-2": 1, flight: 0 });
    await reservation.settle({ both: 25 });
    expect(takes).toHaveLength(3);
    expect(await left()).toEqual({ "both-1": 975, "both-2": 2, flight: 1 });
  });

  it("gives back bucket by bucket, the newest first, in at most five calls", async () => {
    const { limiter, left, takes } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens", { cost: 100 });
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

  it("is one charge in one bucket: a long stream keeps no list", async () => {
    const settlerOf = (): Settler => ({ settle: async () => {}, renew: async () => true });
    const { limits } = setUp(policy("tokens", [minute])).limiter.policies[0]!;
    const charge = {
      receipt: { key: "k", group: 0, cost: 256, limits, atMs: NOW_MS },
      slot: 0,
      since: 0,
      by: settlerOf(),
    };
    const costsWith = (later: Partial<Charge>, atMs = NOW_MS) => {
      const all: BookedCharge[] = [];
      addCharge(all, { policy: "tokens", charge });
      addCharge(all, { policy: "tokens", charge: { ...charge, receipt: { ...charge.receipt, atMs }, ...later } });
      return all.map((one) => one.charge.receipt.cost);
    };
    expect(costsWith({}, NOW_MS + 1)).toEqual([512]);
    expect(costsWith({}, NOW_MS + 60_000)).toEqual([256, 256]);
    expect(costsWith({ by: settlerOf() })).toEqual([256, 256]);
  });

  it("is waited for by what settles, and ends with it", async () => {
    const { limiter, left } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens", { cost: 100 });
    const extended = reservation.extend({ tokens: 50 });
    await reservation.settle(120);
    expect(await left()).toEqual({ tokens: 880 });
    expect((await extended).allowed).toBe(true);
    await expect(reservation.extend({ tokens: 1 })).rejects.toThrow("settled");
  });

  it.each([[{ other: 1 }], [{ tokens: -1 }], [{ tokens: 2e9 }]])("rejects %j", async (more) => {
    const { limiter, takes } = setUp(policy("tokens", [minute]));
    const reservation = await limiter.reserve("tokens");
    await expect(reservation.extend(more as Record<string, number>)).rejects.toThrow(TypeError);
    expect(takes).toHaveLength(1);
  });
});

describe("over a chain", () => {
  const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
  const chain = [
    { policy: "plan", key: "ann", cost: 4 },
    { policy: "team", key: "acme", cost: 4 },
  ];
  const chained = (more: Partial<PolicyInput> = {}) =>
    createLimiter({
      policies: [
        { name: "plan", key: ["header:x-user"], limits: limits(5), overflow: "team", ...more },
        { name: "team", key: ["header:x-team"], limits: limits(20) },
        { name: "site", key: ["global"], limits: limits(100) },
      ],
      store: memoryStore(),
      onDecision() {},
    });
  const leftOf = async (limiter: Limiter) => [
    (await limiter.peek("plan", { key: "ann" })).remaining,
    (await limiter.peek("team", { key: "acme" })).remaining,
  ];

  it("extends and settles what the payer has reserved, by its name, and releases it", async () => {
    const limiter = chained();
    const [first, second, third] = [
      await matchedBy(limiter).reserve(chain),
      await matchedBy(limiter).reserve(chain),
      await matchedBy(limiter).reserve(chain),
    ];
    expect([first, second, third].map(({ reserved }) => reserved)).toEqual([{ plan: 4 }, { team: 4 }, { team: 4 }]);
    expect((await first!.extend({ plan: 1 })).allowed).toBe(true);
    expect((await first!.extend({ plan: 1 })).allowed).toBe(false);
    expect((await first!.extend({ team: 1 })).allowed).toBe(true);
    await first!.settle({ plan: 3 });
    await second!.settle({ team: 6 });
    expect(await leftOf(limiter)).toEqual([2, 10]);
    await third!.release();
    expect(await leftOf(limiter)).toEqual([2, 14]);
  });

  it("wants names beside another policy", async () => {
    const limiter = chained();
    const reservation = await matchedBy(limiter).reserve([...chain, { policy: "site", cost: 2 }]);
    await expect(reservation.settle(1)).rejects.toThrow(TypeError);
    await reservation.settle({ plan: 1, site: 1 });
    expect(await leftOf(limiter)).toEqual([4, 20]);
  });
});

describe("with a meter", () => {
  const meter = { unit: "tokens", maxOutput: 4_096, perImage: 1_000, onExceeded: "finish" } as const;
  const bucket: LimitInput = { algorithm: "token-bucket", limit: 1_000, window: "1m", burst: 80 };

  function metered(input: PolicyInput): { limiter: Limiter; take: Take } {
    const store = recordingStore();
    const { policies } = createLimiter({ policies: [input], store });
    const [one] = policies.map((policy): Policy => ({ ...policy, meter }));
    return {
      limiter: limiterOf([one!], { store }),
      take: { policy: one!, key: { kind: "global", values: [] }, cost: 0 },
    };
  }

  it.each<[string, LimitInput[], string | undefined, number, number]>([
    ["half of the smallest window", [minute, { limit: 301, window: "1d" }], undefined, 900, 150],
    ["half of a bucket's burst, because more can never pass", [bucket], undefined, 900, 40],
    ["half of the plan's number", [minute], "pro", 9_000, 3_000],
    ["nothing away from a small cost", [minute], undefined, 7, 7],
    ["nothing away from a look", [minute], undefined, 0, 0],
    ["at least 1", [{ limit: 1, window: "1m" }], undefined, 50, 1],
  ])("a cost is cut to %s", async (_what, limits, plan, cost, reserved) => {
    const plans = limits.length === 1 && limits[0] === minute ? { pro: { tokens: 6_000 } } : undefined;
    const { limiter, take } = metered(policy("tokens", limits, { ...(plans && { plans }) }));
    const reservation = await limiter.reserveMatched([{ ...take, cost, ...(plan && { plan }) }], () => "eu");
    expect(reservation.reserved).toEqual({ tokens: reserved });
  });
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

it("settles each place on its own when one was silent at the reservation", async () => {
  const stores = [recordingStore(), recordingStore()];
  let isAway = true;
  const silent: Store = {
    ...stores[1]!,
    take: (request) => (isAway ? Promise.reject(new StoreError("NETWORK", "READONLY")) : stores[1]!.take(request)),
  };
  const places = [stores[0]!, silent].map((one) => remoteStore({ ...one, kind: "far" }));
  const store = splitStore(places, (key) => (key.includes("{tokens:") ? 0 : 1));
  const limiter = createLimiter({
    policies: [policy("tokens", [minute]), policy("other", [minute])],
    store,
    onDecision() {},
  });
  const both = [{ policy: "tokens" }, { policy: "other" }];
  const works: Promise<unknown>[] = [];
  const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
  const reservation = await limiter.reserve(both, { cost: 100, background });
  expect(reservation.reserved).toEqual({ tokens: 100, other: 100 });
  await reservation.settle({ tokens: 130, other: 30 });
  isAway = false;
  await limiter.take(both, { cost: 0, background });
  await Promise.all(works);
  const { limits } = await limiter.peek(both);
  expect(limits.map(({ remaining }) => remaining)).toEqual([870, 970]);
});
