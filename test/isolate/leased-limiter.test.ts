// When a request may be answered from a lease: every policy must agree to leases, and there must be a background.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../src/config/policy-schema.ts";
import { remoteStore as remote } from "../../src/isolate/isolate.ts";
import { createLimiter, type PolicyTake } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";

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

it.each<[string, PolicyInput[], PolicyTake[], typeof background | undefined]>([
  ["without a place to work on", [policy("a")], [{ policy: "a" }], undefined],
  [
    "with a strict policy beside it",
    [policy("a"), policy("b", { consistency: "strict" })],
    [{ policy: "a" }, { policy: "b" }],
    background,
  ],
  [
    "with a policy in shadow beside it",
    [policy("a"), policy("b", { mode: "shadow" })],
    [{ policy: "a" }, { policy: "b" }],
    background,
  ],
  [
    "with a policy that only looks",
    [policy("a"), policy("b")],
    [{ policy: "a" }, { policy: "b", cost: 0 }],
    background,
  ],
])("asks the store for every request %s", async (_, policies, takes, context) => {
  expect(await answered(policies, takes, context)).toEqual({ sources: ["redis"], calls: 500 });
});

it("says how much is left, with the units in stock of this isolate", async () => {
  const limiter = createLimiter({ policies: [policy("a")], store: remote({ ...memoryStore(), kind: "redis" }) });
  let previous = 1_000_000;
  for (let i = 0; i < 200; i++) {
    const { remaining } = await limiter.take("a", { background });
    expect(remaining).toBe(previous - 1);
    previous--;
  }
});
