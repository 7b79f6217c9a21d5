// Exceptions of the isolate's own code: they are no failures of the store, which decides as it would without them.

import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { TakeRequest } from "../../../src/kernel/core/take.ts";
import { createIsolate, type IsolateOptions, withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const NOW_MS = 1_700_000_040_000;
const bug = new TypeError("a bug in src/kernel/place");
let thrown = 0;
const fails = (): never => {
  thrown++;
  throw bug;
};

let written: MockInstance<typeof console.error>;
beforeEach(() => {
  thrown = 0;
  // Timers too: what an isolate would return later would fail, and be told, during another file's tests.
  vi.useFakeTimers({ now: NOW_MS });
  written = vi.spyOn(console, "error").mockImplementation(() => {});
});
afterEach(() => {
  written.mockRestore();
  vi.useRealTimers();
});

/** Where the isolate's own code throws. */
const BUGS = {
  "in the memory of refusals": { trustedMs: fails },
  "in what listens to calls": { listener: { storeCall: fails, leaseUnits() {} } },
  "in what listens to leases": { listener: { storeCall() {}, leaseUnits: fails } },
  "in all of them": { trustedMs: fails, listener: { storeCall: fails, leaseUnits: fails } },
} satisfies Readonly<Record<string, IsolateOptions>>;
const PLACES = {
  "one place": (place: () => Store) => place(),
  "two places": (place: () => Store) => splitStore([place(), place()], (key) => (key.includes("{site:") ? 1 : 0)),
};

/** A place whose isolate has a bug. */
function placeWith(bugs: IsolateOptions): Store {
  const store: Store = { ...memoryStore(), kind: "redis" };
  const isolate = (options?: IsolateOptions) => createIsolate(store, undefined, { ...options, ...bugs });
  return { ...withIsolate(store), isolate } as Store;
}

describe.each(Object.entries(PLACES))("over %s", (_, placesOf) => {
  it.each(
    Object.entries(BUGS).flatMap(([where, own]) =>
      (["strict", "leased"] as const).flatMap((consistency) =>
        (["local", "deny"] as const).map((onStoreFailure) => [where, consistency, onStoreFailure, own] as const),
      ),
    ),
  )("an exception %s: %s, %s", async (_where, consistency, onStoreFailure, own) => {
    const policies: PolicyInput[] = [
      { name: "user", key: ["global"], consistency, onStoreFailure, limits: [{ limit: 5, window: "1h" }] },
      { name: "site", key: ["global"], consistency, onStoreFailure, limits: [{ limit: 100, window: "1h" }] },
    ];
    const store = placesOf(() => placeWith(own));
    const failures: unknown[] = [];
    const onDecision = (_: unknown, { failure }: { failure?: unknown }) => void (failure && failures.push(failure));
    const limiter = createLimiter({ policies, store, onDecision });
    const answers = [];
    const names = [{ policy: "user" }, { policy: "site" }];
    const background = { waitUntil() {} };
    for (let i = 0; i < 12; i++) answers.push(await limiter.take(names, { background }));
    // A stock that is lost is charged, and refuses too early. Never is more admitted.
    const admitted = answers.filter(({ allowed }) => allowed).length;
    expect(admitted).toBeLessThanOrEqual(5);
    if (consistency === "strict") expect(admitted).toBe(5);
    expect(answers.map(({ allowed }) => allowed)).toEqual(answers.map((_, i) => i < admitted));
    expect(answers[0]).toMatchObject({ allowed: true, source: "redis" });
    expect(answers.filter(({ source }) => source === "fallback")).toEqual([]);
    expect(failures).toEqual([]);
    // One line a place for all of them, with the exception itself.
    const lines = written.mock.calls.length;
    expect(lines).toBeLessThanOrEqual(Math.min(thrown, placesOf === PLACES["one place"] ? 1 : 2));
    if (thrown > 0) expect(written.mock.calls).toContainEqual([expect.stringContaining("a bug in headgate"), bug]);
  });
});

it("an exception is told again after a second, with the number of those that were left out", async () => {
  const store = placeWith(BUGS["in what listens to calls"]);
  const limiter = createLimiter({
    policies: [{ name: "p", key: ["global"], limits: [{ limit: 9, window: "1h" }] }],
    store,
  });
  for (let i = 0; i < 3; i++) expect((await limiter.take("p")).source).toBe("redis");
  vi.setSystemTime(Date.now() + 1_000);
  await limiter.take("p");
  expect(written.mock.calls).toEqual([
    [expect.not.stringContaining("times"), bug],
    [expect.stringContaining("2 times that are not shown"), bug],
  ]);
});

const CONSISTENCIES = ["strict", "leased", "shared"] as const;
const LIMITS = [{ limit: 90, window: "1h" }] as const;
const throws = {
  waitUntil() {
    throw new Error("no context");
  },
};

/** What requests leave in the store, once all that goes on behind them has ended. */
async function leftAfter(requests: number, store: Store, counts: Store, consistency: (typeof CONSISTENCIES)[number]) {
  const policies = [{ name: "p", key: ["global"], consistency, limits: LIMITS }] as const;
  const limiter = createLimiter({ policies, store, onDecision: () => {} });
  const answers = [];
  for (let i = 0; i < requests; i++) answers.push(await limiter.take("p", { background: throws }));
  await vi.advanceTimersByTimeAsync(60_000);
  const { remaining } = await createLimiter({
    policies: [{ name: "p", key: ["global"], limits: LIMITS }],
    store: counts,
  }).peek("p");
  return { answers, remaining };
}

describe.each(CONSISTENCIES)("a background that throws, under %s", (consistency) => {
  it("is no reason to ask the store again: its call is on its way", async () => {
    const counts = memoryStore();
    const store = withIsolate({ ...counts, kind: "redis" });
    const { answers, remaining } = await leftAfter(5, store, counts, consistency);
    expect(answers.filter(({ allowed }) => allowed)).toHaveLength(5);
    expect(remaining).toBe(85);
    expect(written).not.toHaveBeenCalled();
  });

  it("is none either if the store answers too late", async () => {
    const counts = memoryStore();
    async function take(request: TakeRequest): Promise<never> {
      const hasFailed = Promise.resolve(false);
      throw new StoreError("TIMEOUT", undefined, { answer: counts.take(request), hasFailed });
    }
    const store = withIsolate({ ...counts, kind: "redis", take });
    const { answers, remaining } = await leftAfter(1, store, counts, consistency);
    expect(answers).toMatchObject([{ allowed: true, source: consistency === "shared" ? "shared" : "fallback" }]);
    expect(remaining).toBe(89);
    expect(written).not.toHaveBeenCalled();
  });
});

it("an exception in what tells the store of a request under `shared` does not charge it twice", async () => {
  const counts = memoryStore();
  const far: Store = { ...counts, kind: "redis" };
  let isBroken = false;
  const random = () => (isBroken ? fails() : 0.5);
  const isolate = (options?: IsolateOptions) => createIsolate(far, undefined, { ...options, random });
  const policies = [{ name: "p", key: ["global"], consistency: "shared", limits: LIMITS }] as const;
  const limiter = createLimiter({ policies, store: { ...withIsolate(far), isolate } as Store });
  for (let i = 0; i < 5; i++) {
    isBroken = i > 0 && i < 4;
    expect(await limiter.take("p")).toMatchObject({ allowed: true, source: "shared" });
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(thrown).toBeGreaterThan(0);
  expect(written.mock.calls).toContainEqual([expect.stringContaining("a bug in headgate"), bug]);
  const strict = createLimiter({ policies: [{ name: "p", key: ["global"], limits: LIMITS }], store: counts });
  expect(await strict.peek("p")).toMatchObject({ remaining: 85 });
});

it.each(["strict", "leased"] as const)(
  "an exception after the store has charged does not charge again: %s",
  async (consistency) => {
    const counts = memoryStore();
    let isBroken = false;
    const far: Store = {
      ...counts,
      kind: "redis",
      async take(request) {
        const reply = await counts.take(request);
        isBroken = true;
        return reply;
      },
    };
    const trustedMs = () => (isBroken ? fails() : 5_000);
    const isolate = (options?: IsolateOptions) => createIsolate(far, undefined, { ...options, trustedMs });
    const policies = [{ name: "p", key: ["global"], consistency, limits: LIMITS }] as const;
    const limiter = createLimiter({ policies, store: { ...withIsolate(far), isolate } as Store });
    expect(await limiter.take("p", { background: { waitUntil() {} } })).toMatchObject({
      allowed: true,
      source: "redis",
    });
    // An admission that the store has charged enters no code of ours that could throw.
    if (consistency === "leased") expect(thrown).toBeGreaterThan(0);
    const strict = createLimiter({ policies: [{ name: "p", key: ["global"], limits: LIMITS }], store: counts });
    expect(await strict.peek("p")).toMatchObject({ remaining: 89 });
  },
);
