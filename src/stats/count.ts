/** What a decision, and the answer of a language model, mean as counts. */

import { algorithmOf } from "../core/algorithms.ts";
import { type ByOutcome, byOutcome, type Decision, type LimitDecision } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import type { DecisionContext } from "../limiter.ts";
import type { Tally } from "./tally.ts";

/** A request was admitted near a limit if at most this part of the limit remains. */
const NEAR_PART = 0.05;

/**
 * `refused`: by a limit of this policy. `overflowed`: the same, and its overflow has paid. `spared`: by another policy,
 * and nothing was charged here. `blocked`: an operator has blocked the client under this policy. `unavailable`: the
 * store had no answer, and a policy of the request denies then.
 */
export type Outcome = "admitted" | "overflowed" | "refused" | "spared" | "shadow_refused" | "blocked" | "unavailable";

/** Counts a request once for each policy that matched it or was needed as an overflow. A look is not a request. */
export function countDecision(tally: Tally, decision: Decision, context: DecisionContext): void {
  if (context.peek) return;
  const { region } = context;
  for (const [at, take] of context.takes.entries()) {
    const { policy, partition, cost } = take;
    const chain = take.link === undefined ? undefined : chainAround(context.takes, at);
    const outcome = chain
      ? outcomeInChain(chain, take, decision, context)
      : byOutcome(decision, OUTCOME_OF_POLICY, policy, context);
    if (outcome === undefined) continue;
    const units = isRepeat(policy, decision) ? 0 : cost;
    tally.add(["decisions", policy.name, region, outcome, decision.source], 1);
    if (units > 0) tally.add(["units", policy.name, outcome], units);
    if (outcome === "admitted" && take.link) {
      const paid = [chain![0]!.policy.name, policy.name];
      tally.add(["overflow", ...paid], 1);
      if (units > 0) tally.add(["overflow_units", ...paid], units);
    }
    if (outcome === "refused") tally.addRefusal(policy.name, partition);
    if (outcome === "admitted") countNear(tally, policy, decidedFor(policy, decision));
  }
  for (const policy of context.fallback ?? []) tally.add(["fallback", policy], 1);
}

/** What a decision means for one policy of its request. */
const OUTCOME_OF_POLICY: ByOutcome<Outcome, [policy: Policy, context: DecisionContext]> = {
  admitted: (decision, policy) => ownRefusal(policy, decision) ?? "admitted",
  refused: (decision, policy) => ownRefusal(policy, decision) ?? "spared",
  blocked: (_decision, { name }, { blocked }) => (blocked?.includes(name) ? "blocked" : "spared"),
  unavailable: () => "unavailable",
};

type Chain = DecisionContext["takes"];

/** The takes of the chain of which one is at this position. */
function chainAround(takes: Chain, at: number): Chain {
  const from = at - takes[at]!.link!;
  const to = takes.findIndex(({ link }, i) => i > from && !link);
  return takes.slice(from, to < 0 ? undefined : to);
}

/** Undefined: this overflow was not needed. */
function outcomeInChain(
  chain: Chain,
  { policy, link }: Chain[number],
  decision: Decision,
  context: DecisionContext,
): Outcome | undefined {
  const outcome = byOutcome(decision, OUTCOME_OF_POLICY, policy, context);
  // Who pays, or after a refusal the one with the shortest wait, which is shown. Without counts, the first.
  const payers = decision.paidBy?.split(", ") ?? decision.limits.map((limit) => limit.policy.name);
  const shown = chain.find((one) => payers.includes(one.policy.name)) ?? chain[0]!;
  if (decision.outcome === "admitted") {
    return link! < shown.link! ? "overflowed" : link === shown.link ? outcome : undefined;
  }
  const isRefused = decision.limits.some((one) => !one.admitted && one.policy.name === shown.policy.name);
  if (decision.outcome === "refused" && isRefused) return "refused";
  return link === 0 ? outcome : undefined;
}

/** Undefined: no limit of this policy refused. */
function ownRefusal(policy: Policy, decision: Decision): Outcome | undefined {
  const refused = decidedFor(policy, decision).some((one) => !one.admitted && one.policy.name === policy.name);
  if (!refused) return undefined;
  return policy.mode === "shadow" ? "shadow_refused" : "refused";
}

/** Whether the policy has charged nothing because the request was a repeat, under all of its limits. */
function isRepeat(policy: Policy, decision: Decision): boolean {
  const own = policy.once ? decidedFor(policy, decision).filter((one) => one.policy.name === policy.name) : [];
  return own.length > 0 && own.every(({ repeated }) => repeated);
}

/** The limits among which those of this policy are. */
function decidedFor({ mode }: Policy, { limits, shadow }: Decision): readonly LimitDecision[] {
  return mode === "shadow" ? shadow : limits;
}

function countNear(tally: Tally, { name }: Policy, decided: readonly LimitDecision[]): void {
  for (const { policy, limit, remaining } of decided) {
    if (policy.name !== name || remaining > algorithmOf(limit).quota(limit).quota * NEAR_PART) continue;
    tally.add(["near_limit", name, limit.id], 1);
  }
}

/** An answer that was settled, as far as metrics look at it. */
export interface CountedAnswer {
  readonly settled: readonly {
    /** A policy with a meter that was charged. */
    readonly policy: string;
    /** The policy that the request matched: the same, or one whose overflow it is. */
    readonly paidFor: string;
    readonly units: number;
  }[];
  /** The model that has answered, as the answer names it. */
  readonly answeredBy: string | undefined;
  /** Absent: nobody knows it, and what was reserved stays charged. */
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
}

/** The object takes series of at most 200 characters, and two policies have up to 32 of them each. */
const MAX_MODEL = 64;
/** In place of a model: the answer names none. */
const UNNAMED = "unnamed";
/** The most tokens of an answer. An origin may state any number, and one that is no integer would spoil a batch. */
const MAX_TOKENS = 1_000_000_000;

export function countAnswer(tally: Tally, { settled, answeredBy, usage }: CountedAnswer): void {
  const model = nameOf(answeredBy);
  for (const { policy, paidFor, units } of settled) {
    if (units > 0) tally.add(["settled_units", policy, paidFor, model], units);
    if (!usage) continue;
    for (const type of ["input", "output"] as const) {
      const tokens = usage[`${type}Tokens`];
      if (tokens > 0) tally.add(["tokens", policy, model, type], Math.min(MAX_TOKENS, Math.ceil(tokens)));
    }
  }
}

/** An origin may send any text. */
function nameOf(model = ""): string {
  return model.slice(0, MAX_MODEL).replace(/[^\x20-\x7e]/g, "?") || UNNAMED;
}
