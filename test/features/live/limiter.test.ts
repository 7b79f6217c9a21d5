// A limiter over a far store that keeps a live document: what operators change is in force, and counts are kept.

import { describe, expect, it, vi } from "vitest";
import { allFeatures } from "../../../src/features/index.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { type InsideLimiter, namedKey } from "../../../src/limiter.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter, limiterOf } from "../../support/limiter.ts";
import { recordingStore } from "../../support/redis/stores.ts";
import { checkedPolicies } from "./policies.ts";

/** So long that no window ends during a test. */
const MONTH = "31d";
const INPUT: readonly PolicyInput[] = [
  { name: "api", limits: [{ limit: 3, window: MONTH }] },
  { name: "login", limits: [{ algorithm: "fixed-window", limit: 2, window: MONTH }] },
  { name: "leased", consistency: "leased", limits: [{ algorithm: "fixed-window", limit: 1_000, window: MONTH }] },
  {
    name: "shared",
    consistency: "shared",
    sync: "100ms",
    limits: [{ algorithm: "fixed-window", limit: 1_000, window: MONTH }],
  },
  { name: "planned", plans: { free: { planned: 1 }, pro: { planned: 6 } }, limits: [{ limit: 3, window: MONTH }] },
  { name: "slots", limits: [{ algorithm: "concurrency", limit: 1 }] },
];
const POLICIES = checkedPolicies(INPUT);
const background = { waitUntil() {} };

/** A far store with a document, and any number of isolates over it. */
function gateway() {
  vi.spyOn(console, "warn").mockImplementation(() => {});
  const central = recordingStore();
  const live = memoryLive();
  const far: Store = { ...central, kind: "far", keySecret: "secret", live };
  let document: { policies: Record<string, object>; overrides: object[] } = { policies: {}, overrides: [] };
  let version = 0;
  const decisions: Decision[] = [];
  const isolate = (store: Store = remoteStore(far)): InsideLimiter =>
    limiterOf(POLICIES, {
      store,
      liveRefreshMs: 30_000,
      onDecision: (decision) => decisions.push(decision),
    });
  const own = isolate();

  async function write(changed: Partial<typeof document>) {
    document = { ...document, ...changed };
    version = (await live.write(JSON.stringify(document), version))!;
    await own.live!.refresh();
  }
  return {
    far,
    live,
    isolate,
    decisions,
    takes: central.takes,
    limiter: own,
    /** Takes as the client Ann. */
    take: (policy: string, cost = 1) => own.take(policy, { key: "ann", cost, background }),
    policies: (policies: Record<string, object>) => write({ policies }),
    /** Gives Ann an override under a policy, and removes her others. */
    async override(policy: string, effect?: object) {
      const { kind, partition: key } = await own.client(policy, { key: "ann" });
      await write({ overrides: effect ? [{ policy, kind, key, ...effect }] : [] });
    },
  };
}

type Gateway = ReturnType<typeof gateway>;

/** How many of so many takes are admitted. */
async function admitted({ take }: Gateway, policy: string, takes: number): Promise<number> {
  let allowed = 0;
  for (let i = 0; i < takes; i++) if ((await take(policy)).allowed) allowed++;
  return allowed;
}

