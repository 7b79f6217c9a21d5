// Exceptions of the isolate's own code: they are no failures of the store, which decides as it would without them.

import { beforeEach, expect, it, type MockInstance, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { createIsolate, type IsolateOptions, withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const NOW_MS = 1_700_000_040_000;
const bug = new TypeError("a bug in src/kernel/place");
const told = expect.stringContaining("a bug in headgate");
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

/** Where the isolate's own code throws. */
const BUGS = {
  "in the memory of refusals": { trustedMs: fails },
  "in what listens to calls": { listener: { storeCall: fails, leaseUnits() {} } },
  "in what listens to leases": { listener: { storeCall() {}, leaseUnits: fails } },
  "in all of them": { trustedMs: fails, listener: { storeCall: fails, leaseUnits: fails } },
} satisfies Readonly<Record<string, IsolateOptions>>;

/** A place whose isolate has a bug. */
function placeWith(bugs: IsolateOptions, counts: Store = memoryStore()): Store {
  const store: Store = { ...counts, kind: "redis" };
  const isolate = (options?: IsolateOptions) => createIsolate(store, undefined, { ...options, ...bugs });
  return { ...withIsolate(store), isolate } as Store;
}
type Consistency = "strict" | "leased" | "shared";
const policyOf = (name: string, consistency: Consistency, limit: number): PolicyInput => {
  return { name, key: ["global"], consistency, limits: [{ limit, window: "1h" }] };
};
const limiterOf = (store: Store, consistency: Consistency = "strict") =>
  createLimiter({ policies: [policyOf("p", consistency, 90)], store, onDecision() {} });

it.each(
  Object.entries(BUGS).flatMap(([where, own]) =>
    (["strict", "leased"] as const).flatMap((consistency) =>
      [1, 2].flatMap((places) =>
        (["local", "deny"] as const).map((failure) => [where, consistency, places, failure, own] as const),
      ),
    ),
  ),
)("an exception %s, under %s, in %i places: %s", async (_where, consistency, places, onStoreFailure, own) => {
  const policies = [policyOf("user", consistency, 5), policyOf("site", consistency, 100)];
  const place = () => placeWith(own);
  const store = places === 1 ? place() : splitStore([place(), place()], (key) => Number(key.includes("{site:")));
  const failures: unknown[] = [];
  const onDecision = (_: unknown, { failure }: { failure?: unknown }) => void (failure && failures.push(failure));
  const limiter = createLimiter({ policies: policies.map((one) => ({ ...one, onStoreFailure })), store, onDecision });
  const answers = [];
  const names = [{ policy: "user" }, { policy: "site" }];
  for (let i = 0; i < 12; i++) answers.push(await limiter.take(names, { background: { waitUntil() {} } }));
  // A stock that is lost is charged, and refuses too early. Never is more admitted.
  const admitted = answers.filter(({ allowed }) => allowed).length;
  expect(admitted).toBeLessThanOrEqual(5);
  if (consistency === "strict") expect(admitted).toBe(5);
  expect(answers.map(({ allowed }) => allowed)).toEqual(answers.map((_, i) => i < admitted));
  expect(answers[0]).toMatchObject({ allowed: true, source: "redis" });
  expect([failures, answers.filter(({ source }) => source === "fallback")]).toEqual([[], []]);
  // One line a place for all of them, with the exception itself.
  expect(written.mock.calls.length).toBeLessThanOrEqual(Math.min(thrown, places));
  if (thrown > 0) expect(written.mock.calls).toContainEqual([told, bug]);
});

it.each(["strict", "leased", "shared"] as const)(
  "a background that throws is no reason to ask the store again, whose call is on its way: %s",
  async (consistency) => {
    const background = { waitUntil: fails };
    const timely = memoryStore();
    const late = memoryStore();
    const take: Store["take"] = async (request) => {
      throw new StoreError("TIMEOUT", undefined, { answer: late.take(request), hasFailed: Promise.resolve(false) });
    };
    for (const [counts, store, takes] of [
      [timely, timely, 5],
      [late, { ...late, take }, 1],
    ] as const) {
      const limiter = limiterOf(withIsolate({ ...store, kind: "redis" }), consistency);
      for (let i = 0; i < takes; i++) expect((await limiter.take("p", { background })).allowed).toBe(true);
      await vi.advanceTimersByTimeAsync(60_000);
      expect((await limiterOf(counts).peek("p")).remaining).toBe(90 - takes);
    }
    expect(written).not.toHaveBeenCalled();
  },
);

it("an exception in what tells the store of a request under `shared` does not charge it twice", async () => {
  const counts = memoryStore();
  let isBroken = false;
  const limiter = limiterOf(placeWith({ random: () => (isBroken ? fails() : 0.5) }, counts), "shared");
  for (let i = 0; i < 5; i++) {
    isBroken = i > 0 && i < 4;
    expect(await limiter.take("p")).toMatchObject({ allowed: true, source: "shared" });
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(thrown).toBeGreaterThan(0);
  expect(written.mock.calls).toContainEqual([told, bug]);
  expect(await limiterOf(counts).peek("p")).toMatchObject({ remaining: 85 });
});

it("an exception after the store has charged does not charge again, under `leased`", async () => {
  const counts = memoryStore();
  let isBroken = false;
  const take: Store["take"] = async (request) => {
    const reply = await counts.take(request);
    isBroken = true;
    return reply;
  };
  const limiter = limiterOf(
    placeWith({ trustedMs: () => (isBroken ? fails() : 5_000) }, { ...counts, take }),
    "leased",
  );
  const admitted = { allowed: true, source: "redis" };
  expect(await limiter.take("p", { background: { waitUntil() {} } })).toMatchObject(admitted);
  expect(thrown).toBeGreaterThan(0);
  expect(await limiterOf(counts).peek("p")).toMatchObject({ remaining: 89 });
});
