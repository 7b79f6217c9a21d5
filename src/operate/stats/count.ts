/** What a decision, and the answer of a language model, mean as counts. */

import type { CountedAnswer } from "../../features/meter/settled.ts";
import { algorithmOf } from "../../kernel/core/algorithms.ts";
import type { Became, Decision, LimitDecision } from "../../kernel/core/decision.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { DecisionContext } from "../../kernel/limiter/on-decision.ts";
import type { Tally } from "./tally.ts";

/** A request was admitted near a limit if at most this part of the limit remains. */
const NEAR_PART = 0.05;

/** What became of a policy, as metrics name it (docs/metrics.md). */
export type Outcome =
  | "admitted"
  | "overflowed"
  | "refused"
  | "banned"
  | "spared"
  | "shadow_refused"
  | "blocked"
  | "unavailable";

/** Counts a request once for each policy that matched it or was needed as an overflow. A look is not a request. */
export function countDecision(tally: Tally, decision: Decision, { takes, region, peek }: DecisionContext): void {
  if (peek) return;
  const { policies, source } = decision;
  for (let t = 0; t < policies.length; t++) {
    const { policy, became, limits, paidFor, unanswered } = policies[t]!;
    const { name, mode } = policy;
    if (unanswered) tally.add(["fallback", name], 1);
    const outcome = outcomeOf(became, mode);
    if (outcome === undefined) continue;
    const { partition, cost } = takes[t]!;
    const isRepeat = limits.length > 0 && limits.every(({ repeated }) => repeated);
    const units = isRepeat ? 0 : cost;
    tally.add(["decisions", name, region, outcome, source], 1);
    if (units > 0) tally.add(["units", name, outcome], units);
    if (paidFor !== undefined) {
      tally.add(["overflow", paidFor, name], 1);
      if (units > 0) tally.add(["overflow_units", paidFor, name], units);
    }
    if (isRefusal(outcome)) tally.addRefusal(name, partition);
    if (outcome === "admitted") countNear(tally, limits);
  }
}

/** Undefined: the request is not counted under the policy. */
function outcomeOf(became: Became, mode: Policy["mode"]): Outcome | undefined {
  if ((became === "refused" || became === "banned") && mode === "shadow") return "shadow_refused";
  if (became === "charged" || became === "repeat") return "admitted";
  return became === "unneeded" ? undefined : became;
}

const isRefusal = (outcome: Outcome | undefined) => outcome === "refused" || outcome === "banned";

/** Counts where the clients of a refusal were refused, by each policy that has refused. */
export function countWhere(tally: Tally, { policies }: Decision, takes: DecisionContext["takes"], where: string): void {
  for (let t = 0; t < policies.length; t++) {
    const { policy, became } = policies[t]!;
    if (isRefusal(outcomeOf(became, policy.mode))) tally.addWhere(policy.name, takes[t]!.partition, where);
  }
}

function countNear(tally: Tally, limits: readonly LimitDecision[]): void {
  for (const { policy, limit, remaining } of limits) {
    if (remaining > algorithmOf(limit).quota(limit).quota * NEAR_PART) continue;
    tally.add(["near_limit", policy.name, limit.id], 1);
  }
}

/** The object takes series of at most 200 characters, and two policies have up to 32 of them each. */
const MAX_LABEL = 64;
/** In place of a model: the answer names none. */
const UNNAMED = "unnamed";
/** The most tokens of an answer. An origin may state any number, and one that is no integer would spoil a batch. */
const MAX_TOKENS = 1_000_000_000;

export function countAnswer(tally: Tally, { settled, answeredBy, usage }: CountedAnswer): void {
  const model = labelOf(answeredBy) || UNNAMED;
  for (const { policy, paidFor, units } of settled) {
    if (units > 0) tally.add(["settled_units", policy, paidFor, model], units);
    if (!usage) continue;
    for (const type of ["input", "output"] as const) {
      const tokens = usage[`${type}Tokens`];
      if (tokens > 0) tally.add(["tokens", policy, model, type], Math.min(MAX_TOKENS, Math.ceil(tokens)));
    }
  }
}

/** Of an origin's word for its model, or of a pattern. An origin may send any text. */
export function labelOf(text = ""): string {
  return text.slice(0, MAX_LABEL).replace(/[^\x20-\x7e]/g, "?");
}
