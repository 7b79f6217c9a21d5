// The store has no answer: what each policy declared for that, and who is told.

import { expect, it, vi } from "vitest";
import type { PolicyInput } from "../../src/config/policy-schema.ts";
import type { Decision } from "../../src/core/decision.ts";
import { central } from "../../src/limiter/central.ts";
import { createLimiter, type DecisionContext } from "../../src/limiter.ts";
import { memoryStore } from "../../src/store/memory.ts";
import { failingStore } from "../support/stores.ts";

const policy = (name: string, more: Partial<PolicyInput>): PolicyInput => {
  return { name, key: ["global"], limits: [{ limit: 2, window: "1h", buckets: 60 }], ...more };
};
const local = policy("local", { onStoreFailure: "local" });
const allow = policy("allow", { onStoreFailure: "allow" });
const deny = policy("deny", { onStoreFailure: "deny" });

function without(store: ReturnType<typeof failingStore>, ...policies: PolicyInput[]) {
  const limiter = createLimiter({ policies, store: central(store) });
  return () => limiter.take(policies.map(({ name }) => ({ policy: name })));
}

it("keeps limiting with this isolate's own counters: local, the default", async () => {
  for (const one of [local, policy("default", {})]) {
    const take = without(failingStore(), one);
    const answers = [await take(), await take(), await take()];
    expect(answers.map(({ allowed, remaining, source }) => [allowed, remaining, source])).toEqual([
      [true, 1, "fallback"],
      [true, 0, "fallback"],
      [false, 0, "fallback"],
    ]);
  }
});

it("lets pass without inventing numbers: allow", async () => {
  const take = without(failingStore(), allow);
  for (const decision of [await take(), await take(), await take()]) {
    expect(decision).toEqual({ allowed: true, source: "fallback", limits: [], shadow: [], retryAfterMs: 0 });
  }
});

it("refuses as unavailable, which is no limit reached: deny", async () => {
  const decision = await without(failingStore(), deny)();
  expect(decision).toEqual({ allowed: false, source: "fallback", limits: [], shadow: [], unavailable: true });
});

it("gives the strictest answer of several policies", async () => {
  expect((await without(failingStore(), allow, deny, local)()).unavailable).toBe(true);
  const take = without(failingStore(), allow, local);
  const answers = [await take(), await take(), await take()];
  expect(answers.map(({ allowed }) => allowed)).toEqual([true, true, false]);
  expect(answers[0]!.limits.map(({ policy }) => policy.name)).toEqual(["local"]);
});

it("is not refused for a policy in shadow", async () => {
  const decision = await without(failingStore(), policy("shadow", { onStoreFailure: "deny", mode: "shadow" }), allow)();
  expect(decision.allowed).toBe(true);
});

it("charges nothing when it only looks", async () => {
  const limiter = createLimiter({ policies: [local], store: central(failingStore()) });
  for (let i = 0; i < 5; i++) await limiter.peek("local");
  expect((await limiter.take("local")).remaining).toBe(1);
});

it("rejects a reset that the store could not do, and what is no failure of a store", async () => {
  const limiter = createLimiter({ policies: [local], store: central(failingStore("TIMEOUT")) });
  await expect(limiter.reset("local")).rejects.toMatchObject({ name: "StoreError", code: "TIMEOUT" });
  await expect(without(failingStore(new RangeError("a bug")), local)()).rejects.toThrow(RangeError);
});

it("tells onDecision every decision, for whom it was, and why the store had no answer", async () => {
  const told: [Decision, DecisionContext][] = [];
  const onDecision = (...call: [Decision, DecisionContext]) => void told.push(call);
  const stores = [memoryStore(), failingStore("TIMEOUT")];
  const decisions = [];
  for (const store of stores) {
    const limiter = createLimiter({
      policies: [local],
      store: central(store),
      region: "eu",
      keySecret: "a secret of tests",
      onDecision,
    });
    decisions.push(await limiter.take("local", { cost: 2 }));
  }
  expect(told.map(([decision]) => decision)).toEqual(decisions);
  const [first, failed] = told.map(([, context]) => context);
  const { takes, ...context } = first!;
  expect(context).toEqual({ region: "eu" });
  const partition = expect.stringMatching(/^[\w-]{22}$/);
  expect(takes).toEqual([{ policy: expect.objectContaining({ name: "local" }), kind: "global", partition, cost: 2 }]);
  expect(failed).toEqual({ takes, region: "eu", failure: "TIMEOUT" });
});

it("answers although onDecision throws, and says so on the console", async () => {
  const written = vi.spyOn(console, "error").mockImplementation(() => {});
  const error = new Error("mine");
  const onDecision = () => {
    throw error;
  };
  const limiter = createLimiter({ policies: [local], store: memoryStore(), onDecision });
  expect((await limiter.take("local")).allowed).toBe(true);
  expect(written.mock.calls).toEqual([["headgate: onDecision threw", error]]);
  written.mockRestore();
});
