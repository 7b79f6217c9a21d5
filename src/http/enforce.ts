/**
 * The only place where a decision becomes HTTP. The gateway, `withRateLimit` and the Hono middleware enforce around a
 * handler that returns a `Response`. The Express middleware judges: its handler writes the answer itself.
 */

import type { RegionNames } from "../config/regions.ts";
import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { Ending, Numbers } from "../core/policy.ts";
import { callsOf, type RpcCalls } from "../json-rpc/calls.ts";
import type { ReadAddress } from "../keys/read.ts";
import type { RequestHead } from "../keys/request-head.ts";
import { type Background, checkCost, type Limiter, namedKey, type Take } from "../limiter.ts";
import { estimateBody } from "../llm/estimate.ts";
import { readBody } from "../request-body.ts";
import { sleep } from "../sleep.ts";
import type { ClientIp } from "./client-ip.ts";
import { noteCounted } from "./counted-twice.ts";
import { endingOf, isStatus } from "./ending.ts";
import { type AnswerHeaders, addRateLimitFields } from "./headers.ts";
import { keepSlots } from "./keep-slots.ts";
import { clientKey, namedOnce, namedPlan } from "./key.ts";
import { type Asked, withLinks } from "./links.ts";
import { compileMatcher, type Matched, matchCalls, needsCalls, sameRequest } from "./match.ts";
import type { OnSettled } from "./meter/log-tokens.ts";
import { isMetered, type MeteredRequest, meteredRequest, type Settling } from "./meter/meter.ts";
import { withPayer } from "./paid-by.ts";
import type { ProblemOptions } from "./problem.ts";
import { asRefusal, reasonOf, refusal } from "./refusal.ts";
import { createAddressNotes } from "./shared-address.ts";

/** @typeParam R a request, as far as the platform knows it before its body. */
interface EnforceOptions<R extends RequestHead> extends ProblemOptions {
  readonly limiter: Limiter;
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Name of the region that answers this request. */
  readonly regionOf: (request: R) => string;
  /** Reads the address that the key `ip` counts. Absent: what Cloudflare's edge says. */
  readonly addressOf?: ReadAddress;
  /** Requests go on to an origin that trusts `Headgate-Paid-By`, also if no policy has an overflow. */
  readonly isGateway?: true;
  /** They get what the answers of language models have used, under policies with a `meter`. */
  readonly onSettled?: readonly OnSettled[];
}

/** Answers a request: refuses it, or lets `next` answer and adds the rate limit fields. */
export type Enforce = <C>(
  request: Request,
  next: (request: Request) => Response | Promise<Response>,
  /** Where work goes on after the answer: releasing slots, taking leases ahead of demand. */
  background?: Background,
  own?: Own<C>,
) => Promise<Response>;

/** The program around the limiter. Absent: the policies decide everything. */
interface Own<C> {
  readonly rules: OwnRules<C>;
  readonly c: C;
  /** What the platform passed beside the request. It may know the connection (client-ip.ts). */
  readonly platform?: unknown;
  /** The same for every middleware around one request. Absent: the request that was given. */
  readonly same?: object;
  /** The program's `skip` says so: no policy applies. Absent: it does not. */
  readonly isSkipped?: true;
}

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
  /**
   * Whose address the key `ip` counts. Needed elsewhere than on Cloudflare Workers: without it, the first request that
   * would be counted by its address is a `ConfigurationError`. See {@link ClientIp}.
   */
  readonly clientIp?: ClientIp;
  /** `true`: the request is not limited, and its answer gets no fields. */
  readonly skip?: (c: C) => boolean | Promise<boolean>;
  /**
   * Answers a refused request in place of `standard`: the problem document with its `Retry-After` (429, or 503 if the
   * store does not answer and a policy says `deny`), the policy's own `refusal`, or the provider's error if a policy of
   * the request has a `meter`.
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
  /** Called before the request goes on or is refused. @param calls as in `Question`. */
  readonly onDecision?: (decision: Decision, c: C, calls: RpcCalls | undefined) => void;
};

/** What was decided about a request before a handler answers it: an answer to a request that must not go on, or… */
type Judged = { readonly answer: Response } | Admitted;

