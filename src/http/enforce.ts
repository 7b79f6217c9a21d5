/** The only place where a decision becomes HTTP: the gateway, `withRateLimit` and the Hono middleware all use it. */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { Numbers } from "../core/policy.ts";
import { type Background, checkCost, type Limiter, namedKey, type Take } from "../limiter.ts";
import { addRateLimitFields } from "./headers.ts";
import { keepSlots } from "./keep-slots.ts";
import { clientKey, namedPlan } from "./key.ts";
import { compileMatcher } from "./match.ts";
import { isMetered, readMetered } from "./meter/meter.ts";
import type { ProblemOptions } from "./problem.ts";
import { asRefusal, reasonOf, refusal } from "./refusal.ts";

interface EnforceOptions extends ProblemOptions {
  readonly limiter: Limiter;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Name of the region that answers this request. */
  readonly regionOf: (request: Request) => string;
}

/** Answers a request: refuses it, or lets `next` answer and adds the rate limit fields. */
export type Enforce = (
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
  /** Where work goes on after the answer: releasing slots, taking leases ahead of demand. */
  background?: Background,
  own?: OwnRules,
) => Promise<Response>;

/**
 * Rules of the program around the limiter, in place of the policies' rules: options of `RateLimitOptions`, with their
 * argument. Called only if a policy matches.
 */
export interface OwnRules {
  readonly key?: () => string | undefined | Promise<string | undefined>;
  readonly cost?: () => number | undefined | Promise<number | undefined>;
  readonly plan?: () => string | undefined | Promise<string | undefined>;
  readonly limits?: () => Numbers | undefined | Promise<Numbers | undefined>;
  /** The request with a body that nobody has read, after the functions above. Absent: the request that was given. */
  readonly unread?: () => Request | Promise<Request>;
  /** Called before the request goes on or is refused. */
  readonly onDecision?: (decision: Decision) => void;
  /** Answers in place of the standard refusal. The wait and the rate limit fields of the standard refusal are added. */
  readonly refused?: (standard: Response, decision: Decision) => Response | Promise<Response>;
}

export function createEnforce({ limiter, rateLimitHeaders, regionOf, ...shown }: EnforceOptions): Enforce {
  const match = compileMatcher(limiter.policies);

  return async (request, next, background, own = {}) => {
    const matched = match(request);
    if (matched.length === 0) return await next(request);

    let known: string | undefined;
    const region = () => (known ??= regionOf(request));
    const [ownKey, ownCost] = [own.key && (await own.key()), own.cost && (await own.cost())];
    const [ownPlan, limits] = [own.plan && (await own.plan()), own.limits && (await own.limits())];
    const isMeteredPath = matched.some(({ policy }) => policy.meter);
    const metered =
      isMeteredPath && isMetered(request)
        ? await readMetered(
            matched.map(({ policy }) => policy),
            (await own.unread?.()) ?? request,
            background,
          )
        : undefined;
    // The client has left while its body was read.
    if (metered && request.signal.aborted) return clientIsGone();
    const takes = matched.map(({ policy, cost }): Take => {
      const key = ownKey ? namedKey(ownKey) : clientKey(policy.key, request, region);
      const plan = ownPlan || (policy.plan && namedPlan(policy.plan, request, region));
      const ruled = policy.meter ? metered?.unitsOf(policy.meter) : cost;
      // Under a meter, a request that is not metered only looks: nothing would settle it.
      const units = ruled === undefined ? 0 : ownCost === undefined ? ruled : checkCost(ownCost);
      return { policy, cost: units, key, plan, limits };
    });
    const reservation = metered && (await limiter.reserveMatched(takes, region, background));
    const decision = reservation?.decision ?? (await limiter.takeMatched(takes, region, background));
    const decidedAtMs = Date.now();
    own.onDecision?.(decision);
    const reason = reasonOf(decision, region);
    if (reason) {
      const standard = refusal(request, reason, { ...shown, isMeteredPath });
      const answer = own.refused
        ? asRefusal(changeable(await own.refused(standard, decision)), standard, request)
        : standard;
      return withFields(answer, request, decision, decidedAtMs, rateLimitHeaders);
    }
    const settling = reservation && metered?.settling(reservation);
    const admit = async () => {
      if (decision.delayMs && !request.signal.aborted) await delay(decision.delayMs, request.signal);
      if (request.signal.aborted) return clientIsGone();
      return await (settling ? settling.answer(next) : next(request));
    };
    const hold = settling?.hold ?? decision.hold;
    const response = await (hold ? keepSlots(hold, request, background, admit) : admit());
    return withFields(changeable(response), request, decision, decidedAtMs, rateLimitHeaders);
  };
}

/** Waits until the time of a leaky bucket's request, or until the client goes away. */
async function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** The answer to a client that has gone away. Not an error: many errors would fill the log. */
function clientIsGone(): Response {
  return new Response(null, { status: 499 });
}

/** A response of another program may be immutable, or be returned twice. A copy shares the body and the WebSocket. */
function changeable(response: Response): Response {
  return new Response(response.body, response);
}

/** Adds our fields after the answer's own. A fallback decision knows no true numbers and gets no fields. */
function withFields(
  answer: Response,
  request: Request,
  decision: Decision,
  decidedAtMs: number,
  mode: RateLimitHeaders,
): Response {
  const limits = decision.source === "fallback" ? [] : decision.limits;
  // The waits of a refusal begin with its decision, as that of `Retry-After` does: both name the same second. The clock
  // may have stepped back.
  const elapsedMs = decision.allowed ? Math.max(0, Date.now() - decidedAtMs) : 0;
  const fields = addRateLimitFields(answer.headers, mode, limits, decidedAtMs, elapsedMs);
  // Pages of another origin may read our fields: the CORS headers of the origin server do not name them.
  if (fields.length > 0 && request.headers.has("Origin")) {
    answer.headers.append("Access-Control-Expose-Headers", fields.join(", "));
  }
  return answer;
}
