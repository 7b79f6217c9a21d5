// Bans over stores that are far away: what an instance remembers, an outage, a cluster, several places.

import { beforeEach, expect, it, vi } from "vitest";
import { type Decision, memoryStore, type PolicyInput } from "../../../src/index.ts";
import { hashTagOf } from "../../../src/kernel/core/layout.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitByHashSlot } from "../../../src/stores/redis-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const S = 1_000;
const M = 60 * S;
const POLICY: PolicyInput = {
  name: "api",
  limits: [{ algorithm: "fixed-window", limit: 2, window: "1h" }],
  ban: { after: 3, within: "10m", for: "2h" },
};

beforeEach(() => void vi.useFakeTimers({ now: 1_800_000_000_000 }));
const later = (ms: number) => vi.advanceTimersByTimeAsync(ms);

/** A store in memory that is as far away as Redis. */
function farStore(isCluster = false) {
  const memory = memoryStore();
  const asked: TakeRequest[] = [];
  const state = { isDown: false, isSilent: false };
  const store: Store = {
    ...memory,
    kind: "redis",
    timeoutMs: 250,
    async take(request, ...more) {
      asked.push(request);
      if (state.isDown) throw new StoreError("OPEN");
      const never = new Promise<never>(() => {});
      if (state.isSilent) throw new StoreError("TIMEOUT", undefined, { answer: never, hasFailed: never });
      const tags = new Set(request.keys.map(({ key }) => hashTagOf(key)));
      if (isCluster && tags.size > 1) throw new StoreError("CROSSSLOT");
      return await memory.take(request, ...more);
    },
  };
  return { store, asked, state };
}

const reportsIn = (asked: readonly TakeRequest[]) =>
  asked.filter(({ flag }) => flag === Flag.chargeAnyway).flatMap(({ keys }) => keys.map(({ cost }) => cost));
const becameOf = ({ policies }: Decision) => policies.map(({ became }) => became).join();

function limiterOver(store: Store, policies: readonly PolicyInput[] = [POLICY]) {
  return taking(createLimiter({ policies, store, onDecision: [] }));
}

function taking(limiter: ReturnType<typeof createLimiter>) {
  return async (times: number, key = "ann") => {
    const all: Decision[] = [];
    for (let i = 0; i < times; i++) all.push(await limiter.take("api", { key }));
    return all.map((one) => `${becameOf(one)} by ${one.source}`);
  };
}

it("counts refusals from memory, and refuses from memory what the report has shown to be banned", async () => {
  const { store, asked } = farStore();
  const takes = limiterOver(withIsolate(store));
  expect((await takes(6)).slice(2)).toEqual(new Array(4).fill("refused by cache"));
  await later(S);
  expect(reportsIn(asked)).toEqual([4]);
  expect(await takes(3)).toEqual(new Array(3).fill("banned by cache"));
  expect(asked).toHaveLength(3);
});

it("makes no further call on the way of requests that memory refuses, whatever its reports show", async () => {
  const callsWith = async (ban: PolicyInput["ban"]) => {
    const { store, asked } = farStore();
    const takes = limiterOver(withIsolate(store), [{ ...POLICY, ban }]);
    for (let i = 0; i < 100; i++) {
      await takes(1);
      await later(200);
    }
    return asked.filter(({ flag }) => flag === Flag.take).length;
  };
  expect(await callsWith({ after: 1_000, within: "10m", for: "2h" })).toBe(await callsWith(undefined));
});

it("is known to another instance with its first call", async () => {
  const { store } = farStore();
  const [here, there] = [limiterOver(withIsolate(store)), limiterOver(withIsolate(store))];
  await here(5);
  await later(S);
  expect(await there(2)).toEqual(["banned by redis", "banned by cache"]);
});

it("lasts while the store is down, although no ban begins then", async () => {
  const { store, asked, state } = farStore();
  const takes = limiterOver(withIsolate(store));
  await takes(5);
  await takes(4, "bob");
  await later(S);
  // Two refusals of bob are known to the store.
  state.isDown = true;
  await later(10 * S);
  expect(await takes(1)).toEqual(["banned by fallback"]);
  expect((await takes(5, "bob")).at(-1)).toBe("refused by fallback");
  await later(90 * M);
  expect(await takes(1)).toEqual(["banned by fallback"]);
  expect((await takes(3, "bob")).at(-1)).toBe("refused by fallback");
  await later(30 * M);
  expect(await takes(1)).toEqual(["charged by fallback"]);
  state.isDown = false;
  expect(reportsIn(asked)).toEqual([3, 2]);
});

it("does not send a lost report again", async () => {
  const { store, asked, state } = farStore();
  const takes = limiterOver(withIsolate(store));
  await takes(5);
  state.isDown = true;
  await later(S);
  state.isDown = false;
  await later(10 * S);
  expect(await takes(1)).toEqual(["refused by redis"]);
  await later(S);
  expect(reportsIn(asked)).toEqual([3, 1]);
});

it("is reported for several clients at once, to a cluster for each by itself", async () => {
  const { store, asked } = farStore(true);
  const takes = limiterOver(splitByHashSlot(withIsolate(store)));
  for (const client of ["ann", "bob"]) await takes(5, client);
  asked.length = 0;
  await later(S);
  expect(asked.map(({ keys }) => keys.length)).toEqual([2, 1, 1]);
  for (const client of ["ann", "bob"]) expect(await takes(1, client)).toEqual(["banned by redis"]);
});

it("begins over several places by refusals that are certain, not by those that are undone elsewhere", async () => {
  const [one, other] = [farStore(), farStore()];
  const policies = [POLICY, { ...POLICY, name: "site", limits: [{ limit: 100, window: "1h" }] } as const];
  const askBy = () => {
    const places = [withIsolate(one.store), withIsolate(other.store)];
    const store = splitStore(places, (key) => Number(key.includes("{site:")));
    const limiter = createLimiter({ policies, store, onDecision: [] });
    return async () => await limiter.take(["api", "site"].map((policy) => ({ policy, key: "ann" })));
  };
  const [elsewhere, ask] = [askBy(), askBy()];
  for (let i = 0; i < 2; i++) await elsewhere();
  // The place of the site has charged this one, and gets it back.
  expect(becameOf(await ask())).toBe("refused,spared");
  // Now memory knows before a place is asked.
  for (let i = 0; i < 3; i++) await ask();
  await later(S);
  expect(reportsIn(one.asked)).toEqual([3]);
  expect(reportsIn(other.asked)).toEqual([]);
  expect(becameOf(await ask())).toBe("banned,spared");
});

it("is reported whatever this instance remembers about other clients of the same report", async () => {
  const { store, asked } = farStore();
  const elsewhere = limiterOver(withIsolate(store));
  const limiter = createLimiter({ policies: [POLICY], store: withIsolate(store), onDecision: [] });
  const takes = taking(limiter);
  await elsewhere(5);
  await later(900);
  await takes(1);
  await later(300);
  await takes(5, "bob");
  expect((await limiter.peek("api", { key: "ann" })).limits[0]!.limit.id).toBe("api-ban");
  asked.length = 0;
  await later(S);
  expect(reportsIn(asked)).toEqual([1, 3]);
  expect(await takes(1, "bob")).toEqual(["banned by cache"]);
});

it("does not begin while the store is down, although a report may have arrived", async () => {
  const { store, state } = farStore();
  const takes = limiterOver(withIsolate(store));
  await takes(5);
  state.isSilent = true;
  await later(S);
  state.isDown = true;
  await later(5 * S);
  expect(await takes(2)).toEqual(["refused by fallback", "refused by fallback"]);
});
