// A ban over a store in memory, on a clock that stands still.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { type Decision, type LimiterOptions, memoryStore, type PolicyInput } from "../../../src/index.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import type { DecisionContext } from "../../../src/kernel/limiter/on-decision.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../support/limiter.ts";

const S = 1_000;
const M = 60 * S;
const BAN = { after: 3, within: "10m", for: ["10m", "1h"] } as const;
const POLICY: PolicyInput = { name: "api", limits: [{ limit: 2, window: "1m" }], ban: BAN };

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));

function limiterWith(policy: Partial<PolicyInput> = {}, options: Partial<LimiterOptions> = {}) {
  const store = memoryStore();
  const asked: TakeRequest[] = [];
  const noted: Store = {
    ...store,
    take(request, ...more) {
      asked.push(request);
      return store.take(request, ...more);
    },
  };
  const decisions: [Decision, DecisionContext][] = [];
  const limiter = createLimiter({
    policies: [{ ...POLICY, ...policy }],
    store: noted,
    onDecision: (...told) => decisions.push(told),
    ...options,
  });
  return { limiter, asked, decisions };
}

/** What has been reported: the refusals of each call. */
function reportsIn(asked: readonly TakeRequest[]): number[] {
  return asked.filter(({ flag }) => flag === Flag.chargeAnyway).flatMap(({ keys }) => keys.map(({ cost }) => cost));
}

type Tried = ReturnType<typeof limiterWith>["limiter"];
async function takes(limiter: Tried, times: number, key = "ann"): Promise<Decision[]> {
  const all: Decision[] = [];
  for (let i = 0; i < times; i++) all.push(await limiter.take("api", { key }));
  return all;
}
const becameOf = ({ policies }: Decision) => policies.map(({ became }) => became).join();
const idsOf = ({ limits }: Decision) => limits.map(({ limit }) => limit.id);
const later = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe("a client that is refused too often", () => {
  it("is banned when its refusals have been reported, a second later, with one call", async () => {
    const { limiter, asked } = limiterWith();
    expect((await takes(limiter, 5)).map(becameOf)).toEqual(["charged", "charged", "refused", "refused", "refused"]);
    expect(reportsIn(asked)).toEqual([]);
    await later(S);
    expect(reportsIn(asked)).toEqual([3]);
    const [banned] = await takes(limiter, 1);
    expect(banned).toMatchObject({ outcome: "refused", retryAfterMs: 10 * M, resetAfterMs: 10 * M, remaining: 0 });
    expect(becameOf(banned!)).toBe("banned");
    expect(idsOf(banned!)).toEqual(["api-ban", "api"]);
    await later(10 * M - 1);
    expect((await takes(limiter, 1)).map(becameOf)).toEqual(["banned"]);
    await later(1);
    expect((await takes(limiter, 1)).map(becameOf)).toEqual(["charged"]);
  });

  it("is banned for longer the next time, and the last time holds for every further one", async () => {
    const { limiter } = limiterWith();
    const waits = [];
    for (let i = 0; i < 4; i++) {
      await takes(limiter, 5);
      await later(S);
      const [{ retryAfterMs = 0 } = {} as Decision] = await takes(limiter, 1);
      waits.push(retryAfterMs / M);
      await later(retryAfterMs);
    }
    expect(waits).toEqual([10, 60, 60, 60]);
  });

  it("is not banned for longer by asking while it is banned", async () => {
    const { limiter, asked } = limiterWith();
    await takes(limiter, 5);
    await later(S);
    await takes(limiter, 20);
    await later(S);
    expect(reportsIn(asked)).toEqual([3]);
  });

  it("is free after a reset, which forgets refusals that are not reported, too", async () => {
    const { limiter, asked } = limiterWith();
    await takes(limiter, 5);
    await limiter.reset("api", { key: "ann" });
    await later(S);
    expect(reportsIn(asked)).toEqual([]);
    await takes(limiter, 5);
    await later(S);
    expect((await takes(limiter, 1)).map(becameOf)).toEqual(["banned"]);
    await limiter.reset("api", { key: "ann" });
    expect((await takes(limiter, 1)).map(becameOf)).toEqual(["charged"]);
  });
});

