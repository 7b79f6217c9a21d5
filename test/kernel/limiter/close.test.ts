// What a limiter owes its store, and what it holds of it, when the program ends. In virtual time: a store 20 ms away.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { virtualTime } from "../../support/virtual-time.ts";

const ONE_WAY_MS = 10;
const LIMIT = 100_000;
const day = { algorithm: "fixed-window", window: "1d" } as const;
const policy = (name: string, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: "global", limits: [{ ...day, limit: LIMIT }], ...more };
};
const POLICIES = [
  policy("strict"),
  policy("leased", { consistency: "leased" }),
  policy("shared", { consistency: "shared" }),
  policy("banning", { limits: [{ ...day, limit: 1 }], ban: { after: 2, within: "10m", for: "1h" } }),
];

function setUp(inPlaces = false) {
  const time = virtualTime(1_800_000_000_000);
  const state = { failure: undefined as StoreError | undefined, wayBackMs: ONE_WAY_MS, calls: [] as TakeRequest[] };
  const central = memoryStore();
  const atStore: Store = { ...central, take: (request) => central.take(request, time.nowMs()) };
  const far: Store = {
    ...atStore,
    kind: "redis",
    async take(request) {
      state.calls.push(request);
      if (state.failure) throw state.failure;
      await time.sleep(ONE_WAY_MS);
      const reply = await atStore.take(request);
      await time.sleep(state.wayBackMs);
      return reply;
    },
  };
  const place = () => withIsolate(far, { nowMs: time.nowMs, sleep: time.sleep }, () => 0.5);
  const store = inPlaces ? splitStore([place(), place()], (key) => (key.includes("{leased:") ? 1 : 0)) : place();
  const limiter = createLimiter({ policies: POLICIES, store, onDecision() {} });
  const direct = createLimiter({ policies: POLICIES, store: atStore });

  /** Lets the clock run until the work is done. @returns its result, and how long it took, in ms. */
  async function until<T>(work: Promise<T>): Promise<readonly [result: T, ms: number]> {
    const begunMs = time.nowMs();
    let endedMs: number | undefined;
    const done = work.finally(() => (endedMs ??= time.nowMs()));
    done.catch(() => {});
    for (let ms = 1; endedMs === undefined && ms < 10_000; ms++) await time.runUntil(begunMs + ms);
    if (endedMs === undefined) throw new Error("not done within 10 s");
    return [await done, endedMs - begunMs];
  }
  const take = async (name: string) => (await until(limiter.take(name, { background: { waitUntil() {} } })))[0];
  const close = async (options?: { timeoutMs: number }) => (await until(limiter.close(options)))[1];
  const used = async (name: string) => LIMIT - (await direct.peek(name)).remaining!;
  return { time, state, limiter, direct, take, close, used, until };
}

type World = ReturnType<typeof setUp>;
const AWAY = new StoreError("OFFLINE");

