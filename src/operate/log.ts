/**
 * One JSON line for each decision that an operator wants to see, which with `EXPLAIN` a refusal carries (explain.ts);
 * and one for each decision that is recorded.
 */

import {
  type ByOutcome,
  byOutcome,
  type Decision,
  type LimitDecision,
  type PolicyDecision,
} from "../kernel/core/decision.ts";
import { toWritten } from "../kernel/core/units.ts";
import { describePer } from "../kernel/http/quota.ts";
import type { AppliedPolicy } from "../kernel/limiter/decide.ts";
import { PREFLIGHT } from "../kernel/limiter/keys.ts";
import type { NamedPolicy } from "../kernel/limiter/live.ts";
import type { DecisionContext, OnDecision } from "../kernel/limiter/on-decision.ts";
import { createLines } from "../kernel/lines.ts";
import { ANONYMOUS } from "../kernel/request/sources.ts";

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

/** What the line says: docs/metrics.md. */
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
  admitted({ policies }, { takes, failure }) {
    if (policies.some(hasRefused)) return "shadow-refused";
    if (failure !== undefined) return "store-failure";
    return takes.some(({ kind }) => kind === ANONYMOUS.kind) ? "anonymous" : undefined;
  },
  refused: () => "refused",
  blocked: () => "blocked",
  // The line's `failure` says why.
  unavailable: () => "refused",
};

function hasRefused({ became }: PolicyDecision): boolean {
  return became === "refused" || became === "banned";
}

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

/** A new version says that a member has another meaning. */
const VERSION = 1;

/**
 * With `RECORD = "on"` the gateway writes one JSON line for each decision, for `headgate replay` (docs/replay.md): a
 * replay needs all of them. The line holds the hash of a client's key, as Redis sees it, and neither the key nor the
 * path of the request.
 *
 * @param share of the clients, above 0 and at most 1. Every isolate takes the same clients.
 * @param write where lines go. Default: the console, which `wrangler tail`, Workers Logs and Logpush show.
 */
export function recordDecisions(share: number, write: (line: string) => void = console.log): OnDecision {
  return (decision, { takes, region, atMs = Date.now(), peek }) => {
    // A look changes no count.
    if (peek || !isInSample(takes, share)) return;
    const { allowed, source } = decision;
    write(
      JSON.stringify({
        event: "decision",
        v: VERSION,
        at: atMs,
        region,
        source,
        allowed,
        ...(share < 1 && { share }),
        takes: takes.map((one, t) => recordedPolicy(one, decision.policies[t]!)),
      }),
    );
  };
}

/** The plan is the client's own: a replay knows no live document. */
function recordedPolicy(
  { policy, kind, partition, cost, plan, once, isPreflight, own = { plan } }: NamedPolicy,
  decision: PolicyDecision,
) {
  const [path, ...others] = policy.match.path ?? [];
  return {
    policy: policy.name,
    kind,
    key: isPreflight ? `${partition}${PREFLIGHT}` : partition,
    cost,
    ...(own.plan !== undefined && { plan: own.plan }),
    ...(once !== undefined && { once }),
    ...(path !== undefined && others.length === 0 && { path }),
    ...(hasRefused(decision) && { refused: true }),
  };
}

/** The kinds under which one key stands for many clients. */
const SHARED = /^((global|host|region|country|asn|anonymous|unread)(\+|$))+$/;

/**
 * The client of the first policy that counts clients one by one decides. Requests that are only counted under shared
 * keys are always in the sample: of such a key, all requests or none would be recorded.
 */
function isInSample(takes: readonly AppliedPolicy[], share: number): boolean {
  const client = takes.find(({ kind }) => !SHARED.test(kind));
  return share === 1 || !client || shareOf(client.partition) < share;
}

/** The first 24 bits of the hash, 0 … 1. */
function shareOf(partition: string): number {
  const bytes = atob(partition.slice(0, 4).replaceAll("-", "+").replaceAll("_", "/"));
  return [...bytes].reduce((sum, byte) => sum * 256 + byte.charCodeAt(0), 0) / 2 ** 24;
}
