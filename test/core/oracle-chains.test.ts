// What chains promise, tried out beside other policies and policies in shadow: each policy is also asked by itself, on
// a copy of the counts, as if there were no chains. The checks know no group and no payer but the one that is named.

import fc from "fast-check";
import { expect, it } from "vitest";
import { Kind } from "../../src/core/algorithm.ts";
import type { LimitSpec } from "../../src/core/algorithms.ts";
import type { Decision } from "../../src/core/decision.ts";
import type { Policy } from "../../src/core/policy.ts";
import { Flag } from "../../src/core/take.ts";
import { type AppliedPolicy, decideAll, keysOf } from "../../src/limiter/decide.ts";
import { instant } from "../support/cases/arbitrary.ts";
import { identityOf, limitOf, spanOf, unitAlgorithms } from "../support/cases/arbitrary-limits.ts";
import { draws, expectReached } from "../support/cases/draws.ts";
import { Counter } from "../support/gateway/counter.ts";

/** So small that chains are used up. A leaky bucket holds a request for at most a window. */
const limit = fc
  .tuple(fc.constantFrom(...unitAlgorithms), fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }))
  .chain(([name, number, burst]) =>
    limitOf[name].map((one): LimitSpec => {
      if (one.kind !== Kind.bucket) return { ...one, limit: number };
      return { ...one, limit: number, burst, maxDelayMs: Math.min(one.maxDelayMs, one.windowMs) };
    }),
  );
const limits = fc.uniqueArray(limit, { minLength: 1, maxLength: 2, selector: identityOf });

function policyOf(name: string, mode: Policy["mode"], specs: readonly LimitSpec[]): Policy {
  // The name of the algorithm is not looked at: `kind` decides.
  const limits = specs.map((one, l) => ({ ...one, id: `${name}-${l + 1}`, scope: "global" })) as unknown;
  return {
    ...{ name, match: {}, key: ["global"], cost: [], consistency: "strict", mode, onStoreFailure: "local" },
    documented: true,
    limits: limits as Policy["limits"],
  };
}

/** What every request is about. */
interface Policies {
  /** In each the policy that matches, its overflow, the overflow of that. */
  readonly chains: readonly (readonly Policy[])[];
  readonly others: readonly Policy[];
  readonly shadows: readonly Policy[];
}

const policies: fc.Arbitrary<Policies> = fc
  .record({
    chains: fc.array(fc.array(limits, { minLength: 2, maxLength: 4 }), { minLength: 1, maxLength: 2 }),
    others: fc.array(limits, { maxLength: 2 }),
    shadows: fc.array(limits, { maxLength: 2 }),
  })
  .map(({ chains, others, shadows }) => ({
    chains: chains.map((links, c) => links.map((specs, n) => policyOf(`chain-${c}-${n}`, "enforce", specs))),
    others: others.map((specs, o) => policyOf(`other-${o}`, "enforce", specs)),
    shadows: shadows.map((specs, s) => policyOf(`shadow-${s}`, "shadow", specs)),
  }));

const appliedTo = (policy: Policy, cost: number): AppliedPolicy => ({ policy, kind: "key", partition: "p", cost });

/** One request about some policies: those of a chain as a chain. */
function ask(counter: Counter, { chains, others, shadows }: Policies, cost: number, nowMs: number): Decision {
  const takes = [
    ...shadows.map((policy) => appliedTo(policy, cost)),
    ...chains.flatMap((links) => links.map((policy, link) => ({ ...appliedTo(policy, cost), link }))),
    ...others.map((policy) => appliedTo(policy, cost)),
  ];
  const keys = keysOf(takes, () => "");
  const reply = counter.take({ keys: keys.map(({ request }) => request), flag: Flag.take }, nowMs);
  return decideAll("redis", [{ keys, reply, source: "redis" }], Flag.take);
}

/** One policy by itself, which enforces. @returns whether it admits. */
function takeAlone(counter: Counter, policy: Policy, cost: number, nowMs: number, flag: Flag = Flag.take): boolean {
  const keys = keysOf([appliedTo({ ...policy, mode: "enforce" }, cost)], () => "");
  return counter.take({ keys: keys.map(({ request }) => request), flag }, nowMs).allowed;
}

const admitsAlone = (counter: Counter, policy: Policy, cost: number, nowMs: number) =>
  takeAlone(counter.copy(), policy, cost, nowMs);