describe.each([
  ["one place", false],
  ["several places", true],
])("over %s", (_, inPlaces) => {
  let world: World;
  beforeEach(() => {
    world = setUp(inPlaces);
  });

  it("leases go back, and a limiter that is closed takes none", async () => {
    const { take, close, used } = world;
    for (let i = 0; i < 50; i++) await take("leased");
    expect(await used("leased")).toBeGreaterThan(50);
    expect(await close()).toBeLessThan(100);
    expect(await used("leased")).toBe(50);
    const sources = new Set<string>();
    for (let i = 0; i < 20; i++) sources.add((await take("leased")).source);
    expect([[...sources], await used("leased")]).toEqual([["redis"], 70]);
  });

  it("a lease that is on its way goes back too", async () => {
    const { time, limiter, close, used } = world;
    const taken = limiter.take("leased", { background: { waitUntil() {} } });
    await time.runUntil(time.nowMs() + ONE_WAY_MS);
    await close();
    expect([(await taken).source, await used("leased")]).toEqual(["redis", 1]);
  });

  it("what was counted while the store was away is told, and only once", async () => {
    const { state, take, close, used } = world;
    state.failure = AWAY;
    for (let i = 0; i < 3; i++) expect(await take("strict")).toMatchObject({ allowed: true, source: "fallback" });
    state.failure = undefined;
    await close();
    expect(await used("strict")).toBe(3);
    await close();
    expect(await used("strict")).toBe(3);
  });

  it("what shared has admitted is told, and then the store decides", async () => {
    const { take, close, used } = world;
    for (let i = 0; i < 5; i++) expect((await take("shared")).source).toBe("shared");
    await close();
    expect(await used("shared")).toBe(5);
    expect((await take("shared")).source).toBe("redis");
    expect(await used("shared")).toBe(6);
  });

  it("leases go back although other takes are always under way", async () => {
    const { time, limiter, take, close, used } = world;
    for (let i = 0; i < 50; i++) await take("leased");
    const endMs = time.nowMs() + 400;
    for (let ms = time.nowMs(); ms < endMs; ms += ONE_WAY_MS) time.at(ms, () => void limiter.take("strict"));
    await time.runUntil(endMs - 370);
    expect(await close({ timeoutMs: 300 })).toBeLessThanOrEqual(301);
    expect(await used("leased")).toBe(50);
  });

  it("a settlement that is under way is waited for", async () => {
    const { limiter, close, used, until } = world;
    const [reservation] = await until(limiter.reserve("strict", { cost: 10 }));
    void reservation.settle(4);
    expect(await close()).toBeGreaterThanOrEqual(2 * ONE_WAY_MS);
    expect(await used("strict")).toBe(4);
  });
});

it.each([false, true])("refusals that ban a client are told, over several places: %j", async (inPlaces) => {
  vi.useFakeTimers({ now: 1_800_000_000_000 });
  try {
    const { take, close, direct } = setUp(inPlaces);
    for (let i = 0; i < 3; i++) await take("banning");
    await close();
    expect((await direct.take("banning")).policies[0]!.became).toBe("banned");
  } finally {
    vi.useRealTimers();
  }
});

it("waits for the report of a ban that is on its way to a store of one's own", async () => {
  const central = memoryStore();
  let arrive = () => {};
  const way = new Promise<void>((resolve) => (arrive = resolve));
  const take: Store["take"] = async (request) => {
    if (request.flag === Flag.chargeAnyway) await way;
    return await central.take(request);
  };
  const limiter = createLimiter({ policies: POLICIES, store: { ...central, kind: "own", take }, onDecision() {} });
  for (let i = 0; i < 3; i++) await limiter.take("banning");
  let isClosed = false;
  const closing = limiter.close().then(() => {
    isClosed = true;
  });
  await new Promise(setImmediate);
  expect(isClosed).toBe(false);
  arrive();
  await closing;
});

it("a store that does not answer is tried once, and no error comes of it", async () => {
  const { state, take, close, limiter, until } = setUp();
  for (let i = 0; i < 50; i++) await take("leased");
  state.failure = AWAY;
  for (let i = 0; i < 3; i++) await take("strict");
  const before = state.calls.length;
  expect(await close()).toBeLessThan(100);
  const more = state.calls.slice(before).map(({ flag }) => flag);
  expect(more.filter((flag) => flag === Flag.chargeAnyway)).toHaveLength(1);
  expect(more.length).toBeLessThan(5);
  await until(limiter[Symbol.asyncDispose]());
});

it.each([
  [undefined, 3_000],
  [{ timeoutMs: 500 }, 500],
])("a store that is silent is waited for as long as %j says", async (options, ms) => {
  const { state, take, close } = setUp();
  for (let i = 0; i < 50; i++) await take("leased");
  state.wayBackMs = 1_000_000;
  expect(Math.abs((await close(options)) - ms)).toBeLessThan(10);
});

it.each([{ timeoutMs: 0 }, { timeoutMs: Number.NaN }, { timeout: 5 }])("%j is refused", async (options) => {
  await expect(setUp().limiter.close(options as never)).rejects.toThrow(TypeError);
});

it("a store in memory is owed nothing", async () => {
  const limiter = createLimiter({ policies: [policy("a")], store: memoryStore() });
  await limiter.close();
  expect((await limiter.take("a")).allowed).toBe(true);
});
