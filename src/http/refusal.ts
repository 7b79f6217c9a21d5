/** The answer to a refused request: headgate's, or that of the program around the limiter. */

import type { Decision, LimitDecision } from "../core/decision.ts";
import type { Limit } from "../core/policy.ts";
import { toSeconds } from "./headers.ts";
import { type ProblemOptions, ProblemType, problemResponse, SHOULD_RETRY } from "./problem.ts";
import { describeLimit, describeQuota } from "./quota.ts";

/** Fields that tell when to try again. */
const WAIT_FIELDS = ["Retry-After", SHOULD_RETRY];

/** Fields by which a cache could store a refusal for others, or answer it with 304. */
const STORING = /^(?:etag|last-modified|expires|age|surrogate-control)$|-cache-control$/;

/** How long a client should wait while the store does not answer: the breaker probes about every second. */
const UNAVAILABLE_RETRY_SECONDS = 1;

/** @param region the region that answers; called only for a limit per region. */
export function refusal(request: Request, decision: Decision, region: () => string, shown: ProblemOptions): Response {
  if (decision.unavailable) {
    return problemResponse(
      request,
      {
        type: ProblemType.temporaryReducedCapacity,
        title: "Temporary Reduced Capacity",
        status: 503,
        detail: "The rate limit of this resource cannot be checked at the moment.",
      },
      { "Retry-After": String(UNAVAILABLE_RETRY_SECONDS) },
      { anyOrigin: shown.anyOrigin },
    );
  }
  if (decision.blocked) return blocked(request, decision, shown);
  const violated = decision.limits.filter(({ admitted }) => !admitted);
  const { retryAfterMs } = decision;
  const seconds = retryAfterMs === undefined ? undefined : Math.max(1, toSeconds(retryAfterMs));
  return problemResponse(
    request,
    {
      type: ProblemType.quotaExceeded,
      title: "Quota Exceeded",
      status: 429,
      detail: describeRefusal(decision, violated, seconds, region),
      "violated-policies": violated.map(({ limit }) => limit.id),
      ...(seconds === undefined && { retry: "never" }),
    },
    seconds === undefined ? { [SHOULD_RETRY]: "false" } : { "Retry-After": String(seconds) },
    shown,
  );
}

/** The client can do nothing about it: there is no page to read, and only a block with an end is worth waiting for. */
function blocked(request: Request, { retryAfterMs }: Decision, { anyOrigin }: ProblemOptions): Response {
  const seconds = retryAfterMs === undefined ? undefined : Math.max(1, toSeconds(retryAfterMs));
  return problemResponse(
    request,
    {
      type: ProblemType.blocked,
      title: "Blocked",
      status: 403,
      detail: `The operator has blocked this client.${seconds === undefined ? "" : ` ${tryAgain(seconds)}`}`,
    },
    seconds === undefined ? { [SHOULD_RETRY]: "false" } : { "Retry-After": String(seconds) },
    { anyOrigin },
  );
}

function tryAgain(seconds: number): string {
  return `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
}

function describeRefusal(
  { source }: Decision,
  violated: readonly LimitDecision[],
  seconds: number | undefined,
  region: () => string,
): string {
  // A memory store counts in one isolate: "in all regions" or "in region eu" would be wrong.
  const describe = (limit: Limit) => (source === "memory" ? describeQuota(limit) : describeLimit(limit, region));
  const limits = violated.map(({ limit }) => `${limit.id} (${describe(limit)})`);
  const when =
    seconds === undefined ? "This request costs more than the limit and can never be admitted." : tryAgain(seconds);
  return `Over the limit ${limits.join(" and ")}. ${when}`;
}

/** Completes a refusal by the program around the limiter: it gets the wait, and no cache may store it. */
export function asRefusal(answer: Response, standard: Response, request: Request): Response {
  const { headers } = answer;
  for (const name of [...headers.keys()]) if (STORING.test(name)) headers.delete(name);
  headers.set("Cache-Control", "no-store");
  const missing = WAIT_FIELDS.filter((name) => standard.headers.has(name) && !headers.has(name));
  for (const name of missing) headers.set(name, standard.headers.get(name)!);
  if (missing.length > 0 && request.headers.has("Origin")) {
    headers.append("Access-Control-Expose-Headers", missing.join(", "));
  }
  return answer;
}
