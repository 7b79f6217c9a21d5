// When a store is called, and when it is not. The test sets the clock.

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag, type TakeRequest } from "../../../src/kernel/core/take.ts";
import { type Breaker, type BreakerChange, createBreaker, withBreaker } from "../../../src/kernel/place/breaker.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const BUDGET_MS = 250;
/** No jitter, the smallest jitter and the largest. */
const MIDDLE = () => 0.5;
const LEAST = () => 0;
const MOST = () => 1;

/** Makes calls that begin and end at the same instant. Returns the state after each call; `open`: no call was made. */
function calls(breaker: Breaker, nowMs: number, outcomes: readonly boolean[]): string[] {
  return outcomes.map((failed) => {
    const call = breaker.start(nowMs);
    if (call === undefined) return "open";
    breaker.end(call, failed, nowMs);
    return breaker.state();
  });
}
const failures = (n: number) => new Array<boolean>(n).fill(true);
/** A timeout. `hasFailed` says later whether the store has failed. */
const timeout = (hasFailed: Promise<boolean>) =>
  new StoreError("TIMEOUT", undefined, { answer: Promise.resolve(undefined), hasFailed });
const opened = (random = MIDDLE, budgetMs = BUDGET_MS) => {
  const breaker = createBreaker(budgetMs, random);
  calls(breaker, 0, failures(5));
  return breaker;
};

describe("opens", () => {
  it("after five failures in a row, and not after four", () => {
    const breaker = createBreaker(BUDGET_MS, MIDDLE);
    expect(calls(breaker, 0, failures(4))).toEqual(["closed", "closed", "closed", "closed"]);
    expect(calls(breaker, 0, [true, true])).toEqual(["open", "open"]);
  });

  it("says once that it has", () => {
    const breaker = createBreaker(BUDGET_MS, MIDDLE);
    const together = [1, 2, 3, 4, 5, 6, 7].map(() => breaker.start(0)!);
    // The fifth one opens it.
    expect(together.map((call) => breaker.end(call, true, 0)).indexOf(true)).toBe(4);
    expect(together.filter((call) => breaker.end(call, true, 0))).toEqual([]);
  });

  it("when half of all calls fail, in time, and not when every fourth does", () => {
    const everyNth = (n: number, times: number) => Array.from({ length: times }, (_, i) => i % n === 0);
    expect(calls(createBreaker(BUDGET_MS, MIDDLE), 0, everyNth(2, 20)).at(-1)).toBe("open");
    expect(calls(createBreaker(BUDGET_MS, MIDDLE), 0, everyNth(4, 1_000)).at(-1)).toBe("closed");
  });
});

describe("while open", () => {
  it("lets one call through after about a second, a fifth earlier or later", () => {
    for (const [random, afterMs] of [
      [LEAST, 800],
      [MIDDLE, 1_000],
      [MOST, 1_200],
    ] as const) {
      const breaker = opened(random);
      expect(breaker.start(afterMs - 1)).toBeUndefined();
      expect(breaker.start(afterMs)).toBeDefined();
      expect(breaker.start(afterMs)).toBeUndefined();
    }
  });

  it("closes when the probe succeeds, and starts from zero", () => {
    const breaker = opened();
    expect(calls(breaker, 1_000, [false])).toEqual(["closed"]);
    expect(calls(breaker, 1_000, failures(4)).at(-1)).toBe("closed");
    expect(calls(breaker, 1_000, [true]).at(-1)).toBe("open");
  });

  it("waits for another second when the probe fails", () => {
    const breaker = opened();
    const probe = breaker.start(1_000)!;
    expect(breaker.end(probe, true, 1_200)).toBe(false);
    expect(breaker.start(2_199)).toBeUndefined();
    expect(breaker.start(2_200)).toBeDefined();
  });

  it("lets the next probe through if the outcome of the last is never heard, once that probe must have ended", () => {
    const quick = opened();
    quick.start(1_000);
    expect([quick.start(1_999), quick.start(2_000)]).toEqual([undefined, expect.any(Number)]);
    const patient = opened(MIDDLE, 5_000);
    patient.start(1_000);
    expect([patient.start(6_099), patient.start(6_100)]).toEqual([undefined, expect.any(Number)]);
  });

  it("ignores the outcomes of calls that began before it opened", () => {
    const breaker = createBreaker(BUDGET_MS, MIDDLE);
    const slow = [1, 2].map(() => breaker.start(0)!);
    calls(breaker, 0, failures(5));
    expect(breaker.end(slow[0]!, false, 100)).toBe(false);
    expect(breaker.state()).toBe("open");
    // A late failure does not delay the probe either. It does not count after the store has come back.
    breaker.end(slow[1]!, true, 900);
    expect(calls(breaker, 1_000, [false])).toEqual(["closed"]);
  });

  it("is not kept open by a clock that steps back", () => {
    const breaker = createBreaker(BUDGET_MS, MIDDLE);
    calls(breaker, 3_600_000, failures(5));
    expect(breaker.start(0)).toBeDefined();
  });
});

