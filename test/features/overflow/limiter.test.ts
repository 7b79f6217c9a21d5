// Chains over a store in memory: who is asked, who pays, and what a live document changes.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter, limiterOf } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";
import { checkedPolicies } from "../live/policies.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));

const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
const plan: PolicyInput = { name: "plan", key: ["header:x-user"], limits: limits(2), overflow: "team" };
const team: PolicyInput = { name: "team", key: ["header:x-team"], limits: limits(3) };
const chain = [
  { policy: "plan", key: "ann" },
  { policy: "team", key: "acme" },
];

const matchedWith = (...policies: PolicyInput[]) => matchedBy(createLimiter({ policies, store: memoryStore() }));

describe("a policy and its overflow", () => {
  it("are told by the first of two waits that end at once, although the other is asked later", async () => {
    const memory = memoryStore();
    const take: typeof memory.take = (...asked) => {
      vi.setSystemTime(Date.now() + 12);
      return memory.take(...asked);
    };
    const limiter = createLimiter({ policies: [plan, team], store: { ...memory, take } });
    for (let i = 0; i < 5; i++) await matchedBy(limiter).take(chain);
    const { limits, retryAfterMs } = await matchedBy(limiter).take(chain);
    expect(limits.map(({ policy }) => policy.name)).toEqual(["plan"]);
    // The plan was asked by the ninth call, the team by the tenth.
    expect(NOW_MS + 9 * 12 + retryAfterMs!).toBe(NOW_MS - (NOW_MS % 3_600_000) + 3_600_000);
  });

  it("may leave out an overflow that has no key", async () => {
    const limiter = matchedWith({ ...plan, limits: limits(1) }, { ...team, key: ["global"] });
    expect((await limiter.take([chain[0]!])).paidBy).toBe("plan");
    expect((await limiter.take([chain[0]!])).paidBy).toBe("team");
  });

  it("have the numbers of the client's plan, each by its own plans", async () => {
    const limiter = matchedWith(
      { ...plan, plans: { pro: { plan: 1 } } },
      { ...team, plans: { pro: { team: 2 }, big: { team: 9 } } },
    );
    const pro = { plan: "pro" };
    const payers = [];
    for (let i = 0; i < 4; i++) payers.push((await limiter.take(chain, pro)).paidBy);
    expect(payers).toEqual(["plan", "team", "team", undefined]);
    expect((await limiter.take([chain[0]!, { ...chain[1]!, plan: "big" }], pro)).paidBy).toBe("team");
  });
});

it("what an isolate knows costs no attempt: a request with two chains is admitted as by one that knows nothing", async () => {
  const chainOf = (letter: string, ...numbers: number[]): PolicyInput[] =>
    numbers.map((number, i) => {
      const overflow = i + 1 < numbers.length && { overflow: `${letter}${i + 1}` };
      return { name: `${letter}${i}`, key: "global", limits: limits(number), ...overflow };
    });
  const store = { ...memoryStore(), kind: "redis" };
  const policies = [...chainOf("a", 1, 1, 1, 9), ...chainOf("b", 1, 9)];
  const isolate = () =>
    matchedBy(
      createLimiter({ policies, store: withIsolate(store), keySecret: "a secret of sixteen", onDecision() {} }),
    );
  const warm = isolate();
  for (const paidBy of ["a0", "a1", "a2", "a3"]) expect((await warm.take([{ policy: "a0" }])).paidBy).toBe(paidBy);
  await isolate().take([{ policy: "b0" }]);
  for (const one of [isolate(), warm]) {
    expect((await one.take([{ policy: "a0" }, { policy: "b0" }])).paidBy).toBe("a3, b1");
  }
});

it("a refusal that memory is sure of stands while the store is down, although only the store knows its wait", async () => {
  const memory = memoryStore();
  let isDown = false;
  const take: typeof memory.take = async (...asked) => {
    if (isDown) throw new StoreError("NETWORK");
    return await memory.take(...asked);
  };
  const allow = { onStoreFailure: "allow" } as const;
  const policies = [
    { ...plan, ...allow, limits: [{ limit: 5, window: "1h" }] } as const,
    { ...team, limits: limits(4) },
  ];
  const store = withIsolate({ ...memory, kind: "redis", take });
  const matched = matchedBy(createLimiter({ policies, store, onDecision() {} }));
  const twice = chain.map((one) => ({ ...one, cost: 2 }));
  const payers = [];
  for (let i = 0; i < 4; i++) payers.push((await matched.take(twice)).paidBy);
  expect(payers).toEqual(["plan", "plan", "team", "team"]);
  isDown = true;
  // The team's refusal is known with its wait. That of the plan has one unit left: others may use it.
  expect(await matched.take(twice)).toMatchObject({ outcome: "refused", source: "cache" });
});

it("a live document cannot put a policy of a chain into shadow, nor exempt from an overflow", async () => {
  const live = memoryLive();
  const store = { ...memoryStore(), live };
  const limiter = limiterOf(checkedPolicies([plan, team]), { store, liveRefreshMs: 1_000 });
  const { kind, partition: key } = await limiter.client("team", { key: "acme" });
  const policies = { plan: { mode: "shadow" }, team: { mode: "shadow" } };
  await live.write(JSON.stringify({ policies, overrides: [{ policy: "team", kind, key, exempt: true }] }), 0);
  const payers = [];
  for (let i = 0; i < 6; i++) payers.push((await matchedBy(limiter).take(chain)).paidBy);
  expect(payers).toEqual(["plan", "plan", "team", "team", "team", undefined]);
  const ignored = ["policies.plan.mode", "policies.team.mode", "overrides[0].exempt"];
  expect(limiter.live!.view()!.ignored.map(({ path }) => path)).toEqual(ignored);
});

it("a live document leaves a reservation with who paid when it was made, whoever pays by a newer document", async () => {
  const counts = memoryStore();
  const live = memoryLive();
  const limiter = limiterOf(checkedPolicies([plan, team]), { store: { ...counts, live }, liveRefreshMs: 1_000 });
  const matched = matchedBy(limiter);
  for (let i = 0; i < 2; i++) await matched.take(chain);
  // One will use more than it has reserved, the other less.
  const reservations = [await matched.reserve(chain), await matched.reserve(chain)];
  expect(reservations.map(({ reserved }) => reserved)).toEqual([{ team: 1 }, { team: 1 }]);
  const { partition: key } = await limiter.client("team", { key: "acme" });
  const policies = { plan: { limits: { plan: 9 } }, team: { limits: { team: 1 } } };
  const overrides = [{ policy: "team", kind: "key", key, block: true }];
  await live.write(JSON.stringify({ policies, overrides }), 0);
  await limiter.live!.refresh();
  expect((await matched.take(chain)).paidBy).toBe("plan");
  await reservations[0]!.settle({ team: 3 });
  await reservations[1]!.extend({ team: 1 });
  await reservations[1]!.settle({ team: 0 });
  const larger = [plan, team].map((one) => ({ ...one, limits: limits(20) }));
  const alone = limiterOf(checkedPolicies(larger), { store: counts });
  const left = async (policy: string, key: string) => (await alone.peek(policy, { key, cost: 0 })).remaining;
  expect([await left("plan", "ann"), await left("team", "acme")]).toEqual([17, 17]);
});
