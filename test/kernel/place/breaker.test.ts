// When a store is called, and when it is not. The test sets the clock.

import { beforeEach, describe, expect, it, vi } from "vitest";
import { Flag } from "../../../src/kernel/core/take.ts";
import { type Breaker, type BreakerChange, createBreaker, withBreaker } from "../../../src/kernel/place/breaker.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";

const BUDGET_MS = 250;
/** No jitter. */
const MIDDLE = () => 0.5;

/** Makes calls that begin and end at the same instant. Returns the state after the last; `open`: it was not made. */
function calls(breaker: Breaker, nowMs: number, outcomes: readonly boolean[]): string {
  let state = "";
  for (const failed of outcomes) {
    const call = breaker.start(nowMs);
    if (call !== undefined) breaker.end(call, failed, nowMs);
    state = call === undefined ? "open" : breaker.state();
  }
  return state;
}
const failures = (n: number) => new Array<boolean>(n).fill(true);
/** A timeout. `hasFailed` says later whether the store has failed. */
const timeout = (hasFailed: Promise<boolean>) =>
  new StoreError("TIMEOUT", undefined, { answer: Promise.resolve(undefined), hasFailed });
const opened = (random = MIDDLE, budgetMs = BUDGET_MS, atMs = 0) => {
  const breaker = createBreaker(budgetMs, random);
  calls(breaker, atMs, failures(5));
  return breaker;
};
const everyNth = (n: number, times: number) => Array.from({ length: times }, (_, i) => i % n === 0);

it.each([
  ["closed", "four failures in a row", failures(4)],
  ["open", "five", failures(5)],
  ["open", "half of all calls", everyNth(2, 20)],
  ["closed", "every fourth call", everyNth(4, 1_000)],
])("is %s after %s", (state, _, outcomes) => {
  expect(calls(createBreaker(BUDGET_MS, MIDDLE), 0, outcomes)).toBe(state);
});

it("says once that it has opened", () => {
  const breaker = createBreaker(BUDGET_MS, MIDDLE);
  const together = [1, 2, 3, 4, 5, 6, 7].map(() => breaker.start(0)!);
  // The fifth one opens it.
  expect(together.map((call) => breaker.end(call, true, 0)).indexOf(true)).toBe(4);
  expect(together.filter((call) => breaker.end(call, true, 0))).toEqual([]);
});

describe("while open", () => {
  it.each([
    [0, 800],
    [0.5, 1_000],
    [1, 1_200],
  ])("lets one call through after about a second, a fifth earlier or later: %d", (random, afterMs) => {
    const breaker = opened(() => random);
    expect(breaker.start(afterMs - 1)).toBeUndefined();
    expect(breaker.start(afterMs)).toBeDefined();
    expect(breaker.start(afterMs)).toBeUndefined();
  });

  it("closes when the probe succeeds, and starts from zero", () => {
    const breaker = opened();
    expect(calls(breaker, 1_000, [false])).toBe("closed");
    expect(calls(breaker, 1_000, failures(4))).toBe("closed");
    expect(calls(breaker, 1_000, [true])).toBe("open");
  });

  it("waits for another second when the probe fails", () => {
    const breaker = opened();
    expect(breaker.end(breaker.start(1_000)!, true, 1_200)).toBe(false);
    expect([breaker.start(2_199), breaker.start(2_200)]).toEqual([undefined, expect.any(Number)]);
  });

  it.each([
    [BUDGET_MS, 2_000],
    [5_000, 6_100],
  ])("lets the next probe through once the last must have ended unheard: a budget of %i ms", (budgetMs, atMs) => {
    const breaker = opened(MIDDLE, budgetMs);
    breaker.start(1_000);
    expect([breaker.start(atMs - 1), breaker.start(atMs)]).toEqual([undefined, expect.any(Number)]);
  });

  it("ignores the outcomes of calls that began before it opened", () => {
    const breaker = createBreaker(BUDGET_MS, MIDDLE);
    const slow = [1, 2].map(() => breaker.start(0)!);
    calls(breaker, 0, failures(5));
    expect(breaker.end(slow[0]!, false, 100)).toBe(false);
    expect(breaker.state()).toBe("open");
    // A late failure does not delay the probe either. It does not count after the store has come back.
    breaker.end(slow[1]!, true, 900);
    expect(calls(breaker, 1_000, [false])).toBe("closed");
  });

  it("is not kept open by a clock that steps back", () => {
    expect(opened(MIDDLE, BUDGET_MS, 3_600_000).start(0)).toBeDefined();
  });
});