interface Step {
  /** Time before the request: the wait that the last one was told plus n ms, or n / 1000 of a limit's span. */
  readonly advance: { readonly by: "wait" | "part"; readonly n: number };
  readonly cost: number;
  /** The request is about one policy alone, for example a link: its position. undefined: it is about all. */
  readonly only: number | undefined;
  /** Which instant before the end of a wait is tried too. */
  readonly part: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  advance: fc.oneof(
    { weight: 1, arbitrary: fc.record({ by: fc.constant("wait" as const), n: fc.integer({ min: -1, max: 1 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({ by: fc.constant("part" as const), n: fc.constantFrom(0, 0, 1, 30, 300, 1000) }),
    },
  ),
  cost: fc.constantFrom(1, 1, 1, 2, 2, 3, 5),
  only: fc.option(fc.nat(), { nil: undefined, freq: 3 }),
  part: fc.nat(999),
});
const stories = fc.record({ policies, startMs: instant, steps: fc.array(step, { minLength: 5, maxLength: 30 }) });

/** How often each thing was seen, over all stories. */
const seen = { overflows: 0, refused: 0, waits: 0, longWaits: 0, nevers: 0, shadowRefusals: 0 };

function checkOne(before: Counter, after: Counter, decision: Decision, all: Policies, cost: number, nowMs: number) {
  const { chains, others, shadows } = all;
  const payers = chains.map((links) => links.find((link) => admitsAlone(before, link, cost, nowMs)));
  const othersAdmit = others.every((other) => admitsAlone(before, other, cost, nowMs));
  // A chain refuses only if each of its links alone refuses.
  expect(decision.allowed).toBe(othersAdmit && !payers.includes(undefined));
  const charged = before.copy();
  for (const one of [...chains.flat(), ...others, ...shadows]) takeAlone(charged, one, cost, nowMs, Flag.look);
  if (decision.allowed) {
    // Of each chain the first link that admits alone pays.
    expect(decision.paidBy).toBe(payers.map((payer) => payer!.name).join(", "));
    const kept = shadows.filter((shadow) => admitsAlone(before, shadow, cost, nowMs));
    for (const one of [...payers, ...others, ...kept]) takeAlone(charged, one!, cost, nowMs);
    seen.shadowRefusals += shadows.length - kept.length;
    seen.overflows += payers.filter((payer, c) => payer !== chains[c]![0]).length;
  } else seen.refused++;
  // Nothing but what pays has changed, and after a refusal nothing.
  expect(after.values).toEqual(charged.values);
}

/** A refused request: what it is told, if nobody else asks. @param part of the wait, in thousandths. */
function checkWait(
  counter: Counter,
  { retryAfterMs }: Decision,
  all: Policies,
  cost: number,
  nowMs: number,
  part: number,
) {
  const admitted = (waitMs: number) => ask(counter.copy(), all, cost, nowMs + waitMs).allowed;
  if (retryAfterMs === undefined) {
    seen.nevers++;
    expect(ask(new Counter(), all, cost, nowMs).allowed).toBe(false);
    return;
  }
  expect(retryAfterMs).toBeGreaterThan(0);
  expect(admitted(retryAfterMs)).toBe(true);
  const sooner = [retryAfterMs - 1, retryAfterMs - 1_000, Math.floor((retryAfterMs * part) / 1_000)];
  for (const waitMs of sooner) if (waitMs >= 0) expect(admitted(waitMs), `${waitMs} ms`).toBe(false);
  seen.waits++;
  if (retryAfterMs > 1_000) seen.longWaits++;
}

it("charges exactly one link of each chain, or nothing, and tells a wait that is true", () => {
  const property = fc.property(stories, ({ policies, startMs, steps }) => {
    const { chains, others, shadows } = policies;
    const all = [...chains.flat(), ...others, ...shadows];
    const spans = all.flatMap(({ limits }) => limits.map(spanOf));
    const counter = new Counter();
    let nowMs = startMs;
    let toldMs = 0;
    for (const [s, { advance, cost, only, part }] of steps.entries()) {
      const { by, n } = advance;
      nowMs += by === "wait" ? Math.max(0, toldMs + n) : Math.floor((n * spans[s % spans.length]!) / 1000);
      if (only !== undefined) {
        takeAlone(counter, all[only % all.length]!, cost, nowMs);
        continue;
      }
      const before = counter.copy();
      const decision = ask(counter, policies, cost, nowMs);
      checkOne(before, counter, decision, policies, cost, nowMs);
      if (!decision.allowed) checkWait(counter, decision, policies, cost, nowMs, part);
      toldMs = decision.retryAfterMs ?? 0;
    }
  });
  fc.assert(property, draws(600));
  for (const times of Object.values(seen)) expectReached(times, 100);
});

it("admits in all as much as its links do, asked one after the other", () => {
  let most = 0;
  const property = fc.property(stories, ({ policies, startMs, steps }) => {
    const links = policies.chains[0]!;
    const counter = new Counter();
    // Some of it is used.
    for (const { only, cost } of steps)
      if (only !== undefined) takeAlone(counter, links[only % links.length]!, cost, startMs);
    const alone = counter.copy();
    let sum = 0;
    for (const link of links) while (takeAlone(alone, link, 1, startMs)) sum++;
    const payers: (string | undefined)[] = [];
    const chain = { chains: [links], others: [], shadows: [] };
    for (let i = 0; i <= sum; i++) {
      const decision = ask(counter, chain, 1, startMs);
      if (!decision.allowed) break;
      payers.push(decision.paidBy);
    }
    expect(payers).toHaveLength(sum);
    // At one instant no link gets units back: who pays only moves on.
    expect(payers).toEqual(payers.toSorted());
    expect(counter.values).toEqual(alone.values);
    most = Math.max(most, sum);
  });
  fc.assert(property, draws(300));
  expectReached(most, 8);
});