describe("a store behind it", () => {
  const request: TakeRequest = {
    keys: [keyRequest("key", [{ limit: 100, kind: Kind.weighted, bucketMs: 1_000, buckets: 1 }])],
    flag: Flag.take,
  };
  let asked = 0;
  let failure: Error | undefined;
  const changes: BreakerChange[] = [];
  let store: Store;

  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] });
    asked = 0;
    failure = undefined;
    changes.length = 0;
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
  afterEach(() => void vi.useRealTimers());

  const outcome = () =>
    store.take(request).then(
      () => "answer",
      (error: Error) => error.message,
    );

  it("is not called while the breaker is open: the error comes at once, and each change is told once", async () => {
    failure = new StoreError("REDIS", "READONLY");
    for (let i = 0; i < 5; i++) expect(await outcome()).toBe("store: REDIS (READONLY)");
    for (let i = 0; i < 100; i++) expect(await outcome()).toBe("store: OPEN");
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
    new StoreError("CROSSSLOT"),
    new StoreError("REDIS", "WRONGTYPE"),
    new StoreError("REDIS", "SCRIPT"),
    new RangeError("a bug"),
  ])("is asked on after any number of %s, which say nothing of other requests", async (error) => {
    failure = error;
    for (let i = 0; i < 20; i++) expect(await outcome()).toBe(error.message);
    expect([asked, changes]).toEqual([20, []]);
  });

  it.each(["TIMEOUT", "NETWORK", "UNAUTHORIZED", "MALFORMED_REPLY"] as const)("is given up after %s", async (code) => {
    failure = new StoreError(code);
    for (let i = 0; i < 20; i++) await outcome();
    expect([asked, changes]).toEqual([5, [{ state: "open", failure: code }]]);
  });

  describe("after a timeout", () => {
    it("is asked on after any number of them if replies arrive late", async () => {
      failure = timeout(Promise.resolve(false));
      for (let i = 0; i < 20; i++) await outcome();
      expect([asked, changes]).toEqual([20, []]);
    });

    it("is given up if no reply arrives late either", async () => {
      failure = timeout(Promise.resolve(true));
      for (let i = 0; i < 20; i++) await outcome();
      expect(changes).toEqual([{ state: "open", failure: "TIMEOUT" }]);
      expect(asked).toBeLessThan(10);
    });

    it("is asked again as soon as a late reply shows that it is there", async () => {
      const hasFailed = Promise.withResolvers<boolean>();
      failure = timeout(hasFailed.promise);
      await outcome();
      failure = new StoreError("NETWORK");
      for (let i = 0; i < 5; i++) await outcome();
      expect(store.breaker?.()).toBe("open");
      hasFailed.resolve(false);
      await hasFailed.promise;
      expect(changes).toEqual([{ state: "open", failure: "NETWORK" }, { state: "closed" }]);
    });
  });

  it("is given up if a runtime ends what waits for late replies", async () => {
    vi.useFakeTimers({ now: 1_700_000_000_000, toFake: ["Date"] });
    const unheard = { answer: new Promise<undefined>(() => {}), hasFailed: new Promise<boolean>(() => {}) };
    failure = new StoreError("TIMEOUT", undefined, unheard);
    for (let i = 0; i < 20; i++) {
      await outcome();
      vi.setSystemTime(Date.now() + 1_000);
    }
    expect(changes).toEqual([{ state: "open", failure: "TIMEOUT" }]);
  });

  it("can always be reset and pinged", async () => {
    failure = new StoreError("TIMEOUT");
    for (let i = 0; i < 6; i++) await outcome();
    await store.reset(["key"]);
    await store.ping();
    expect(store.breaker?.()).toBe("open");
  });
});

// test/redis/replies.test.ts has what Redis replies.
it.each([
  ["OPEN", true],
  ["UNAUTHORIZED", true],
  ["CROSSSLOT", true],
  ["TIMEOUT", false],
  ["NETWORK", false],
  ["MALFORMED_REPLY", false],
] as const)("%s: known not to have run: %s", (code, notRun) => {
  expect(new StoreError(code).notRun).toBe(notRun);
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
  logged.mockRestore();
});
