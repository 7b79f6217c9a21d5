/** Where a decision becomes HTTP, and the only place: the gateway, the wrapper and the middleware all come through here. */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import { type Background, checkCost, type Limiter, namedKey, type Take } from "../limiter.ts";
import { addRateLimitFields } from "./headers.ts";
import { keepSlots } from "./keep-slots.ts";
import { clientKey } from "./key.ts";
import { compileMatcher } from "./match.ts";
import type { ProblemOptions } from "./problem.ts";
import { asRefusal, refusal } from "./refusal.ts";

export interface EnforceOptions extends ProblemOptions {
  readonly limiter: Limiter;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Name of the region that answers this request. */
  readonly regionOf: (request: Request) => string;
}

/** Answers a request: refuses it, or lets `next` answer and adds the rate limit fields. */
export type Enforce = (
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
  /** Where work may go on after the answer: releasing slots, asking ahead. */
  background?: Background,
  own?: OwnRules,
) => Promise<Response>;

/** What the program around the limiter knows better than the policies, asked for if any policy matches. */
export interface OwnRules {
  /** Who is counted, under every policy; undefined or empty: whom the policy says. */
  readonly key?: () => string | undefined | Promise<string | undefined>;
  /** Units under every policy, an integer 0 … 10^9; undefined: what the policy says. */
  readonly cost?: () => number | undefined | Promise<number | undefined>;
  /** Told before the request goes on or is refused. */
  readonly onDecision?: (decision: Decision) => void;
  /** Answer in place of the standard refusal, whose wait and rate limit fields are added to it. */
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
    const takes = matched.map(({ policy, cost }): Take => {
      const key = ownKey ? namedKey(ownKey) : clientKey(policy.key, request, region);
      return { policy, cost: ownCost === undefined ? cost : checkCost(ownCost), key };
    });
    const decision = await limiter.takeMatched(takes, region, background);
    const decidedAtMs = Date.now();
    own.onDecision?.(decision);
    const admit = async () => {
      if (decision.delayMs && !request.signal.aborted) await delay(decision.delayMs, request.signal);
      return request.signal.aborted ? nobodyIsLeft() : await next(request);
    };
    const { allowed, hold } = decision;
    if (!allowed) {
      const standard = refusal(request, decision, region, shown);
      const answer = own.refused
        ? asRefusal(changeable(await own.refused(standard, decision)), standard, request)
        : standard;
      return withFields(answer, request, decision, decidedAtMs, rateLimitHeaders);
    }
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

/** To a client that has gone away. No error: a flood of them would fill the log. */
function nobodyIsLeft(): Response {
  return new Response(null, { status: 499 });
}

/** A response that is not ours is immutable, or may be given twice; a copy shares the body and the WebSocket. */
function changeable(response: Response): Response {
  return new Response(response.body, response);
}

/** Adds our fields after those that are there. A fallback knows no true numbers, so it shows none. */
function withFields(
  answer: Response,
  request: Request,
  decision: Decision,
  decidedAtMs: number,
  mode: RateLimitHeaders,
): Response {
  const limits = decision.source === "fallback" ? [] : decision.limits;
  const nowMs = Date.now();
  // A clock may step back meanwhile.
  const elapsedMs = Math.max(0, nowMs - decidedAtMs);
  const fields = addRateLimitFields(answer.headers, mode, limits, nowMs, elapsedMs);
  // Lets a page of another origin read them; the origin's own layer for that cannot know of ours.
  if (fields.length > 0 && request.headers.has("Origin")) {
    answer.headers.append("Access-Control-Expose-Headers", fields.join(", "));
  }
  return answer;
}
