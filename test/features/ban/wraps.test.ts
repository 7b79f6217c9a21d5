// Bans of policies whose requests an instance decides by itself: it hears of a ban with the calls that it makes anyway.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Decision, memoryStore, type PolicyInput } from "../../../src/index.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../support/limiter.ts";

const S = 1_000;
const M = 60 * S;
/** More often than most things happen here: `shared` syncs after 1 to 2.4 times that. */
const SYNC_MS = S;

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));
const later = (ms: number) => vi.advanceTimersByTimeAsync(ms);

const POLICY: PolicyInput = {
  name: "api",
  limits: [{ algorithm: "fixed-window", limit: 20, window: "1h" }],
  ban: { after: 3, within: "10m", for: "2h" },
};
const WRAPPED = { leased: { consistency: "leased" }, shared: { consistency: "shared", sync: "1s" } } as const;
type Wrapped = keyof typeof WRAPPED;

/** A store in memory that is as far away as Redis, and instances that use it. */
function world(wrapped: Wrapped, more: Partial<PolicyInput> = {}) {
  const memory = memoryStore();
  const asked: TakeRequest[] = [];
  const state = { isDown: false };
  const store: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 250,
    async take(request, ...rest) {
      asked.push(request);
      if (state.isDown) throw new StoreError("OPEN");
      // Virtual time: the way there and back.
      await new Promise((resolve) => setTimeout(resolve, 1));
      return await memory.take(request, ...rest);
    },
  };
  const background = { waitUntil: () => {} };
  function instance(own: Partial<PolicyInput> = {}) {
    const policies = [{ ...POLICY, ...WRAPPED[wrapped], ...more, ...own }];
    const limiter = createLimiter({ policies, store: withIsolate(store), onDecision: [] });
    const take = async (times = 1, key = "ann"): Promise<string[]> => {
      const all: Decision[] = [];
      for (let i = 0; i < times; i++) {
        const taken = limiter.take("api", { key, background });
        await later(2);
        all.push(await taken);
      }
      return all.map((one) => `${one.policies.map(({ became }) => became).join()} by ${one.source}`);
    };
    return { limiter, take, background };
  }
  /** Bans a client through another instance, which decides strictly and has smaller numbers. */
  async function ban(key = "ann") {
    const limits = [{ algorithm: "fixed-window", limit: 1, window: "1h" }] as const;
    await instance({ consistency: "strict", sync: undefined, limits }).take(4, key);
    await later(S + 10);
  }
  return { instance, ban, asked, state, store };
}

const reportsIn = (asked: readonly TakeRequest[]) =>
  asked.filter(({ keys: [key], flag }) => flag === Flag.chargeAnyway && key!.key.endsWith("!ban") && key!.cost > 0);

