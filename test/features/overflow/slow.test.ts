// Overflows over a store that is slow or silent: all attempts of a decision share one time budget, and what an attempt
// may have charged in vain neither refuses the next one nor stays.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000 })); // a minute begins
afterEach(() => void vi.useRealTimers());

const BUDGET_MS = 250;
/** A timer that was set at the last instant. */
const LATEST_MS = BUDGET_MS + 1;
/** A refusal is remembered for a shorter time. */
const FORGOTTEN_MS = 6_000;

const background = { waitUntil() {} };
const policy = (name: string, limit: number, more: Partial<PolicyInput> = {}): PolicyInput => ({
  ...{ name, key: "global", limits: [{ algorithm: "fixed-window", limit, window: "1h" }] },
  ...more,
});

/** A store that answers after this many ms. It decides at once. */
function slowPlace() {
  const memory = memoryStore();
  const place = {
    calls: [] as string[],
    delayMs: (_: Flag): number => 0,
    fails: false,
    store: {
      ...{ ...memory, kind: "redis" },
      async take(request) {
        place.calls.push(request.flag === Flag.giveBack ? "give back" : "take");
        if (place.fails) throw new StoreError("NETWORK");
        const reply = await memory.take(request);
        await new Promise((resolve) => setTimeout(resolve, place.delayMs(request.flag)));
        return reply;
      },
    } as Store,
  };
  return place;
}

/** Lets time pass until the work is done. */
async function timed<T>(work: Promise<T>): Promise<{ done: T; tookMs: number }> {
  const began = Date.now();
  let endedMs: number | undefined;
  const ended = () => (endedMs ??= Date.now());
  work.then(ended, ended);
  while (endedMs === undefined) await vi.advanceTimersByTimeAsync(1);
  return { done: await work, tookMs: endedMs - began };
}

/** A limiter whose keys are hashed, and that has forgotten every refusal. Of each chain's head one unit is used. */
async function spentLimiter(policies: readonly PolicyInput[], places: readonly Store[], placeOf = (_: string) => 0) {
  const store = places.length > 1 ? splitStore(places, placeOf) : places[0]!;
  const limiter = createLimiter({ policies, store, keySecret: "a secret of sixteen", onDecision() {} });
  const list = policies.map(({ name }) => ({ policy: name }));
  const take = () => timed(matchedBy(limiter).take(list, { background }));
  expect((await take()).done.paidBy).toBe("plan");
  await vi.advanceTimersByTimeAsync(FORGOTTEN_MS);
  const left = async (name: string) => (await timed(limiter.peek(name))).done.remaining;
  return { limiter, take, left };
}

const plan = policy("plan", 1, { overflow: "team" });
const team = policy("team", 5);
const remote = ({ store }: { readonly store: Store }) => remoteStore(store, { onBreakerChange() {} });

describe("all attempts share one time budget", () => {
  it("over a store whose answers take a third of it each", async () => {
    const chain = [plan, policy("team", 1, { overflow: "pool" }), policy("pool", 1, { overflow: "last" })];
    const place = slowPlace();
    const { limiter, take } = await spentLimiter([...chain, policy("last", 9)], [remote(place)]);
    for (const name of ["team", "pool"]) await timed(limiter.take(name));
    await vi.advanceTimersByTimeAsync(FORGOTTEN_MS);
    place.calls = [];
    place.delayMs = () => 80;
    const { done, tookMs } = await take();
    expect([done.paidBy, done.source, place.calls.length]).toEqual(["last", "fallback", 4]);
    expect(tookMs).toBeLessThanOrEqual(LATEST_MS);
  });
});

describe("a store without an answer to the first attempt", () => {
  it("has perhaps charged the last unit of another policy, which the next attempt gets", async () => {
    const place = slowPlace();
    const { take, left } = await spentLimiter([plan, team, policy("site", 2)], [remote(place)]);
    place.delayMs = () => 400;
    const { done, tookMs } = await take();
    expect(done).toMatchObject({ paidBy: "team", source: "fallback" });
    expect(tookMs).toBeLessThanOrEqual(LATEST_MS);
    expect((await take()).done.outcome).toBe("refused");
    place.delayMs = () => 0;
    for (let i = 0; i < 3; i++) {
      await vi.advanceTimersByTimeAsync(FORGOTTEN_MS);
      await take();
    }
    expect([await left("plan"), await left("team"), await left("site")]).toEqual([0, 4, 0]);
  });

  it("is not asked for the next one, although it answers again", async () => {
    const place = slowPlace();
    const { take } = await spentLimiter([plan, team], [remote(place)]);
    place.calls = [];
    place.fails = true;
    const taken = take();
    while (place.calls.length === 0) await vi.advanceTimersByTimeAsync(0);
    place.fails = false;
    expect((await taken).done).toMatchObject({ paidBy: "team", source: "fallback" });
    expect(place.calls).toEqual(["take"]);
  });
});

it("without an answer to a later attempt, a policy that denies says so, and nobody pays", async () => {
  const place = slowPlace();
  const site = policy("site", 9, { onStoreFailure: "deny" });
  const { take, left } = await spentLimiter([plan, team, site], [remote(place)]);
  place.calls = [];
  place.delayMs = () => (place.calls.length > 1 ? 400 : 10);
  expect((await take()).done.outcome).toBe("unavailable");
  await vi.advanceTimersByTimeAsync(FORGOTTEN_MS);
  expect(place.calls).toEqual(["take", "take", "give back"]);
  place.delayMs = () => 0;
  expect([await left("team"), await left("site")]).toEqual([5, 8]);
});
