// Chains over a store in memory: who is asked, who pays, and what a live document changes.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { parsePolicies } from "../../../src/features/configuration.ts";
import type { LiveDocument } from "../../../src/features/live/document.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { AppliedPolicy, InsideLimiter } from "../../../src/limiter.ts";
import { createLimiter, limiterOf } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";

const NOW_MS = 1_700_000_040_000; // a minute begins

beforeEach(() => void vi.useFakeTimers({ now: NOW_MS, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const limits = (limit: number) => [{ algorithm: "fixed-window", limit, window: "1h" }] as const;
const plan: PolicyInput = { name: "plan", key: ["header:x-user"], limits: limits(2), overflow: "team" };
const team: PolicyInput = { name: "team", key: ["header:x-team"], limits: limits(3) };
const chain = [
  { policy: "plan", key: "ann" },
  { policy: "team", key: "acme" },
];

function limiterWith(...policies: PolicyInput[]) {
  const told: (readonly AppliedPolicy[])[] = [];
  const onDecision = (_: unknown, { takes }: { takes: readonly AppliedPolicy[] }) => void told.push(takes);
  const limiter = createLimiter({ policies, store: memoryStore(), onDecision });
  return { limiter, matched: matchedBy(limiter), told };
}

describe("a policy and its overflow", () => {
  it("pay one after the other, and the last refuses", async () => {
    const { limiter, told } = limiterWith(plan, team);
    const payers = [];
    for (let i = 0; i < 6; i++) payers.push((await matchedBy(limiter).take(chain)).paidBy);
    expect(payers).toEqual(["plan", "plan", "team", "team", "team", undefined]);
    expect(told[0]!.map(({ link, cost }) => ({ link, cost }))).toEqual([
      { link: 0, cost: 1 },
      { link: 1, cost: 1 },
    ]);
    expect((await limiter.peek([{ policy: "team", key: "acme" }])).remaining).toBe(0);
  });

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
    const { limiter } = limiterWith({ ...plan, limits: limits(1) }, { ...team, key: ["global"] });
    expect((await matchedBy(limiter).take([chain[0]!])).paidBy).toBe("plan");
    expect((await matchedBy(limiter).take([chain[0]!])).paidBy).toBe("team");
  });

  it("are ordinary policies by hand: the caller asks the next one", async () => {
    const { limiter, told } = limiterWith({ ...plan, limits: limits(1) }, team);
    const takeByHand = async () => {
      let decision = await limiter.take("plan", { key: "ann" });
      if (decision.outcome === "refused") decision = await limiter.take("team", { key: "acme" });
      return decision.limits.map(({ policy }) => policy.name);
    };
    expect([await takeByHand(), await takeByHand()]).toEqual([["plan"], ["team"]]);
    expect(told.map((takes) => takes.map(({ policy, link }) => [policy.name, link]))).toEqual([
      [["plan", undefined]],
      [["plan", undefined]],
      [["team", undefined]],
    ]);
    expect(await limiter.peek("team", { key: "acme" })).not.toHaveProperty("paidBy");
  });

  it("have the numbers of the client's plan, each by its own plans", async () => {
    const { limiter } = limiterWith(
      { ...plan, plans: { pro: { plan: 1 } } },
      { ...team, plans: { pro: { team: 2 }, big: { team: 9 } } },
    );
    const pro = { plan: "pro" };
    const payers = [];
    for (let i = 0; i < 4; i++) payers.push((await matchedBy(limiter).take(chain, pro)).paidBy);
    expect(payers).toEqual(["plan", "team", "team", undefined]);
    expect((await matchedBy(limiter).take([chain[0]!, { ...chain[1]!, plan: "big" }], pro)).paidBy).toBe("team");
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

describe("a live document", () => {
  async function liveLimiter(document: Partial<LiveDocument>): Promise<InsideLimiter> {
    const parsed = parsePolicies([plan, team], "policies");
    const live = memoryLive();
    const store = { ...memoryStore(), live };
    await live.write(JSON.stringify({ policies: {}, overrides: [], ...document }), 0);
    return limiterOf(parsed.mistakes ? [] : parsed.value, { store, liveRefreshMs: 1_000 });
  }
  const partitionOf = async (policy: string, key: string) => {
    const limiter = await liveLimiter({});
    return (await limiter.client(policy, { key })).partition;
  };
  const payersOf = async (limiter: InsideLimiter, count: number) => {
    const payers = [];
    for (let i = 0; i < count; i++) payers.push((await matchedBy(limiter).take(chain)).paidBy);
    return payers;
  };

  it("changes the numbers of an overflow in its chain, or of one client of it", async () => {
    const key = await partitionOf("team", "acme");
    const limits = { team: 1 };
    const overrides = [{ policy: "team", kind: "key", key, limits }];
    for (const document of [{ policies: { team: { limits } } }, { overrides }]) {
      expect(await payersOf(await liveLimiter(document), 4)).toEqual(["plan", "plan", "team", undefined]);
    }
  });

  it("cannot put a policy of a chain into shadow, nor exempt from an overflow", async () => {
    const key = await partitionOf("team", "acme");
    const limiter = await liveLimiter({
      policies: { plan: { mode: "shadow" }, team: { mode: "shadow" } },
      overrides: [{ policy: "team", kind: "key", key, exempt: true }],
    });
    expect(await payersOf(limiter, 6)).toEqual(["plan", "plan", "team", "team", "team", undefined]);
    expect(limiter.live!.view()!.ignored.map(({ path }) => path)).toEqual([
      "policies.plan.mode",
      "policies.team.mode",
      "overrides[0].exempt",
    ]);
  });

  it("leaves a reservation with who paid when it was made, whoever pays by a newer document", async () => {
    const counts = memoryStore();
    const live = memoryLive();
    const parsed = parsePolicies([plan, team], "policies").value!;
    const limiter = limiterOf(parsed, { store: { ...counts, live }, liveRefreshMs: 1_000 });
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
    const alone = limiterOf(parsePolicies(larger, "policies").value!, { store: counts });
    const left = async (policy: string, key: string) => (await alone.peek(policy, { key, cost: 0 })).remaining;
    expect([await left("plan", "ann"), await left("team", "acme")]).toEqual([17, 17]);
  });
});
