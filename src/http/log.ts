/** One JSON line for each decision that an operator wants to see. With `EXPLAIN` a refusal carries it (explain.ts). */

import { type ByOutcome, byOutcome, type Decision, type LimitDecision } from "../core/decision.ts";
import { toWritten } from "../core/units.ts";
import { ANONYMOUS } from "../keys/sources.ts";
import type { AppliedPolicy, DecisionContext, OnDecision } from "../limiter.ts";
import { createLines } from "../lines.ts";
import { describePer } from "./quota.ts";

/**
 * Logs refusals, blocked clients, shadow refusals, decisions without the store, and requests without a key and an
 * address. At most 10 lines a second and isolate; the next line says how many were left out. Keys appear as the hash
 * that Redis sees.
 *
 * @param write where lines go. Default: the console, which `wrangler tail` and Workers Logs show.
 */
export function logDecisions(write: (line: string) => void = console.log): OnDecision {
  const writeLine = createLines(write);

  return (decision, context) => {
    if (byOutcome(decision, EVENT, context) !== undefined) writeLine(() => lineOf(decision, context));
  };
}

export type DecisionLine = ReturnType<typeof lineOf>;

/** What the line says: docs/observability.md. */
export function lineOf(decision: Decision, context: DecisionContext) {
  const { takes, region, failure } = context;
  const all = [...decision.limits, ...decision.shadow];
  return {
    event: byOutcome(decision, EVENT, context),
    at: new Date().toISOString(),
    region,
    source: decision.source,
    policies: takes.map((take) => describePolicy(take, takes)),
    ...(decision.paidBy !== undefined && { paidBy: decision.paidBy }),
    violated: idsOf(decision.limits),
    shadow: idsOf(decision.shadow),
    limits: all.sort(byImportance).map(describeLimit),
    ...(decision.retryAfterMs && { retryAfterMs: decision.retryAfterMs }),
    ...(failure !== undefined && { failure }),
  };
}

/** The event of the line: the most important one, and its other members tell about the others. Undefined: no line. */
const EVENT: ByOutcome<string | undefined, [DecisionContext]> = {
  admitted({ shadow }, { takes, failure }) {
    if (shadow.some(({ admitted }) => !admitted)) return "shadow-refused";
    if (failure !== undefined) return "store-failure";
    return takes.some(({ kind }) => kind === ANONYMOUS.kind) ? "anonymous" : undefined;
  },
  refused: () => "refused",
  blocked: () => "blocked",
  // The line's `failure` says why.
  unavailable: () => "refused",
};

/** Numbers are in the unit of the policy's meter, if it has one. */
function describePolicy({ policy, kind, partition, cost }: AppliedPolicy, takes: readonly AppliedPolicy[]) {
  const before = policy.isOverflow && takes.find((take) => take.policy.overflow === policy.name);
  return {
    policy: policy.name,
    kind,
    key: partition,
    cost: toWritten(cost, policy.meter?.unit),
    ...(policy.meter && { unit: policy.meter.unit }),
    ...(policy.mode === "shadow" && { mode: policy.mode }),
    ...(before && { overflowOf: before.policy.name }),
  };
}

function describeLimit({ policy, limit, remaining, retryAfterMs, resetAfterMs }: LimitDecision) {
  return {
    id: limit.id,
    policy: policy.name,
    limit: toWritten(limit.limit, limit.unit),
    per: describePer(limit),
    remaining: toWritten(remaining, limit.unit),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    resetAfterMs,
    ...(limit.unit && { unit: limit.unit }),
  };
}

/** What refused, then what has the smallest share left; policies in shadow last. */
function byImportance(a: LimitDecision, b: LimitDecision): number {
  return rank(a) - rank(b) || a.remaining / a.limit.limit - b.remaining / b.limit.limit;
}

function rank({ policy, admitted }: LimitDecision): number {
  return (policy.mode === "shadow" ? 2 : 0) + (admitted ? 1 : 0);
}

function idsOf(limits: readonly LimitDecision[]): string[] {
  return limits.filter(({ admitted }) => !admitted).map(({ limit }) => limit.id);
}
