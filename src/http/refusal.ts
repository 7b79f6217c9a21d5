/** What a refused client is told, by us or by the program around the limiter. */

import type { Decision, LimitDecision } from "../core/decision.ts";
import type { Limit } from "../core/policy.ts";
import { toSeconds } from "./headers.ts";
import { type ProblemOptions, ProblemType, problemResponse, SHOULD_RETRY } from "./problem.ts";
import { describeLimit, describeQuota } from "./quota.ts";

/** What a refusal says of trying again. */
const WAIT_FIELDS = ["Retry-After", SHOULD_RETRY];

/** By what a refusal could be stored, or be taken for what is stored: a copy for others, or a 304. */
const STORING = /^(?:etag|last-modified|expires|age|surrogate-control)$|-cache-control$/;

/** How long a client should wait when the store is away: the breaker probes about every second. */
const UNAVAILABLE_RETRY_SECONDS = 1;

/** @param region the one that answers; called if it matters. */
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

function describeRefusal(
  { source }: Decision,
  violated: readonly LimitDecision[],
  seconds: number | undefined,
  region: () => string,
): string {
  // What is counted in this isolate's memory does not hold in all regions, nor in all of one.
  const describe = (limit: Limit) => (source === "memory" ? describeQuota(limit) : describeLimit(limit, region));
  const limits = violated.map(({ limit }) => `${limit.id} (${describe(limit)})`);
  const when =
    seconds === undefined
      ? "This request costs more than the limit and can never be admitted."
      : `Try again in ${seconds} ${seconds === 1 ? "second" : "seconds"}.`;
  return `Over the limit ${limits.join(" and ")}. ${when}`;
}

/** A refusal that the program around the limiter has written: it says when to try again, and nobody may store it. */
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
