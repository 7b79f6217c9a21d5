/** What the answers of takers mean for the policies of a request. */

import { isConcurrency } from "../core/concurrency.ts";
import {
  type AdmittedDecision,
  becameBy,
  type Decision,
  decide,
  decideLimit,
  type LimitDecision,
  type PolicyDecision,
  type RefusedDecision,
} from "../core/decision.ts";
import type { DecidedLimit, Policy } from "../core/policy.ts";
import { Flag } from "../core/take.ts";
import type { Answer, Line, PartReply, Taken } from "../place/taker.ts";
import type { StoreErrorCode } from "../store/store.ts";

/** A policy as it is applied to one client. */
export interface AppliedPolicy {
  /** The policy, with the numbers that hold for this client. */
  readonly policy: Policy;
  /** Which kind of key the client presented, for example `ip`; `key` if the key was given by hand without a kind. */
  readonly kind: string;
  /** The hash of the key, as Redis sees it. */
  readonly partition: string;
  /** Units, 0 … 10^9. */
  readonly cost: number;
  /** The client's plan. Absent: none of the policy's plans. */
  readonly plan?: string;
  /**
   * Its place in a chain: 0 is the policy that matched, n its n-th overflow, which follows it in the list. Absent: the
   * policy has no overflow, or is asked without it.
   */
  readonly link?: number;
  /** The request is a preflight, which counts apart from other requests, and strictly. Absent: it is none. */
  readonly isPreflight?: true;
  /** Only the store may admit it, whatever the policy's `consistency` says. Absent: the policy says who may. */
  readonly isStrict?: true;
  /** The hash of the request's id, as Redis sees it. Absent: it has none, or the policy has no `once`. */
  readonly once?: string;
}

/** One key of the store, with its policy and limits. */
export interface PolicyKey extends Line {
  /** Position in the list of takes. */
  readonly take: number;
  readonly policy: Policy;
  readonly limits: readonly DecidedLimit[];
}

/** The answer to a request. */
export interface Answered {
  readonly decision: Decision;
  /** As in `Answer`. Absent: no counts were looked at. */
  readonly atMs?: number;
  /** The keys that were asked about. Absent: none. */
  readonly lines?: readonly PolicyKey[];
  /** What was charged. Absent: nothing. */
  readonly taken?: readonly Taken[];
  /** Those of the decision's limits that refuse only until requests in flight have ended. Absent: none. */
  readonly brief?: ReadonlySet<LimitDecision>;
  /** Why the store had no answer. Absent: it had one. */
  readonly failure?: StoreErrorCode;
  /** Fulfilled when what was charged in vain has come back. Absent: nothing was. */
  readonly undone?: Promise<unknown>;
}

/** What the answer of a taker to these keys means. Decisions are new objects: listeners use them as keys. */
export function answeredOf(lines: readonly PolicyKey[], flag: Flag, given: Answer<PolicyKey>): Answered {
  const { outcome, atMs, taken, failure, undone } = given;
  let decision: Decision;
  if (outcome === "unavailable") {
    const none = { policies: policiesOf(lines, [], flag, given), limits: [], shadow: [] };
    decision = { outcome, allowed: false, source: "fallback", unavailable: true, ...none };
  } else {
    const shown = decide(given.source, policiesOf(lines, given.replies, flag, given));
    decision = given.hidden ? withHidden(shown, lines, flag, given, given.hidden) : shown;
  }
  const answered: { -readonly [K in keyof Answered]: Answered[K] } = { decision, atMs, lines, taken };
  if (failure !== undefined) answered.failure = failure;
  if (undone) answered.undone = undone;
  return answered;
}

/** Numbers that are not shown are shown all the same if nothing else explains a refusal. */
function withHidden(
  decision: AdmittedDecision | RefusedDecision,
  lines: readonly PolicyKey[],
  flag: Flag,
  given: Answer<PolicyKey>,
  hidden: readonly PartReply<PolicyKey>[],
): AdmittedDecision | RefusedDecision {
  const whole = decide("fallback", policiesOf(lines, [...given.replies, ...hidden], flag, given));
  if (whole.allowed) return decision;
  if (decision.allowed) return whole;
  // The wait is that of all: who is refused longest says when to come back.
  const { retryAfterMs: _, ...refused } = decision;
  return whole.retryAfterMs === undefined ? refused : { ...refused, retryAfterMs: whole.retryAfterMs };
}

/** What became of a policy that has neither refused nor charged. */
const UNCHARGED = { admitted: "admitted", refused: "spared", apart: "spared", unavailable: "unavailable" } as const;

/** A policy's part in a decision while it is put together. */
type Draft = { -readonly [K in keyof PolicyDecision]: PolicyDecision[K] } & { readonly limits: LimitDecision[] };

/** What became of each policy, in the order of the keys. @param replies what they say about each limit. */
function policiesOf(
  lines: readonly PolicyKey[],
  replies: readonly PartReply<PolicyKey>[],
  flag: Flag,
  { outcome, taken, unanswered }: Answer<PolicyKey>,
): PolicyDecision[] {
  const isCharged = flag !== Flag.look;
  /** By `take`. Who asks for more units may leave some out. */
  const parts: Draft[] = [];
  for (const { take, policy } of lines) parts[take] ??= { policy, became: UNCHARGED[outcome], limits: [] };
  // Receipts come in the order of the lines, but for those of other places.
  let at = 0;
  for (const { receipts } of taken) {
    for (const receipt of receipts) {
      while (lines[at]!.request.key !== receipt.key) at = (at + 1) % lines.length;
      const part = parts[lines[at]!.take]!;
      part.became = becameBy(receipt, part.became);
    }
  }
  for (const { lines, reply, source } of replies) {
    for (let k = 0; k < lines.length; k++) {
      const { take, policy, limits, request } = lines[k]!;
      const part = parts[take]!;
      for (let l = 0; l < limits.length; l++) {
        const limit = limits[l]!;
        // The number of requests in flight is not known from memory. Leave such a limit out: its number would be wrong.
        if (source === "cache" && isConcurrency(limit)) continue;
        const decided = decideLimit(policy, limit, reply.keys[k]![l]!, request.cost, reply.nowMs, isCharged);
        if (!decided.admitted) part.became = "refused";
        part.limits.push(decided);
      }
    }
  }
  if (unanswered) for (const { take } of unanswered) parts[take]!.unanswered = true;
  const policies = Object.values(parts);
  // Two scopes of a policy are two keys: their limits come in the order of the configuration all the same.
  if (lines.length > policies.length) {
    for (const { policy, limits } of policies) {
      const order: readonly DecidedLimit[] = policy.limits;
      limits.sort((a, b) => order.indexOf(a.limit) - order.indexOf(b.limit));
    }
  }
  return policies;
}