/** …what is left to do about a request that may. */
interface Admitted {
  readonly answer?: undefined;
  readonly decision: Decision;
  readonly settling: Settling | undefined;
  /** Adds our fields to those of the answer. Call it when the answer begins, once for each head. */
  addFields(headers: AnswerHeaders): void;
  /** The answer has its status: call it once, also when nobody has learned it. Absent: no policy has `count`. */
  readonly ended: ((ending: Ending | undefined) => void) | undefined;
}

/** What is asked about a request. */
interface Question {
  /** The policies of the request, at least one. */
  readonly matched: readonly Matched[];
  /** What its body calls, if a policy looks at that. */
  readonly calls?: RpcCalls | undefined;
}

interface Judge<R extends RequestHead> {
  /** The policies that apply, as far as the head of the request says it, and what they cost. */
  match<C>(request: R, own?: Own<C>): readonly Matched[];
  /** @param readMeter reads the body for the policies with a meter. Absent: there are none. */
  judge<C>(
    request: R & { readonly signal?: AbortSignal },
    question: Question,
    background?: Background,
    own?: Own<C>,
    readMeter?: (asked: readonly Asked[]) => Promise<MeteredRequest | undefined>,
  ): Promise<Judged>;
}

export function createJudge<R extends RequestHead>(options: EnforceOptions<R>): Judge<R> {
  const { limiter, rateLimitHeaders, regionOf, addressOf, ...shown } = options;
  const match = compileMatcher(limiter.policies);
  const noteAddress = createAddressNotes();
  const addressIn = <C>(request: R, own: Own<C> | undefined) => addressOf && (() => addressOf(request, own?.platform));

  return {
    match: (request, own) => match(request, addressIn(request, own)),
    async judge(request, { matched, calls }, background, own, readMeter) {
      let known: string | undefined;
      const region = () => (known ??= regionOf(request));
      const address = addressIn(request, own);
      const ownKey = own?.rules.key && (await own.rules.key(own.c));
      const ownCost = typeof own?.rules.cost === "function" ? await own.rules.cost(own.c) : own?.rules.cost;
      const ownPlan = own?.rules.plan && (await own.rules.plan(own.c));
      const limits = own?.rules.limits && (await own.rules.limits(own.c));
      const isMeteredPath = matched.some(({ policy }) => policy.meter);
      const asked = withLinks(matched);
      const metered = isMeteredPath ? await readMeter?.(asked) : undefined;
      // The client has left while its body was read.
      if (metered && request.signal?.aborted) return { answer: clientIsGone() };
      // Keys are read synchronously. Requests that need no claim, or bring no token, wait for nothing.
      const identifying = limiter.identify?.(request, asked, background);
      if (identifying) await identifying;
      const takes = asked.map(({ policy, cost, link, isPreflight }): Take => {
        // The program names the client of the policies that match. Each overflow has a client of its own.
        const key =
          ownKey && !link ? namedKey(ownKey) : clientKey(policy.key, request, region, limiter.ipv6Prefix, address);
        noteAddress(request, key);
        const plan = ownPlan || (policy.plan && namedPlan(policy.plan, request, region));
        const ruled = policy.meter ? metered?.unitsOf(policy.meter) : cost;
        // Under a meter, a request that is not metered only looks: nothing would settle it.
        const units = ruled === undefined ? 0 : ownCost === undefined ? ruled : checkCost(ownCost);
        const id = policy.once && namedOnce(policy.once.source, request, region);
        const once = id && [...id, ...sameRequest(request)];
        return { policy, cost: units, key, plan, limits, once, isPreflight, ...(link !== undefined && { link }) };
      });
      if (own) noteCounted(own.same ?? request, takes);
      const isReserving = metered || matched.some(({ policy }) => policy.count);
      const reservation = isReserving ? await limiter.reserveMatched(takes, region, background) : undefined;
      const decision = reservation ? reservation.decision : await limiter.takeMatched(takes, region, background);
      const decidedAtMs = Date.now();
      own?.rules.onDecision?.(decision, own.c, calls);
      // A preflight's count is not that of the client's requests.
      const mode = matched.some(({ isPreflight }) => isPreflight) ? "none" : rateLimitHeaders;
      const addFields = (headers: AnswerHeaders) => addFieldsTo(headers, request, decision, decidedAtMs, mode);
      const reason = reasonOf(decision, region);
      if (reason) {
        const standard = refusal(request, reason, { ...shown, isMeteredPath, calls });
        const answer = own?.rules.response
          ? asRefusal(changeable(await own.rules.response(decision, own.c, standard)), standard, request)
          : standard;
        addFields(answer.headers);
        return { answer };
      }
      return {
        decision,
        settling: reservation && metered?.settling(reservation),
        addFields,
        ended: reservation && ((ending) => void reservation.ended(ending)),
      };
    },
  };
}

