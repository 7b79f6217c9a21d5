/**
 * What a token tells of a decision. It is packed as arrays, because the names of members would fill the token. It needs
 * no configuration to be read: another version of the gateway may read it.
 */

import { type AlgorithmName, NAMED } from "../../core/algorithms.ts";
import type { Decision, LimitDecision } from "../../core/decision.ts";
import { type MeterUnit, toWritten } from "../../core/units.ts";
import type { DecisionContext } from "../../limiter.ts";
import { describePer } from "../quota.ts";
import { MAX_TEXT_BYTES } from "./token.ts";

export interface Explanation {
  /** When it was decided: ISO 8601, in UTC. */
  readonly at: string;
  readonly region: string;
  readonly source: string;
  readonly allowed: false;
  readonly policies: readonly ExplainedPolicy[];
  readonly limits: readonly ExplainedLimit[];
  readonly retryAfterMs?: number;
  /** Why the store had no answer (`StoreErrorCode`). */
  readonly failure?: string;
  /** The ids of the limits that refused. */
  readonly violated: readonly string[];
  readonly method: string;
  /** The path of the request without the query, at most 200 characters. */
  readonly path: string;
  /** What its body calls, for example `tools/call search`: at most 5. Absent: no policy looks at the body. */
  readonly calls?: readonly string[];
  /** The version of the live document that the isolate knew; 0: there is none yet. Null: it was never read. */
  readonly version: number | null;
  /** How many did not fit into the token: those with the most left, and those in shadow, are left out first. */
  readonly omitted?: { readonly policies: number; readonly limits: number };
}

interface ExplainedPolicy {
  readonly policy: string;
  readonly kind: string;
  /** The hash of the client's key. */
  readonly key: string;
  readonly cost: number;
  readonly mode: "enforce" | "shadow";
  /** What its meter counts: numbers of `usd` are dollars. Absent: it has no meter. */
  readonly unit?: MeterUnit;
  /** The policy before it in its chain, which refused too. Absent: the request matched the policy. */
  readonly overflowOf?: string;
}

interface ExplainedLimit {
  readonly id: string;
  readonly policy: string;
  readonly limit: number;
  /** For people, after the number: `per 1m`. Absent: an older version of the gateway has refused. */
  readonly per?: string;
  readonly algorithm: AlgorithmName;
  readonly admitted: boolean;
  readonly remaining: number;
  /** Absent: never. */
  readonly retryAfterMs?: number;
  readonly resetAfterMs: number;
  /** Of a policy in shadow: it refused nothing. */
  readonly shadow: boolean;
  /** As for its policy. */
  readonly unit?: MeterUnit;
}

export interface Explained {
  readonly atMs: number;
  readonly decision: Decision;
  readonly context: DecisionContext;
  readonly version: number | undefined;
  /** As in `Explanation`. */
  readonly calls?: readonly string[];
}

type PackedPolicy = readonly [
  ...[policy: string, kind: string, key: string, cost: number, isShadow: 0 | 1],
  ...([unit: MeterUnit | null, overflowOf: string] | [unit: MeterUnit] | []),
];
/** The policy is a position in the list of policies. The id is the policy's name and the suffix. */
type PackedLimit = readonly [
  ...[policy: number, suffix: string, limit: number, algorithm: number, admitted: 0 | 1],
  ...[remaining: number, retryAfterMs: number | null, resetAfterMs: number, per?: string],
];
type Packed = readonly [
  ...[atMs: number, region: string, source: string, retryAfterMs: number | null, failure: string | null],
  ...[method: string, path: string, version: number | null],
  ...[
    policies: readonly PackedPolicy[],
    limits: readonly PackedLimit[],
    omittedPolicies: number,
    omittedLimits: number,
    calls?: readonly string[],
  ],
];

/** Positions in this list are in tokens. */
const ALGORITHMS = Object.keys(NAMED) as AlgorithmName[];
const MAX_METHOD = 20;
const MAX_PATH = 200;
/** For the brackets, and the numbers of what is omitted. */
const SPARE_BYTES = 16;

