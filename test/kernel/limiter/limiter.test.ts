import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../support/limiter.ts";
import { recordingStore } from "../../support/redis/stores.ts";

const user: PolicyInput = { name: "user", key: ["ip"], limits: [{ limit: 5, window: "1m" }] };
const site: PolicyInput = { name: "site", key: ["global"], limits: [{ limit: 100, window: "1m" }] };
const mixed: PolicyInput = {
  name: "mixed",
  limits: [
    { limit: 30, window: "1m", scope: "region" },
    { limit: 20, window: "1h" },
    { limit: 10, window: "1s", scope: "region" },
  ],
};

// a minute begins
beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));

const limiterOf = (...policies: PolicyInput[]) => createLimiter({ policies, store: memoryStore() });

describe("take", () => {
  it("says how many units are left, and when to ask again", async () => {
    const limiter = limiterOf(user);
    const first = await limiter.take("user", { key: "42", cost: 3 });
    const { policies, limits, ...rest } = first;
    expect(policies).toEqual([{ policy: limits[0]!.policy, became: "charged", limits }]);
    const told = { allowed: true, source: "memory", remaining: 2, retryAfterMs: 0, resetAfterMs: 120_000 };
    expect(rest).toEqual({ outcome: "admitted", ...told, shadow: [] });
    expect(limits.map(({ limit, growsAfterMs }) => [limit.id, growsAfterMs])).toEqual([["user", 80_000]]);
    const second = await limiter.take("user", { key: "42", cost: 3 });
    expect(second).toMatchObject({ allowed: false, remaining: 2, retryAfterMs: 80_000 });
  });

  it("charges each policy its own cost, or that of the whole take", async () => {
    const limiter = limiterOf(user, site);
    const takes = [
      { policy: "user", key: "42" },
      { policy: "site", cost: 10 },
    ] as const;
    const { limits } = await limiter.take(takes, { cost: 2 });
    expect(limits.map(({ remaining }) => remaining)).toEqual([3, 90]);
  });

  it("lists the limits in the order of the policies and of their configuration, whatever their scopes", async () => {
    const limiter = limiterOf(user, mixed);
    const { limits, remaining } = await limiter.take([
      { policy: "mixed", key: "1" },
      { policy: "user", key: "1" },
    ]);
    expect(limits.map(({ limit, remaining }) => [limit.id, remaining])).toEqual([
      ["mixed-1", 29],
      ["mixed-2", 19],
      ["mixed-3", 9],
      ["user", 4],
    ]);
    expect(remaining).toBe(4);
  });
});

it("peek answers as a take of the same cost would, and charges nothing", async () => {
  const limiter = limiterOf(user, site);
  await limiter.take("user", { key: "42", cost: 3 });
  const peeked = [];
  for (const cost of [0, 2, 3, 6]) peeked.push(await limiter.peek("user", { key: "42", cost }));
  expect(peeked.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
    [true, 2],
    [true, 2],
    [false, 2],
    [false, 2],
  ]);
  expect(peeked[2]).toEqual(await limiter.take("user", { key: "42", cost: 3 }));
  expect(peeked[3]).not.toHaveProperty("retryAfterMs");
});

it("regions count on their own for limits with that scope, under keys that name them", async () => {
  const store = recordingStore();
  const limiter = createLimiter({ policies: [mixed], store, region: "eu", keySecret: "a secret of tests" });
  await limiter.take("mixed", { key: "42", cost: 5 });
  const { limits } = await limiter.take("mixed", { key: "42", cost: 5, region: "us" });
  expect(limits.map(({ remaining }) => remaining)).toEqual([25, 10, 5]);
  const keys = store.takes.map(({ keys }) => keys.map(({ key }) => key));
  const base = keys[0]![0]!;
  expect(base).toMatch(/^hg:2:\{mixed:[\w-]{22}\}$/);
  expect(keys).toEqual([
    [base, `${base}:eu`],
    [base, `${base}:us`],
  ]);
});

it("reset forgets the counts of this key, the global ones and those of the region", async () => {
  const limiter = createLimiter({ policies: [mixed], store: memoryStore(), region: "eu" });
  const remaining = async (key: string, region: string) =>
    (await limiter.peek("mixed", { key, region })).limits.map(({ remaining }) => remaining);
  await limiter.take("mixed", { key: "a", region: "eu" });
  await limiter.take("mixed", { key: "a", region: "us" });
  await limiter.take("mixed", { key: "b", region: "eu" });
  await limiter.reset("mixed", { key: "a" });
  expect(await remaining("a", "eu")).toEqual([30, 20, 10]);
  expect(await remaining("a", "us")).toEqual([29, 20, 9]);
  expect(await remaining("b", "eu")).toEqual([29, 19, 9]);
});

it.each([
  ["a policy that does not exist", "nobody", { key: "42" }, /no policy is named "nobody"/],
  ["no key", "user", {}, /policy user needs a key/],
  ["an empty key", "user", { key: "" }, /policy user needs a key/],
  ["a cost below 0", "user", { key: "42", cost: -1 }, /integer from 0 to 1000000000, found -1/],
  ["a cost that is no integer", "user", { key: "42", cost: 1.5 }, /found 1.5/],
  ["a cost that is no number", "user", { key: "42", cost: Number.NaN }, /found NaN/],
  ["a cost above 10^9", "user", { key: "42", cost: 1_000_000_001 }, /found 1000000001/],
  ["no policy at all", [], {}, /at least one policy/],
  ["the same policy and key twice", Array(2).fill({ policy: "user", key: "1" }), {}, /twice/],
] as const)("rejects %s with a TypeError, in take and peek", async (_what, policy, options, message) => {
  const limiter = limiterOf(user, site);
  for (const method of [limiter.take, limiter.peek]) {
    const error = await method(policy, options).catch((error) => error);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(message);
  }
});

// Every store takes 1,000 keys in one call: test/testing has the case of the suite.
it.each<[what: string, policy: PolicyInput, clients: number]>([
  ["1 key for each client", user, 1_000],
  ["a key for each scope", mixed, 500],
  ["a limit key too", { name: "log", limits: [{ algorithm: "sliding-log", limit: 5, window: "1m" }] }, 500],
])("takes 1,000 keys of the store and no more, and asks no store for more: %s", async (_what, policy, clients) => {
  const store = recordingStore();
  const limiter = createLimiter({ policies: [policy], store });
  const takes = Array.from({ length: clients + 1 }, (_, i) => ({ policy: policy.name!, key: `${i}` }));
  const isTooMany = /expected at most 1000 keys of the store in one take; found 100[12]/;
  for (const method of [limiter.take, limiter.peek, limiter.reset as unknown as typeof limiter.take]) {
    const error = await method(takes).catch((error) => error);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(isTooMany);
  }
  expect(store.takes).toEqual([]);
  expect(await limiter.take(takes.slice(1))).toMatchObject({ allowed: true });
});