describe("a block", () => {
  it("refuses without a call of the store, in a cold isolate with its first request", async () => {
    const one = gateway();
    await one.override("api", { block: true });
    const calls = one.takes.length;
    const cold = one.isolate();
    const policies = [{ policy: expect.objectContaining({ name: "api" }), became: "blocked", limits: [] }];
    const none = { policies, limits: [], shadow: [] };
    const refusal = { outcome: "blocked", allowed: false, source: "live", blocked: true, ...none };
    expect(await cold.take("api", { key: "ann" })).toEqual(refusal);
    expect(await cold.peek("api", { key: "ann" })).toEqual(refusal);
    expect(one.takes.length).toBe(calls);
    expect(one.decisions).toEqual([refusal, refusal]);
    expect((await cold.take("api", { key: "bob" })).allowed).toBe(true);
  });

  it("refuses before a body is read, as counts do that the isolate remembers, in policies that are in force", async () => {
    const one = gateway();
    const early = async (name: string) => {
      const policy = POLICIES.find((each) => each.name === name)!;
      const take = { policy, key: namedKey("ann"), cost: 1, atLeast: 1 };
      const [calls, decisions] = [one.takes.length, one.decisions.length];
      const decision = await one.limiter.refuseMatched([take], () => "eu", background);
      expect([one.takes.length - calls, one.decisions.length - decisions]).toEqual([0, decision ? 1 : 0]);
      return decision?.outcome;
    };
    await one.override("api", { block: true });
    expect([await early("api"), await early("login")]).toEqual(["blocked", undefined]);
    await one.override("api");
    for (let i = 0; i < 4; i++) await one.take("api");
    expect(await early("api")).toBe("refused");
    await one.override("api", { exempt: true });
    expect(await early("api")).toBeUndefined();
    await one.override("api");
    await one.policies({ api: { mode: "shadow" } });
    expect(await early("api")).toBeUndefined();
    await one.policies({});
    expect(await early("api")).toBe("refused");
    // What its isolate admits by itself is not refused.
    await one.take("leased");
    expect(await early("leased")).toBeUndefined();
    await one.take("shared");
    expect(await early("shared")).toBeUndefined();
  });
});

it("raises and lowers a number, and keeps the counts", async () => {
  const one = gateway();
  expect(await admitted(one, "api", 5)).toBe(3);
  await one.policies({ api: { limits: { api: 5 } } });
  const raised = await one.take("api");
  expect([raised.allowed, raised.remaining, raised.limits[0]!.limit.limit]).toEqual([true, 1, 5]);
  // The remembered refusal was about another number.
  await one.policies({ api: { limits: { api: 4 } } });
  expect(await admitted(one, "api", 5)).toBe(0);
  await one.policies({ api: { limits: { api: 6 } } });
  expect(await admitted(one, "api", 5)).toBe(2);
  await one.policies({});
  expect((await one.take("api")).limits[0]!.limit.limit).toBe(3);
});

describe("a leased policy", () => {
  // A lease is known by its key alone (src/kernel/place/leases): plans bring its numbers into it. Then this holds.
  it("spends no units that were leased under a larger number", async () => {
    const one = gateway();
    expect(await admitted(one, "leased", 20)).toBe(20);
    await one.override("leased", { limits: { leased: 21 } });
    // Units in stock are charged: at most the number may be handed out.
    expect(await admitted(one, "leased", 30)).toBeLessThanOrEqual(1);
  });
});

it("has the numbers for all, then those of the plan, then those of the program, then those of the override", async () => {
  const one = gateway();
  const numberOf = async (own: object = {}) => {
    return (await one.limiter.peek("planned", { key: "ann", ...own })).limits[0]!.limit.limit;
  };
  await one.policies({ planned: { limits: { planned: 5 } } });
  expect([await numberOf(), await numberOf({ plan: "pro" }), await numberOf({ limits: { planned: 2 } })]).toEqual([
    5, 6, 2,
  ]);
  await one.override("planned", { plan: "pro" });
  // An operator's plan comes before the request's.
  expect([await numberOf(), await numberOf({ plan: "free" })]).toEqual([6, 6]);
  await one.override("planned", { plan: "free", factor: 4 });
  expect(await numberOf({ plan: "pro" })).toBe(4);
  await one.override("planned", { limits: { planned: 9 } });
  expect(await numberOf({ plan: "pro", limits: { planned: 2 } })).toBe(9);
  await one.override("planned");
  expect(await numberOf({ plan: "pro" })).toBe(6);
});

describe("createLimiter with live", () => {
  it("refuses a store without a document", () => {
    const { far } = gateway();
    const { live: _, ...without } = far;
    for (const store of [without, remoteStore(without)]) {
      expect(() => createLimiter({ policies: INPUT, store, features: allFeatures() })).toThrow(
        /live\(\) needs a store that keeps/,
      );
    }
  });
});