describe("a store behind it", () => {
  let asked = 0;
  let failure: Error | undefined;
  const changes: BreakerChange[] = [];
  let store: Store;

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] });
    [asked, failure, changes.length] = [0, undefined, 0];
    const memory = memoryStore();
    const flaky: Store = {
      ...memory,
      async take(one) {
        asked++;
        if (failure) throw failure;
        return await memory.take(one);
      },
    };
    store = withBreaker(flaky, { timeoutMs: BUDGET_MS, onBreakerChange: (change) => changes.push(change) });
  });

  const outcome = () =>
    store.take({ keys: [], flag: Flag.take }).then(
      () => "answer",
      (error: Error) => error.message,
    );
  const outcomes = async (times: number) => {
    for (let i = 0; i < times; i++) await outcome();
  };

  it("is not called while the breaker is open: the error comes at once, and each change is told once", async () => {
    failure = new StoreError("REDIS", "READONLY");
    for (let i = 0; i < 5; i++) expect(await outcome()).toBe("store: REDIS (READONLY)");
    for (let i = 0; i < 100; i++) expect(await outcome()).toBe("store: OPEN");
    await store.reset(["key"]);
    await store.ping();
    expect([asked, store.breaker?.()]).toEqual([5, "open"]);

    failure = undefined;
    vi.advanceTimersByTime(1_200);
    const together = await Promise.all([outcome(), outcome(), outcome()]);
    expect(together).toEqual(["answer", "store: OPEN", "store: OPEN"]);
    expect(await outcome()).toBe("answer");
    expect(store.breaker?.()).toBe("closed");
    expect(changes).toEqual([{ state: "open", failure: "REDIS", redis: "READONLY" }, { state: "closed" }]);
  });

  it.each([
    // They say nothing of other requests.
    [20, new StoreError("CROSSSLOT")],
    [20, new StoreError("REDIS", "WRONGTYPE")],
    [20, new StoreError("REDIS", "SCRIPT")],
    [20, new RangeError("a bug")],
    [20, timeout(Promise.resolve(false))],
    ...(["TIMEOUT", "NETWORK", "UNAUTHORIZED", "MALFORMED_REPLY"] as const).map(
      (code) => [5, new StoreError(code)] as const,
    ),
    [5, timeout(Promise.resolve(true))],
  ] as const)("is asked %i times of 20 in a row that end with %s", async (times, error) => {
    failure = error;
    await outcomes(20);
    expect(asked).toBe(times);
    expect(changes).toEqual(times === 20 ? [] : [{ state: "open", failure: (error as StoreError).code }]);
  });

  it("is asked again as soon as a late reply shows that it is there", async () => {
    const hasFailed = Promise.withResolvers<boolean>();
    failure = timeout(hasFailed.promise);
    await outcome();
    failure = new StoreError("NETWORK");
    await outcomes(5);
    expect(store.breaker?.()).toBe("open");
    hasFailed.resolve(false);
    await hasFailed.promise;
    expect(changes).toEqual([{ state: "open", failure: "NETWORK" }, { state: "closed" }]);
  });

  it("is given up if a runtime ends what waits for late replies", async () => {
    failure = timeout(new Promise(() => {}));
    for (let i = 0; i < 20; i++) {
      await outcome();
      vi.setSystemTime(Date.now() + 1_000);
    }
    expect(changes).toEqual([{ state: "open", failure: "TIMEOUT" }]);
  });
});

it("survives a listener that throws, also when no request waits for the call any more", async () => {
  const logged = vi.spyOn(console, "error").mockImplementation(() => {});
  const take = () => Promise.reject(timeout(Promise.resolve(true)));
  const onBreakerChange = () => {
    throw new Error("of the program");
  };
  const store = withBreaker({ ...memoryStore(), take }, { timeoutMs: BUDGET_MS, onBreakerChange });
  for (let i = 0; i < 5; i++) await store.take({ keys: [], flag: Flag.take }).catch(() => {});
  await new Promise(setImmediate);
  expect(store.breaker?.()).toBe("open");
  expect(logged).toHaveBeenCalledOnce();
});
