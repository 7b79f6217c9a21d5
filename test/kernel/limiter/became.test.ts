// What a decision says of each of its policies, whoever answers: `policies`, from which log, metrics and replay read.

import { expect, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { GLOBAL } from "../../../src/kernel/request/sources.ts";
import { memoryLive } from "../../../src/kernel/store/live.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import type { DecisionContext, PolicyTake, TakeOptions } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { createLimiter, limiterOf } from "../../support/limiter.ts";
import { matchedBy } from "../../support/matched.ts";

const limits = (limit: number) => [{ limit, window: "31d" }] as const;
const SMALL: PolicyInput = { name: "small", key: "global", limits: limits(2) };
const LARGE: PolicyInput = { name: "large", key: "global", limits: limits(100) };
const TRIAL: PolicyInput = { name: "trial", key: "global", mode: "shadow", limits: limits(1) };
const ONCE = { once: "header:idempotency-key" } as const;
const PLAN: PolicyInput = { name: "plan", key: "global", limits: limits(1), overflow: "team" };
const TEAM: PolicyInput = { name: "team", key: "global", limits: limits(1), overflow: "credits" };
const CREDITS: PolicyInput = { name: "credits", key: "global", limits: limits(1) };

const remote = (): Store => ({ ...memoryStore(), kind: "redis" });
const away = (): Store => ({ ...remote(), take: () => Promise.reject(new StoreError("NETWORK")) });
const background = { waitUntil: (work: Promise<unknown>) => void work.catch(() => {}) };

/** In one word each, and what else is said. */
function said(decision: Decision): string {
  const { policies, limits, shadow } = decision;
  expectConsistent(decision);
  const own = policies.flatMap((one) => (one.policy.mode === "enforce" ? one.limits : []));
  expect(own).toEqual(limits);
  expect(policies.flatMap((one) => (one.policy.mode === "shadow" ? one.limits : []))).toEqual(shadow);
  const words = policies.map(({ policy, became, paidFor, unanswered }) =>
    [policy.name, became, paidFor && `for ${paidFor}`, unanswered && "unanswered"].filter(Boolean).join(" "),
  );
  return words.join(", ");
}

/** What the members say and the outcome never differ. */
function expectConsistent({ outcome, limits, shadow, ...told }: Decision): void {
  const { allowed, blocked, unavailable, remaining, retryAfterMs, resetAfterMs, delayMs, hold } = told;
  expect(allowed).toBe(outcome === "admitted");
  expect(blocked).toBe(outcome === "blocked" ? true : undefined);
  expect(unavailable).toBe(outcome === "unavailable" ? true : undefined);
  if (outcome !== "refused") expect(limits.every(({ admitted }) => admitted)).toBe(true);
  if (outcome === "admitted") expect(retryAfterMs).toBe(0);
  else expect([delayMs, hold]).toEqual([undefined, undefined]);
  if (outcome === "blocked" || outcome === "unavailable") {
    expect([remaining, resetAfterMs, limits, shadow]).toEqual([undefined, undefined, [], []]);
  }
}

interface Situation {
  readonly policies: readonly PolicyInput[];
  /** Default: each policy. */
  readonly takes?: readonly PolicyTake[];
  readonly options?: TakeOptions;
  readonly store?: () => Store;
  /** What became of the policies with each request. */
  readonly told: readonly string[];
}

const SITUATIONS: Readonly<Record<string, Situation>> = {
  "its own limit refuses, and spares the others, in force and in shadow": {
    policies: [SMALL, LARGE, { ...TRIAL, limits: limits(3) }],
    told: [
      "small charged, large charged, trial charged",
      "small charged, large charged, trial charged",
      "small refused, large spared, trial spared",
    ],
  },
  "in shadow it refuses alone": {
    policies: [LARGE, TRIAL],
    told: ["large charged, trial charged", "large charged, trial refused"],
  },
  "another client of the same policy has a part of its own": {
    policies: [{ name: "api", key: "header:x-user", limits: limits(2) }],
    takes: [
      { policy: "api", key: "ann", cost: 2 },
      { policy: "api", key: "bob", cost: 1 },
    ],
    told: ["api charged, api charged", "api refused, api spared"],
  },
  "of a cost of 0 it says the same": { policies: [SMALL], options: { cost: 0 }, told: ["small charged"] },
  "two scopes are one policy": {
    policies: [{ ...LARGE, limits: [{ ...limits(1)[0], scope: "region" }, ...limits(2)] }],
    told: ["large charged", "large refused"],
  },
  "a repeat charges nothing under the policies that know ids": {
    policies: [{ ...SMALL, ...ONCE }, LARGE, { ...TRIAL, ...ONCE }],
    options: { once: "an-id" },
    told: ["small charged, large charged, trial charged", "small repeat, large charged, trial repeat"],
  },
  "leased units are charged": {
    policies: [{ ...SMALL, consistency: "leased" }],
    options: { background },
    store: () => withIsolate(remote()),
    told: ["small charged", "small charged", "small refused"],
  },
  "the isolate's part is charged": {
    policies: [{ ...SMALL, consistency: "shared" }],
    options: { background },
    store: () => withIsolate(remote()),
    told: ["small charged", "small charged", "small refused"],
  },
  "a remembered refusal": {
    policies: [{ ...SMALL, limits: limits(1) }, LARGE],
    store: () => withIsolate(remote()),
    told: ["small charged, large charged", "small refused, large spared", "small refused, large spared"],
  },
  "without the store of an isolate, admitted units are owed": {
    policies: [SMALL, { ...LARGE, onStoreFailure: "allow" }],
    store: () => withIsolate(away()),
    told: ["small charged unanswered, large charged unanswered"],
  },
  "without a store of a program, what allows counts nothing": {
    policies: [SMALL, { ...LARGE, onStoreFailure: "allow" }],
    store: away,
    told: ["small charged unanswered, large admitted unanswered"],
  },
  "without a store that a policy denies, all are unavailable": {
    policies: [{ ...SMALL, onStoreFailure: "deny" }, LARGE, TRIAL],
    store: away,
    told: ["small unavailable unanswered, large unavailable unanswered, trial unavailable unanswered"],
  },
  "one of two places has no answer": {
    policies: [SMALL, LARGE],
    store: () => splitStore([withIsolate(remote()), withIsolate(away())], (key) => (key.includes("large") ? 1 : 0)),
    told: [
      "small charged, large charged unanswered",
      "small charged, large charged unanswered",
      "small refused, large spared unanswered",
    ],
  },
  "one of two places has no answer, under deny": {
    policies: [SMALL, { ...LARGE, onStoreFailure: "deny" }],
    store: () => splitStore([withIsolate(remote()), withIsolate(away())], (key) => (key.includes("large") ? 1 : 0)),
    told: ["small unavailable, large unavailable unanswered"],
  },
  "one of two places has no answer, under deny, and the other refuses: that comes first": {
    policies: [SMALL, { ...LARGE, onStoreFailure: "deny" }],
    options: { cost: 3 },
    store: () => splitStore([withIsolate(remote()), withIsolate(away())], (key) => (key.includes("large") ? 1 : 0)),
    told: ["small refused, large spared unanswered"],
  },
  "of a chain one pays after the other, then all refuse": {
    policies: [PLAN, TEAM, CREDITS, LARGE],
    takes: [{ policy: "plan" }, { policy: "large" }],
    told: [
      "plan charged, team unneeded, credits unneeded, large charged",
      "plan overflowed, team charged for plan, credits unneeded, large charged",
      "plan overflowed, team overflowed, credits charged for plan, large charged",
      "plan refused, team refused, credits refused, large spared",
    ],
  },
  "another policy refuses what a chain would pay": {
    policies: [PLAN, { ...TEAM, limits: limits(9) }, CREDITS, SMALL],
    takes: [{ policy: "plan" }, { policy: "small" }],
    told: [
      "plan charged, team unneeded, credits unneeded, small charged",
      "plan overflowed, team charged for plan, credits unneeded, small charged",
      "plan spared, team unneeded, credits unneeded, small refused",
    ],
  },
  "the place of an overflow has no answer": {
    policies: [PLAN, { name: "team", key: "global", limits: limits(9) }],
    takes: [{ policy: "plan" }],
    store: () => splitStore([remote(), away()], (key) => (key.includes("team") ? 1 : 0)),
    told: ["plan charged, team unneeded", "plan overflowed, team charged for plan unanswered"],
  },
  "the place of a policy has no answer, and its overflow pays": {
    policies: [PLAN, { name: "team", key: "global", limits: limits(9) }],
    takes: [{ policy: "plan" }],
    store: () => splitStore([remote(), away()], (key) => (key.includes("plan") ? 1 : 0)),
    told: ["plan charged unanswered, team unneeded", "plan overflowed unanswered, team charged for plan"],
  },
};

it.each(Object.entries(SITUATIONS))("%s", async (_name, { policies, takes, options, store = memoryStore, told }) => {
  const contexts: [Decision, DecisionContext][] = [];
  const onDecision = (...call: [Decision, DecisionContext]) => void contexts.push(call);
  const limiter = createLimiter({ policies, store: store(), onDecision });
  const all = takes ?? policies.map(({ name }) => ({ policy: name }));
  const take = limiter.policies.some(({ chain }) => chain) ? matchedBy(limiter).take : limiter.take;
  for (const words of told) expect(said(await take(all, options))).toEqual(words);
  for (const [decision, context] of contexts) {
    expect(context.takes.map(({ policy }) => policy)).toEqual(decision.policies.map(({ policy }) => policy));
  }
});

it("a peek charges nothing, and says what would refuse", async () => {
  const limiter = createLimiter({ policies: [SMALL, LARGE], store: memoryStore() });
  const all = [{ policy: "small" }, { policy: "large" }];
  expect(said(await limiter.peek(all))).toEqual("small admitted, large admitted");
  expect(said(await limiter.peek(all, { cost: 3 }))).toEqual("small refused, large spared");
});

it("what was extended has parts of its own", async () => {
  const limiter = createLimiter({ policies: [SMALL, LARGE], store: memoryStore() });
  const reservation = await limiter.reserve([{ policy: "small" }, { policy: "large" }]);
  expect(said(await reservation.extend({ large: 5 }))).toEqual("large charged");
  expect(said(await reservation.extend({ small: 5 }))).toEqual("small refused");
  expect(said(await reservation.extend({}))).toEqual("");
});

it.each([
  [{ block: true }, "small blocked, plan spared, team unneeded"],
  // The client is exempt from this policy: it is not asked.
  [{ exempt: true }, "plan charged, team unneeded"],
])("an operator says %o", async (override, told) => {
  const policies = checkedPolicies([SMALL, PLAN, { name: "team", key: "global", limits: limits(1) }]);
  const live = memoryLive();
  const limiter = limiterOf(policies, { store: { ...memoryStore(), live }, liveRefreshMs: 30_000 });
  const { kind, partition: key } = await limiter.client("small", {});
  await live.write(JSON.stringify({ policies: {}, overrides: [{ policy: "small", kind, key, ...override }] }), 0);
  expect(said(await matchedBy(limiter).take([{ policy: "small" }, { policy: "plan" }]))).toEqual(told);
});

it("a refusal before the body is read spares what was not asked", async () => {
  const limiter = createLimiter({ policies: [SMALL, TRIAL], store: withIsolate(remote()) });
  const [small, trial] = limiter.policies.map((policy) => ({ policy, key: GLOBAL, cost: 1, atLeast: 1 }));
  for (let i = 0; i < 3; i++) await limiter.take("small");
  const refusal = await limiter.refuseMatched([trial!, small!], () => "eu");
  expect(said(refusal!)).toEqual("trial spared, small refused");
});
