// When a request may be answered from a lease: every policy must agree to leases, and there must be a background.

import { beforeEach, describe, expect, it, vi } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate as remote } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { PolicyTake } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { createLimiter } from "../../support/limiter.ts";

const policy = (name: string, more: Partial<PolicyInput> = {}): PolicyInput => {
  return { name, key: ["global"], consistency: "leased", limits: [{ limit: 1_000_000, window: "1d" }], ...more };
};
const background = { waitUntil() {} };

/** The sources of 500 answers in a row, and the number of calls they took. */
async function answered(policies: PolicyInput[], takes: PolicyTake[], context?: typeof background) {
  const central = memoryStore();
  let calls = 0;
  const store = { ...central, kind: "redis" as const };
  store.take = async (request) => {
    calls++;
    return await central.take(request);
  };
  const limiter = createLimiter({ policies, store: remote(store) });
  const sources = new Set<string>();
  for (let i = 0; i < 500; i++) {
    const decision = await limiter.take(takes, context && { background: context });
    expect(decision.allowed).toBe(true);
    sources.add(decision.source);
  }
  return { sources: [...sources].sort(), calls };
}

it("answers from the stock if every policy is leased", async () => {
  const { sources, calls } = await answered([policy("a"), policy("b")], [{ policy: "a" }, { policy: "b" }], background);
  expect(sources).toEqual(["lease", "redis"]);
  expect(calls).toBeLessThan(100);
});

it.each<[string, beside: Partial<PolicyInput>, cost?: number, context?: typeof background | null]>([
  ["without a place to work on", {}, 1, null],
  ["with a strict policy beside it", { consistency: "strict" }],
  ["with a policy in shadow beside it", { mode: "shadow" }],
  ["with a policy that only looks", {}, 0],
])("asks the store for every request %s", async (_, beside, cost = 1, context = background) => {
  const takes = [{ policy: "a" }, { policy: "b", cost }];
  const found = await answered([policy("a"), policy("b", beside)], takes, context ?? undefined);
  expect(found).toEqual({ sources: ["redis"], calls: 500 });
});

describe.each([
  ["one place", false],
  ["several places", true],
])("a look over %s", (_, inPlaces) => {
  const day = { algorithm: "fixed-window", window: "1d" } as const;
  beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));

  it("counts the units in stock as free, as a take would spend them, and no others", async () => {
    const central = memoryStore();
    const far = () => remote({ ...central, kind: "redis" });
    const policies = [
      policy("a", { limits: [{ ...day, limit: 10_000 }] }),
      policy("b", { limits: [{ ...day, limit: 10_000 }] }),
      policy("strict", { consistency: "strict", limits: [{ ...day, limit: 10_000 }] }),
    ];
    const store = inPlaces ? splitStore([far(), far()], (key) => (key.includes("{b:") ? 1 : 0)) : far();
    const limiter = createLimiter({ policies, store });
    const elsewhere = createLimiter({ policies, store: central });
    const both = [{ policy: "a" }, { policy: "b" }];
    for (let i = 0; i < 300; i++) await limiter.take(both, { background });
    for (const { policy } of both) await elsewhere.take(policy, { cost: (await elsewhere.peek(policy)).remaining! });

    const look = await limiter.peek(both);
    expect(look).toMatchObject({ allowed: true, source: "redis" });
    expect(look.remaining).toBeGreaterThan(0);
    expect((await limiter.peek(both, { cost: 0 })).remaining).toBe(look.remaining);
    // A strict policy makes the request strict: the store would refuse it.
    expect((await limiter.peek([...both, { policy: "strict" }])).allowed).toBe(false);
    expect((await elsewhere.peek(both)).remaining).toBe(0);
    // An excess from elsewhere leaves nothing, but what is in stock can still be spent.
    const reservation = await elsewhere.reserve(both, { cost: 0 });
    await reservation.settle({ a: 100, b: 0 });
    for (let i = 0; i < look.remaining!; i++) {
      expect(await limiter.peek(both)).toMatchObject({ allowed: true });
      expect(await limiter.take(both, { background })).toMatchObject({ allowed: true, source: "lease" });
    }
    expect((await limiter.peek(both)).allowed).toBe(false);
    expect((await limiter.take(both, { background })).allowed).toBe(false);
  });
});