/** @returns a text of at most `MAX_TEXT_BYTES` bytes. */
export function pack({ atMs, decision, context, version, calls }: Explained, { method, url }: Request): string {
  const head = [
    ...[atMs, context.region, decision.source, decision.retryAfterMs ?? null, context.failure ?? null],
    ...[method.slice(0, MAX_METHOD), new URL(url).pathname.slice(0, MAX_PATH), version ?? null],
  ] as const;
  const policies: PackedPolicy[] = [];
  const limits: PackedLimit[] = [];
  let left = MAX_TEXT_BYTES - SPARE_BYTES - bytesOf(head) - (calls ? bytesOf(calls) : 0);

  /** Rows that fit count as used. The first that does not is the last: a request may be under hundreds of limits. */
  const fits = (...rows: unknown[]) => {
    const bytes = rows.reduce((sum: number, row) => sum + bytesOf(row) + 1, 0);
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };

  for (const one of [...decision.limits, ...decision.shadow].sort(byImportance)) {
    const { name } = one.policy;
    const known = policies.findIndex(([policy]) => policy === name);
    const at = known < 0 ? policies.length : known;
    const take = known < 0 ? context.takes.findIndex((take) => take.policy.name === name) : -1;
    const policy = known < 0 ? packPolicy(context.takes, take) : undefined;
    const limit = packLimit(one, at);
    if (!fits(limit, ...(policy ? [policy] : []))) break;
    limits.push(limit);
    if (policy) policies.push(policy);
  }
  // A blocked client has policies without limits.
  for (const [at, take] of context.takes.entries()) {
    if (policies.some(([policy]) => policy === take.policy.name)) continue;
    const policy = packPolicy(context.takes, at);
    if (!fits(policy)) break;
    policies.push(policy);
  }
  const all = decision.limits.length + decision.shadow.length;
  const packed = [
    ...head,
    policies,
    limits,
    context.takes.length - policies.length,
    all - limits.length,
    ...(calls ? [calls] : []),
  ];
  return JSON.stringify(packed satisfies unknown[] as unknown as Packed);
}

export function unpack(text: string): Explanation {
  const [atMs, region, source, retryAfterMs, failure, method, path, version, ...rest] = JSON.parse(text) as Packed;
  const [packedPolicies, packedLimits, omittedPolicies, omittedLimits, calls] = rest;
  const policies = packedPolicies.map(([policy, kind, key, cost, isShadow, unit, overflowOf]): ExplainedPolicy => {
    const more = { ...(unit && { unit }), ...(overflowOf !== undefined && { overflowOf }) };
    return { policy, kind, key, cost, mode: isShadow ? "shadow" : "enforce", ...more };
  });
  const limits = packedLimits.map(([at, suffix, limit, algorithm, admitted, remaining, ...times]) => {
    const [retryAfterMs, resetAfterMs, per] = times;
    const { policy, mode, unit } = policies[at]!;
    const wait = retryAfterMs !== null && { retryAfterMs };
    const [id, shadow] = [policy + suffix, mode === "shadow"];
    const status = {
      limit,
      ...(per !== undefined && { per }),
      algorithm: ALGORITHMS[algorithm]!,
      admitted: admitted === 1,
      remaining,
      ...wait,
      resetAfterMs,
    };
    return { id, policy, ...status, shadow, ...(unit && { unit }) };
  });
  return {
    ...{ at: new Date(atMs).toISOString(), region, source, allowed: false, policies, limits },
    ...(retryAfterMs !== null && { retryAfterMs }),
    ...(failure !== null && { failure }),
    violated: limits.filter(({ admitted, shadow }) => !admitted && !shadow).map(({ id }) => id),
    ...{ method, path, ...(calls && { calls }), version },
    ...(omittedPolicies + omittedLimits > 0 && { omitted: { policies: omittedPolicies, limits: omittedLimits } }),
  };
}

function packPolicy(takes: DecisionContext["takes"], at: number): PackedPolicy {
  const { policy, kind, partition, cost, link } = takes[at]!;
  const unit = policy.meter?.unit;
  const packed = [policy.name, kind, partition, toWritten(cost, unit), policy.mode === "shadow" ? 1 : 0] as const;
  if (link) return [...packed, unit ?? null, takes[at - 1]!.policy.name];
  return unit ? [...packed, unit] : packed;
}

function packLimit(
  { policy, limit, admitted, remaining, retryAfterMs, resetAfterMs }: LimitDecision,
  at: number,
): PackedLimit {
  const suffix = limit.id.slice(policy.name.length);
  const written = (units: number) => toWritten(units, limit.unit);
  const status = [admitted ? 1 : 0, written(remaining), retryAfterMs ?? null, resetAfterMs] as const;
  return [at, suffix, written(limit.limit), ALGORITHMS.indexOf(limit.algorithm), ...status, describePer(limit)];
}

/** What refused, then what has the smallest share left; policies in shadow last. */
function byImportance(a: LimitDecision, b: LimitDecision): number {
  return rank(a) - rank(b) || a.remaining / a.limit.limit - b.remaining / b.limit.limit;
}

function rank({ policy, admitted }: LimitDecision): number {
  return (policy.mode === "shadow" ? 2 : 0) + (admitted ? 1 : 0);
}

const encoder = new TextEncoder();

function bytesOf(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length;
}