describe("a ban and its policy", () => {
  it("adds one key to the take, and nothing to that of other policies", async () => {
    const { limiter, asked } = limiterWith();
    await takes(limiter, 1);
    expect(asked.map(({ keys }) => keys.map(({ key, cost }) => [key.replace(/:[\w-]{22}\}/, ":…}"), cost]))).toEqual([
      [
        ["hg:2:{api:…}!ban", 0],
        ["hg:2:{api:…}", 1],
      ],
    ]);
    const other = limiterWith({ ban: undefined });
    await takes(other.limiter, 1);
    expect(other.asked[0]!.keys).toHaveLength(1);
  });

  it("holds in all regions, also for limits per region", async () => {
    const { limiter, asked } = limiterWith({ limits: [{ limit: 2, window: "1m", scope: "region" }] });
    await takes(limiter, 5);
    await later(S);
    expect(becameOf(await limiter.take("api", { key: "ann", region: "us" }))).toBe("banned");
    expect(asked[0]!.keys.map(({ key }) => key.slice(key.indexOf("}")))).toEqual(["}!ban", "}:local"]);
  });

  it("refuses nobody in shadow, and says whom it would refuse", async () => {
    const { limiter, decisions } = limiterWith({ mode: "shadow" });
    expect((await takes(limiter, 5)).every(({ allowed }) => allowed)).toBe(true);
    await later(2 * M);
    const [decision] = await takes(limiter, 1);
    expect(decision).toMatchObject({ outcome: "admitted", limits: [] });
    expect(becameOf(decision!)).toBe("banned");
    expect(decision!.shadow.filter(({ admitted }) => !admitted).map(({ limit }) => limit.id)).toEqual(["api-ban"]);
    expect(decisions.at(-1)![0]).toBe(decision);
  });

  it("asks no overflow about a banned client", async () => {
    const pool: PolicyInput = { name: "pool", key: "global", limits: [{ limit: 100, window: "1m" }] };
    const policies = [{ ...POLICY, overflow: "pool" }, pool];
    const { limiter } = limiterWith({}, { policies });
    const [api, link] = [limiter.policies[0]!, limiter.policies[0]!.chain![0]!];
    const ask = () =>
      limiter.takeMatched(
        [
          { policy: api, key: { kind: "ip", values: ["ann"] }, cost: 1, link: 0 },
          { policy: link, key: { kind: "global", values: [] }, cost: 1, link: 1 },
        ],
        () => "local",
      );
    for (let i = 0; i < 2; i++) await ask();
    // What an overflow has paid was not refused.
    for (let i = 0; i < 10; i++) expect(becameOf(await ask())).toBe("overflowed,charged");
    await later(S);
    expect(becameOf(await ask())).toBe("overflowed,charged");
    for (let i = 0; i < 5; i++) {
      await limiter.takeMatched([{ policy: api, key: { kind: "ip", values: ["ann"] }, cost: 1 }], () => "local");
    }
    await later(S);
    expect(becameOf(await ask())).toBe("banned,unneeded");
  });
});

describe("a refusal does not count", () => {
  const refusals = async (ask: (limiter: Tried) => Promise<unknown>, policy: Partial<PolicyInput> = {}) => {
    const { limiter, asked } = limiterWith(policy);
    await takes(limiter, 2);
    await ask(limiter);
    await later(2 * S);
    return reportsIn(asked);
  };

  it("if the program has only peeked", async () => {
    expect(await refusals((limiter) => limiter.peek("api", { key: "ann" }))).toEqual([]);
  });

  it("if it is one of the further attempts of wait", async () => {
    const { limiter, asked } = limiterWith();
    await takes(limiter, 2);
    const waited = limiter.wait("api", { key: "ann", timeoutMs: 5 * M });
    await later(5 * M);
    await waited;
    expect(reportsIn(asked)).toEqual([1]);
  });

  it("if requests in flight are its only cause, whose units may come back", async () => {
    const limiter = createLimiter({ policies: [{ ...POLICY, count: "failures" }], store: memoryStore() });
    const [policy] = limiter.policies;
    const take = { policy: policy!, key: { kind: "ip", values: ["ann"] }, cost: 1 };
    const ask = () => limiter.reserveMatched([take], () => "local");
    const held = [await ask(), await ask()];
    for (let i = 0; i < 5; i++) expect(becameOf((await ask()).decision)).toBe("refused");
    await later(S);
    for (const one of held) one.ended();
    // Now they have failed: their units stay.
    expect(becameOf((await ask()).decision)).toBe("refused");
    for (let i = 0; i < 2; i++) await ask();
    await later(S);
    expect(becameOf((await ask()).decision)).toBe("banned");
  });

  it("if the store had no answer", async () => {
    let isDown = false;
    const store = memoryStore();
    const failing: Store = {
      ...store,
      kind: "mine",
      take: async (...asked) => {
        if (isDown) throw new StoreError("NETWORK");
        return await store.take(...asked);
      },
    };
    const limiter = createLimiter({ policies: [POLICY], store: failing, onDecision: [] });
    isDown = true;
    expect((await takes(limiter, 6)).map(becameOf).slice(-1)).toEqual(["refused"]);
    await later(S);
    isDown = false;
    await takes(limiter, 4);
    await later(S);
    expect((await takes(limiter, 1)).map(becameOf)).toEqual(["refused"]);
  });
});
