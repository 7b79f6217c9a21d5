// A request over two places, one of which has no answer in time, while the other one refuses: whatever the silent place
// answers in the end, and whatever the policy says meanwhile, nothing stays charged, and nothing comes back twice.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { Kind } from "../../../src/kernel/core/layout.ts";
import { Flag, type TakeReply, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { type AskedKey, type Inquiry, undo } from "../../../src/kernel/place/taker.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { takerBy } from "../../kernel/place/asking.ts";
import { createLimiter } from "../../support/limiter.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] })); // a minute begins
afterEach(() => void vi.useRealTimers());

/** What becomes of the next take at the silent place, after its budget. */
type Late = "charged" | "refused" | "never" | "not run";

/** @param used of the window of 5 at the silent place. */
async function world(site: Partial<PolicyInput>, limits: readonly LimitInput[]) {
  const memories = [memoryStore(), memoryStore()];
  const calls: TakeRequest[] = [];
  const state = { late: undefined as Late | undefined, answer: () => {} };
  const first: Store = { ...memories[0]!, kind: "redis" };
  const second: Store = {
    ...memories[1]!,
    kind: "redis",
    async take(request) {
      const { late } = state;
      calls.push(request);
      if (late === undefined) return await memories[1]!.take(request);
      if (late === "not run") throw new StoreError("OPEN");
      const answer = Promise.withResolvers<TakeReply | undefined>();
      state.answer = async () => answer.resolve(late === "never" ? undefined : await memories[1]!.take(request));
      const hasFailed = Promise.resolve(false);
      throw new StoreError("TIMEOUT", undefined, { answer: answer.promise, hasFailed });
    },
  };
  const policies: PolicyInput[] = [
    { name: "all", key: "global", limits: [{ limit: 1, window: "1h" }] },
    { name: "site", key: "global", limits, ...site },
  ];
  const store = splitStore([withIsolate(first), withIsolate(second)], (key) => (key.includes("{site") ? 1 : 0));
  const limiter = createLimiter({ policies, store, keySecret: "a secret of sixteen", onDecision() {} });
  return { limiter, calls, state };
}

const both = [{ policy: "all" }, { policy: "site" }];
const settled = async () => {
  for (let i = 0; i < 5; i++) await new Promise(setImmediate);
};
const HOUR: LimitInput = { algorithm: "fixed-window", limit: 5, window: "1h" };
const SLOTS: LimitInput = { algorithm: "concurrency", limit: 5, timeout: "1h" };
const left = async (limiter: Limiter) => {
  const { limits } = await limiter.peek("site");
  return limits.map(({ remaining }) => remaining);
};

describe.each(["local", "allow", "deny"] as const)("under %s", (onStoreFailure) => {
  it.each(["charged", "refused", "never", "not run"] as const)("a reply: %s", async (late) => {
    const { limiter, calls, state } = await world({ onStoreFailure }, [HOUR, SLOTS]);
    await limiter.take("all");
    // The place would refuse: its units are used up.
    if (late === "refused") await limiter.take("site", { cost: 5 });
    vi.setSystemTime(Date.now() + 6_000);
    calls.length = 0;
    state.late = late;
    expect((await limiter.take(both)).outcome).toBe("refused");
    state.late = undefined;
    await state.answer();
    await settled();
    const releases = calls.filter(({ keys, flag }) => (keys[0]!.flag ?? flag) === Flag.giveBack);
    expect(releases).toHaveLength(late === "not run" ? 0 : 1);
    const [units, slots] = await left(limiter);
    expect([units, slots]).toEqual(late === "refused" ? [0, 4] : [5, 5]);
    // Nothing is owed either.
    calls.length = 0;
    await limiter.take("site", { cost: 0 });
    await settled();
    expect(calls).toHaveLength(1);
  });
});

it.each(["local", "allow"] as const)(
  "under %s, a take that costs nothing there ends its background work",
  async (away) => {
    const { limiter, state } = await world({ onStoreFailure: away }, [HOUR]);
    await limiter.take("all");
    vi.setSystemTime(Date.now() + 6_000);
    state.late = "charged";
    const works: Promise<unknown>[] = [];
    const background = { waitUntil: (work: Promise<unknown>) => void works.push(work) };
    const free = [{ policy: "all" }, { policy: "site", cost: 0 }];
    expect((await limiter.take(free, { background })).outcome).toBe("refused");
    await state.answer();
    expect(await Promise.race([Promise.all(works).then(() => "ended"), settled()])).toBe("ended");
  },
);

it.each(["strict", "shared"] as const)(
  "what a reset has removed does not come back to the isolate's own counts, %s",
  async (consistency) => {
    const store: Store = { ...memoryStore(), kind: "redis", take: () => Promise.reject(new StoreError("OPEN")) };
    const taker = takerBy(store)(consistency);
    const limits = [{ kind: Kind.fixedWindow, limit: 5, windowMs: 3_600_000 }] as const;
    const request: AskedKey = { key: "k", group: 0, cost: 3, limits, syncMs: 1_000 };
    const ask: Inquiry = { lines: [{ request, onFailure: "local" }], flag: Flag.take, slot: 0 };
    const { taken } = await taker.take(ask, { isPart: true });
    await taker.reset(["k"]);
    expect((await taker.take(ask, {})).outcome).toBe("admitted");
    await undo(taken, {});
    expect((await taker.take(ask, {})).outcome).toBe("refused");
  },
);