it("reads the document of the first of several places", async () => {
  const [first, second] = [gateway(), gateway()];
  const text = (limit: number) => JSON.stringify({ policies: { api: { limits: { api: limit } } }, overrides: [] });
  await first.live.write(text(1), 0);
  await second.live.write(text(2), 0);
  const store = splitStore([remoteStore(first.far), remoteStore(second.far)], () => 1);
  const decision = await first.isolate(store).take("api", { key: "ann" });
  expect(decision.limits[0]!.limit.limit).toBe(1);
  expect([first.takes.length, second.takes.length]).toEqual([0, 1]);
});

// A Worker opens six connections at once: a call that is made first is not held up by a read that nobody waits for.
describe("a request makes its own calls before it reads a newer document", () => {
  const ann = { key: "ann", background };
  const early = (limiter: InsideLimiter, name: string) => {
    const policy = limiter.policies.find((one) => one.name === name)!;
    return { policy, key: namedKey("ann"), cost: 1, atLeast: 1 };
  };

  it.each<[string, string[], (limiter: InsideLimiter) => Promise<unknown>]>([
    ["strict", ["take", "read"], (limiter) => limiter.take("api", ann)],
    ["a reservation", ["take", "read"], (limiter) => limiter.reserve("api", ann)],
    [
      "over two places",
      ["take", "take", "read"],
      (limiter) =>
        limiter.take(
          ["api", "login"].map((policy) => ({ policy, key: "ann" })),
          { background },
        ),
    ],
    [
      "one that is looked at before its body is read",
      ["take", "read"],
      async (limiter) => {
        await limiter.refuseMatched([early(limiter, "api")], () => "eu", background);
        await limiter.reserveMatched([early(limiter, "api")], () => "eu", background);
      },
    ],
    ["blocked: it has no call of its own", ["read"], (limiter) => limiter.take("slots", { key: "bob", background })],
    [
      "blocked before its body is read",
      ["read"],
      (limiter) =>
        limiter.refuseMatched([{ ...early(limiter, "slots"), key: namedKey("bob") }], () => "eu", background),
    ],
  ])("%s", async (_what, expected, request) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const one = gateway();
    const calls: string[] = [];
    const recorded = ({ live, ...store }: Store): Store => ({
      ...store,
      take(...asked) {
        calls.push("take");
        return store.take(...asked);
      },
      live: {
        ...live!,
        read(...asked) {
          calls.push("read");
          return live!.read(...asked);
        },
      },
    });
    const places = [one.far, gateway().far].map((far) => remoteStore(recorded(far)));
    const limiter = one.isolate(splitStore(places, (key) => (key.includes("login") ? 1 : 0)));
    const { kind, partition: key } = await limiter.client("slots", { key: "bob" });
    await one.live.write(JSON.stringify({ policies: {}, overrides: [{ policy: "slots", kind, key, block: true }] }), 0);
    await limiter.live!.refresh();
    calls.length = 0;
    // Longer than the longest interval, and short enough that no request waits for the document.
    vi.setSystemTime(Date.now() + 34_000);
    await request(limiter);
    expect(calls).toEqual(expected);
  });
});

describe("a reservation", () => {
  it("does not ask and does not settle what the client is exempt from", async () => {
    const { override, limiter, takes } = gateway();
    await override("api", { exempt: true });
    takes.length = 0;
    const both = ["api", "login"].map((policy) => ({ policy, key: "ann", cost: 2 }));
    const reservation = await limiter.reserve(both);
    expect(reservation.reserved).toEqual({ login: 2 });
    await reservation.settle({ api: 3, login: 1 });
    expect(takes.map(({ keys }) => keys.length)).toEqual([1, 1]);
    expect((await limiter.peek("login", { key: "ann" })).remaining).toBe(1);
  });
});