describe.each(Object.keys(WRAPPED) as Wrapped[])("a ban under %s", (wrapped) => {
  it("begins by refusals that no store has seen", async () => {
    const { instance, asked } = world(wrapped);
    const here = instance();
    const answers = await here.take(26);
    expect(answers.filter((one) => one.startsWith("refused")).length).toBeGreaterThanOrEqual(3);
    await later(S + 10);
    expect(reportsIn(asked)).toHaveLength(1);
    const calls = asked.length;
    expect(await here.take(2)).toEqual(["banned by cache", "banned by cache"]);
    expect(asked).toHaveLength(calls);
  });

  it("is heard of with a call that is made anyway", async () => {
    const without = world(wrapped, { ban: undefined });
    const { instance, ban, asked } = world(wrapped);
    const [here, other] = [instance(), without.instance()];
    for (const one of [here, other]) {
      await one.take(3);
      await later(3 * SYNC_MS);
    }
    expect(asked.length).toBe(without.asked.length);
    await ban();
    asked.length = 0;
    let answers: string[] = [];
    // Units that it has leased go on.
    for (let i = 0; i < 20 && !answers.includes("banned by cache"); i++) {
      answers = await here.take();
      if (wrapped === "shared") await later(3 * SYNC_MS);
    }
    expect(answers).toEqual(["banned by cache"]);
    expect(asked.length).toBeLessThanOrEqual(wrapped === "shared" ? 3 : 2);
  });

  it("lasts while the store is down, and none begins then", async () => {
    const { instance, ban, state } = world(wrapped);
    const here = instance();
    await ban();
    await here.take(1);
    await later(3 * SYNC_MS);
    expect((await here.take())[0]).toMatch(/^banned/);
    await here.take(1, "bob");
    state.isDown = true;
    for (let outage = 0; outage < 2; outage++) {
      await later(10 * S);
      expect(await here.take()).toEqual(["banned by fallback"]);
      for (let i = 0; i < 60; i++) expect((await here.take(1, "bob"))[0]).not.toMatch(/^banned/);
      await later(20 * M);
      expect(await here.take()).toEqual(["banned by fallback"]);
      state.isDown = false;
      await later(10 * S);
      expect((await here.take())[0]).toMatch(/^banned/);
      state.isDown = true;
    }
    await later(2 * 60 * M);
    expect((await here.take())[0]).toMatch(/^charged/);
  });

  it("ends here when it is lifted elsewhere, as long after as a reply is trusted", async () => {
    const { instance, ban } = world(wrapped);
    const here = instance();
    await ban();
    await here.take(1);
    await later(3 * SYNC_MS);
    expect((await here.take())[0]).toMatch(/^banned/);
    const reset = instance().limiter.reset("api", { key: "ann" });
    await later(2);
    await reset;
    await later(5 * S);
    expect((await here.take())[0]).toMatch(/^charged/);
    expect((await here.take())[0]).toMatch(/^charged/);
  });

  it("shows in a peek, and in nothing that is not asked about it", async () => {
    const { instance, ban } = world(wrapped);
    const { limiter, take } = instance();
    const peek = async () => {
      const peeked = limiter.peek("api", { key: "ann" });
      await later(5);
      return await peeked;
    };
    await take(2);
    expect((await peek()).limits.map(({ limit }) => limit.id)).toEqual(["api"]);
    await ban();
    await later(3 * SYNC_MS);
    await take(20);
    await later(3 * SYNC_MS);
    expect((await peek()).limits.map(({ limit, admitted }) => [limit.id, admitted])).toEqual([
      ["api-ban", false],
      ["api", true],
    ]);
  });
});

it("is told with the first refusal of a leased limit that is used up, too", async () => {
  const { instance, ban } = world("leased", { limits: [{ algorithm: "fixed-window", limit: 1, window: "1h" }] });
  await ban();
  expect(await instance().take()).toEqual(["banned by redis"]);
});

it("does not begin by pauses of an instance that got few of the units to lease", async () => {
  const { instance, asked } = world("leased", { limits: [{ limit: 2_000, window: "10s" }] });
  const [here, elsewhere] = [instance(), instance({ consistency: "strict" })];
  await here.take(400);
  const peeked = elsewhere.limiter.peek("api", { key: "ann" });
  await later(2);
  const taken = elsewhere.limiter.take("api", { key: "ann", cost: (await peeked).remaining! - 60 });
  const answers = await here.take(400);
  expect((await taken).allowed).toBe(true);
  await later(S + 10);
  const paused = answers.filter((one) => one === "refused by lease").length;
  expect(paused).toBeGreaterThan(0);
  const reported = reportsIn(asked).flatMap(({ keys }) => keys.map(({ cost }) => cost));
  const refused = answers.filter((one) => one.startsWith("refused")).length;
  expect(reported.reduce((sum, cost) => sum + cost, 0)).toBe(refused - paused);
});

it("in shadow refuses nobody under shared, says whom it would refuse, and counts nothing meanwhile", async () => {
  const { instance, asked } = world("shared", {
    mode: "shadow",
    limits: [{ algorithm: "fixed-window", limit: 2, window: "10s" }],
  });
  const here = instance();
  await here.take(6);
  await later(5 * S);
  const calls = asked.length;
  expect(await here.take(3)).toEqual(new Array(3).fill("banned by shared"));
  expect(asked.length).toBe(calls);
  await later(10 * S);
  // Now the limit would admit.
  expect(await here.take()).toEqual(["banned by redis"]);
  expect(await here.take(3)).toEqual(new Array(3).fill("banned by shared"));
  await later(3 * SYNC_MS);
  const counts = instance({ consistency: "strict", sync: undefined }).limiter;
  const peeked = counts.peek("api", { key: "ann" });
  await later(2);
  expect((await peeked).shadow.map(({ limit, remaining }) => [limit.id, remaining])).toEqual([
    ["api-ban", 0],
    ["api", 2],
  ]);
  const reset = counts.reset("api", { key: "ann" });
  await later(2);
  await reset;
  await later(5 * S);
  expect((await here.take())[0]).toMatch(/^charged/);
});
