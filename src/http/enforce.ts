/** The only place where a decision becomes HTTP: the gateway, `withRateLimit` and the Hono middleware all use it. */

import type { RegionNames } from "../config/regions.ts";
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
export type Enforce = <C>(
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
  /** Where work goes on after the answer: releasing slots, taking leases ahead of demand. */
  background?: Background,
  /** Absent: the policies decide everything. */
  own?: { readonly rules: OwnRules<C>; readonly c: C },
) => Promise<Response>;

/** @typeParam C the functions' argument: a `Request`, or Hono's context. */
export interface RateLimitOptions<C> {
  /** Fields of answers: `"both"` (default), `"draft-11"` (`RateLimit…`), `"legacy"` (`X-RateLimit-…`) or `"none"`. */
  readonly rateLimitHeaders?: RateLimitHeaders;
  /**
   * Where limits with `scope: "region"` count: a name, names by Cloudflare's codes
   * (`{ colo: { FRA: "frankfurt" }, country: {…}, continent: {…} }`, in that order; without a name the continent's
   * code, without a code `"local"`), or a function. Default: the limiter's region.
   */
  readonly region?: string | Partial<RegionNames> | ((request: Request) => string);
  /** Who is counted, under every policy that matches. `undefined` or empty: the policy's `key` decides. */
  readonly key?: (c: C) => string | undefined | Promise<string | undefined>;
  /**
   * Units of a request under every policy that matches, an integer 0 … 10^9; 0 looks without charging. Default: the
   * policy's `cost`. A function may read the body: the handler can read it again. Under a policy with a `meter` it is
   * what is reserved, and a request that is not metered costs nothing.
   *
   * The body that the function reads is kept in memory for the handler. Limit its size: look at `Content-Length` first,
   * or put a body limit in front. Any other result is a `TypeError` for the caller, and nothing is charged.
   */
  readonly cost?: number | ((c: C) => number | undefined | Promise<number | undefined>);
  /** The client's plan, under every policy that matches. `undefined` or empty: read as the policy's `plan` says. */
  readonly plan?: (c: C) => string | undefined | Promise<string | undefined>;
  /**
   * Other numbers for this client by the ids of limits, for example `{ "api-1": 200 }`; they come before those of a
   * plan. `undefined`, and a limit without a number: those of the plan, or as written. A number that a limit cannot
   * have, and an id that no limit has, is a `TypeError` for the caller, and nothing is charged.
   */
  readonly limits?: (c: C) => Numbers | undefined | Promise<Numbers | undefined>;
  /** `true`: the request is not limited, and its answer gets no fields. */
  readonly skip?: (c: C) => boolean | Promise<boolean>;
  /**
   * Answers a refused request in place of `standard`: the problem document with its `Retry-After` (429, or 503 if the
   * store does not answer and a policy says `deny`), or the provider's error if a policy of the request has a `meter`.
   * The returned answer gets the rate limit fields, the `Retry-After` of `standard` unless it has its own, and
   * `Cache-Control: no-store` in place of fields that let an answer be stored.
   */
  readonly response?: (decision: Decision, c: C, standard: Response) => Response | Promise<Response>;
}

/** Rules of the program around the limiter, in place of the policies' rules. Called only if a policy matches. */
export type OwnRules<C> = {
  readonly [Rule in "key" | "cost" | "plan" | "limits" | "response"]?: RateLimitOptions<C>[Rule] | undefined;
} & {
  /** The request with a body that nobody has read, after the rules above. Absent: the request that was given. */
  readonly unread?: (c: C) => Request | Promise<Request>;
  /** Called before the request goes on or is refused. */
  readonly onDecision?: (decision: Decision, c: C) => void;
};

export function createEnforce({ limiter, rateLimitHeaders, regionOf, ...shown }: EnforceOptions): Enforce {
  const match = compileMatcher(limiter.policies);

  return async (request, next, background, own) => {
    const matched = match(request);
    if (matched.length === 0) return await next(request);

    let known: string | undefined;
    const region = () => (known ??= regionOf(request));
    const ownKey = own?.rules.key && (await own.rules.key(own.c));
    const ownCost = typeof own?.rules.cost === "function" ? await own.rules.cost(own.c) : own?.rules.cost;
    const ownPlan = own?.rules.plan && (await own.rules.plan(own.c));
    const limits = own?.rules.limits && (await own.rules.limits(own.c));
    const isMeteredPath = matched.some(({ policy }) => policy.meter);
    const metered =
      isMeteredPath && isMetered(request)
        ? await readMetered(
            matched.map(({ policy }) => policy),
            (await own?.rules.unread?.(own.c)) ?? request,
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
    own?.rules.onDecision?.(decision, own.c);
    const reason = reasonOf(decision, region);
    if (reason) {
      const standard = refusal(request, reason, { ...shown, isMeteredPath });
      const answer = own?.rules.response
        ? asRefusal(changeable(await own.rules.response(decision, own.c, standard)), standard, request)
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