export function createEnforce(options: EnforceOptions<Request>): Enforce {
  const { match, judge } = createJudge(options);
  const saysPayer = options.isGateway || options.limiter.policies.some(({ chain }) => chain);

  return async (request, handle, background, own) => {
    const unread = () => own?.rules.unread?.(own.c) ?? request;
    // Most requests go on as they came: nothing is read for them.
    const outgoing = () => (saysPayer && own?.rules.unread ? unread() : request);
    const pass = async () => await handle(saysPayer ? withPayer(await outgoing(), undefined) : request);
    const found = own?.isSkipped ? [] : match(request, own);
    if (found.length === 0) return await pass();

    let body: ReturnType<typeof read> | undefined;
    const readOnce = async () => {
      body ??= read(await unread(), background);
      return await body;
    };
    const isByCalls = needsCalls(found);
    const calls = isByCalls ? (await readOnce()).calls : undefined;
    const matched = isByCalls ? matchCalls(found, calls) : found;
    // The client has left while its body was read.
    if (calls && request.signal.aborted) return clientIsGone();
    if (matched.length === 0) return await pass();

    const judged = await judge(request, { matched, calls }, background, own, async (asked) => {
      if (!isMetered(request)) return undefined;
      const { estimateBy } = await readOnce();
      return meteredRequest(asked, await unread(), estimateBy, background, options.onSettled ?? []);
    });
    if (judged.answer) return judged.answer;
    const { decision, settling, addFields, ended } = judged;
    const next: typeof handle = (one) => handle(saysPayer ? withPayer(one, decision.paidBy) : one);
    let ending: Ending | undefined;
    const admit = async () => {
      if (decision.delayMs && !request.signal.aborted) await delay(decision.delayMs, request.signal);
      if (request.signal.aborted) return clientIsGone();
      const response = await (settling ? settling.answer(next) : next(await outgoing()));
      if (ended) ending = endingOf(response);
      return response;
    };
    const hold = settling?.hold ?? decision.hold;
    try {
      const answer = await (hold ? keepSlots(hold, request, background, admit) : admit());
      // The program's answer goes on as it is: it can get no fields.
      if (!isStatus(answer)) return answer;
      const response = changeable(answer);
      addFields(response.headers);
      return response;
    } finally {
      // Before the body has ended. It is not waited for.
      ended?.(ending);
    }
  };
}

/** What the body says to the policies that look at it. It is read once, and not kept. */
async function read(request: Request, background: Background | undefined) {
  const reading = readBody(request);
  // Workerd forgets the work of a request whose client has left, unless the background has it: reads are counted.
  background?.waitUntil(reading);
  const body = await reading;
  return { calls: callsOf(body), estimateBy: estimateBody(request, body) };
}

/** Waits until the time of a leaky bucket's request, or until the client goes away. */
export async function delay(delayMs: number, signal: AbortSignal): Promise<void> {
  await sleep(delayMs, signal).catch(() => undefined);
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
function addFieldsTo(
  headers: AnswerHeaders,
  request: RequestHead,
  decision: Decision,
  decidedAtMs: number,
  mode: RateLimitHeaders,
): void {
  const limits = decision.source === "fallback" ? [] : decision.limits;
  // The waits of a refusal begin with its decision, as that of `Retry-After` does: both name the same second. The clock
  // may have stepped back.
  const elapsedMs = decision.allowed ? Math.max(0, Date.now() - decidedAtMs) : 0;
  const fields = addRateLimitFields(headers, mode, limits, decidedAtMs, elapsedMs);
  // Pages of another origin may read our fields: the CORS headers of the origin server do not name them.
  if (fields.length > 0 && request.headers.has("Origin")) {
    headers.append("Access-Control-Expose-Headers", fields.join(", "));
  }
}
