/** The answer to a refused request: headgate's, or that of the program around the limiter. */

import {
  type BlockedDecision,
  type ByOutcome,
  byOutcome,
  type Decision,
  type LimitDecision,
  type RefusedDecision,
} from "../core/decision.ts";
import type { DecidedLimit, Policy } from "../core/policy.ts";
import type { RequestHead } from "../request/request-head.ts";
import { toSeconds } from "./headers.ts";
import { errorResponse, type Problem, type ProblemOptions, ProblemType, problemResponse } from "./problem.ts";
import { describeLimit, describeQuota } from "./quota.ts";
import { retryFields, WAIT_FIELDS } from "./sdk-errors.ts";

/** Fields by which a cache could store a refusal for others, or answer it with 304. */
const STORING = /^(?:etag|last-modified|expires|age|surrogate-control)$|-cache-control$/;

/** How long a client should wait while the store does not answer: the breaker probes about every second. */
const UNAVAILABLE_RETRY_MS = 1_000;

/** What a refusal says, in whatever form. */
export interface Reason {
  readonly problem: Problem;
  /** Absent: the same request can never be admitted. */
  readonly retryAfterMs: number | undefined;
  /** Whether clients find more on the page of limits. */
  readonly isOnPage?: true;
  /** Of several policies and limits the one with the longest wait. Absent: no limit refuses. */
  readonly speaker?: { readonly policy: Policy; readonly limit: DecidedLimit };
  /** For answers that have a code. Absent: the status. */
  readonly code?: number | undefined;
  /** The status of an answer whose form has errors of its own. Absent: the problem's. */
  readonly formStatus?: number | undefined;
}

/** A refusal in another form than the problem document. */
export interface Form {
  /** Default: `application/json`. */
  readonly type?: string;
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** Default: the problem's. */
  readonly status?: number | undefined;
  /** Beside those of every refusal. Pages of other origins may read them. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** By outcome. `region` names the region that answers; it is called only for a limit per region. */
const REASON: ByOutcome<Reason | undefined, [region: () => string]> = {
  admitted: () => undefined,
  refused: overLimit,
  blocked: blockedByOperator,
  unavailable: () => UNAVAILABLE,
};

export const UNAVAILABLE: Reason = {
  problem: {
    type: ProblemType.temporaryReducedCapacity,
    title: "Temporary Reduced Capacity",
    status: 503,
    detail: "The rate limit of this resource cannot be checked at the moment.",
  },
  retryAfterMs: UNAVAILABLE_RETRY_MS,
};

/** Why a request may not go on. Undefined: it is admitted. */
export function reasonOf(decision: Decision, region: () => string): Reason | undefined {
  return byOutcome(decision, REASON, region);
}

/** The answer as a problem document. */
export function refusal(
  request: RequestHead,
  { problem, retryAfterMs, isOnPage }: Reason,
  options: ProblemOptions,
): Response {
  return problemResponse(request, problem, waitFields(retryAfterMs), isOnPage ? options : withoutPage(options));
}

/** The answer in another form. */
export function refusalWith(
  request: RequestHead,
  { problem, retryAfterMs, isOnPage }: Reason,
  options: ProblemOptions,
  { type = "application/json", body, status = problem.status, headers }: Form,
): Response {
  const form = { status, body, form: { "Content-Type": type } };
  const fields = { ...waitFields(retryAfterMs), ...headers };
  return errorResponse(request, form, fields, isOnPage ? options : withoutPage(options));
}

function waitFields(retryAfterMs: number | undefined): Record<string, string> {
  return retryFields({ retryAfterMs, never: retryAfterMs === undefined });
}

function withoutPage({ anyOrigin }: ProblemOptions): ProblemOptions {
  return { anyOrigin };
}

/** The last refusal by each policy: in a flood all are the same for a second, and writing one takes 10 µs. */
const lastReasons = new WeakMap<Policy, Reason>();

function overLimit(decision: RefusedDecision, region: () => string): Reason {
  const { retryAfterMs } = decision;
  const seconds = secondsOf(retryAfterMs);
  const violated = decision.limits.filter(({ admitted }) => !admitted);
  // Of several policies the one with the longest wait speaks. Its wait is that of the decision.
  const { policy, limit } = violated.reduce((a, b) => (waitOf(b) > waitOf(a) ? b : a));
  const detail = describeRefusal(decision, violated, seconds, region);
  let reason = lastReasons.get(policy);
  if (!reason || reason.speaker!.limit !== limit || reason.problem.detail !== detail) {
    const problem = {
      type: ProblemType.quotaExceeded,
      title: "Quota Exceeded",
      status: 429,
      detail,
      "violated-policies": violated.map((one) => one.limit.id),
      ...(seconds === undefined ? { retry: "never" } : { retryAfterMs: seconds * 1_000 }),
    };
    reason = { problem, retryAfterMs, isOnPage: true, speaker: { policy, limit } };
    lastReasons.set(policy, reason);
  }
  return { ...reason, retryAfterMs };
}

/** Never is the longest wait. */
function waitOf({ retryAfterMs = Number.POSITIVE_INFINITY }: LimitDecision): number {
  return retryAfterMs;
}

/** The client can do nothing about it: only a block with an end is worth waiting for. */
export function blockedByOperator({ retryAfterMs }: BlockedDecision): Reason {
  const seconds = secondsOf(retryAfterMs);
  const problem = {
    type: ProblemType.blocked,
    title: "Blocked",
    status: 403,
    detail: `The operator has blocked this client.${seconds === undefined ? "" : ` ${tryAgain(seconds)}`}`,
    ...(seconds !== undefined && { retryAfterMs: seconds * 1_000 }),
  };
  return { problem, retryAfterMs };
}

export function secondsOf(retryAfterMs: number | undefined): number | undefined {
  return retryAfterMs === undefined ? undefined : Math.max(1, toSeconds(retryAfterMs));
}

function tryAgain(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
}

function describeRefusal(
  { source }: RefusedDecision,
  violated: readonly LimitDecision[],
  seconds: number | undefined,
  region: () => string,
): string {
  // A memory store counts in one isolate: "in all regions" or "in region eu" would be wrong.
  const describe = (limit: DecidedLimit) => (source === "memory" ? describeQuota(limit) : describeLimit(limit, region));
  const limits = violated.map(({ limit }) => `${limit.id} (${describe(limit)})`);
  const when =
    seconds === undefined ? "This request costs more than the limit and can never be admitted." : tryAgain(seconds);
  return `Over the limit ${limits.join(" and ")}. ${when}`;
}

/** Completes a refusal by the program around the limiter: it gets the wait, and no cache may store it. */
export function asRefusal(answer: Response, standard: Response, request: RequestHead): Response {
  const { headers } = answer;
  for (const name of [...headers.keys()]) if (STORING.test(name)) headers.delete(name);
  headers.set("Cache-Control", "no-store");
  // The answer's own wait holds: clients would prefer ours in milliseconds, or not wait at all after a long one.
  const hasWait = headers.has("Retry-After") && standard.headers.has("Retry-After");
  const missing = WAIT_FIELDS.filter((name) => standard.headers.has(name) && !headers.has(name) && !hasWait);
  for (const name of missing) headers.set(name, standard.headers.get(name)!);
  if (missing.length > 0 && request.headers.has("Origin")) {
    headers.append("Access-Control-Expose-Headers", missing.join(", "));
  }
  return answer;
}
