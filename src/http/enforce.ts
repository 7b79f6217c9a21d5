/**
 * The only place where a decision becomes HTTP. The gateway, `withRateLimit` and the Hono middleware enforce around a
 * handler that returns a `Response`. The Express middleware judges: its handler writes the answer itself.
 */

import type { RegionNames } from "../config/regions.ts";
import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { Ending, Numbers } from "../core/policy.ts";
import { callsOf, type RpcCalls, UNREAD } from "../json-rpc/calls.ts";
import type { ReadAddress } from "../keys/read.ts";
import type { RequestHead } from "../keys/request-head.ts";
import { type Background, checkCost, type EarlyTake, type Limiter, namedKey, type Take } from "../limiter.ts";
import { createLines } from "../lines.ts";
import { estimateBody } from "../llm/estimate.ts";
import { MAX_BYTES, type RequestBody, readBody, SlowBody } from "../request-body.ts";
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
import { earlyUnits, isMetered, type MeteredRequest, meteredRequest, type Settling } from "./meter/meter.ts";
import { withPayer } from "./paid-by.ts";
import type { ProblemOptions } from "./problem.ts";
import { asRefusal, NOT_READ, type Reason, reasonOf, refusal } from "./refusal.ts";
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
  /** Answers a request whose body could not be read, in place of `standard`. Absent: `standard` does. */
  readonly notRead?: (standard: Response, c: C) => Response;
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

/** What the program's own rules have said about a request. */
type Ruled = Awaited<ReturnType<typeof ask>>;

/** A request, and what is known about it. Made once, and asked several times. */
interface Asking<C> {
  readonly background?: Background | undefined;
  readonly own?: Own<C> | undefined;
  /** What the rules have said before. Absent: they were not asked. */
  readonly ruled?: Ruled | undefined;
}

/** @param readMeter reads the body for the policies with a meter. Absent: there are none. */
type ReadMeter = () => Promise<MeteredRequest>;

interface Judge<R extends RequestHead> {
  /** The policies that apply, as far as the head of the request says it, and what they cost. */
  match<C>(request: R, own?: Own<C>): readonly Matched[];
  /**
   * The answer to a request that is surely refused, whatever its body. Absent: its body has to be read.
   *
   * @param found what `match` has found. @param unitsOf what is known of the units of a policy.
   */
  refuse<C>(
    request: R,
    found: readonly Matched[],
    unitsOf: typeof earlyUnits,
    asking: Asking<C>,
  ): Promise<{ answer?: Response; ruled?: Ruled }>;
  judge<C>(request: R, question: Question, asking: Asking<C>, readMeter?: ReadMeter): Promise<Judged>;
  /** The answer to a request whose body could not be read. */
  unread<C>(request: R, found: readonly Matched[], failure: keyof typeof NOT_READ, own?: Own<C>): Response;
  /** The client whose share of the isolate a body takes. undefined: nobody knows. */
  clientOf<C>(request: R, own?: Own<C>): string | undefined;
}

const write = createLines();

export function createJudge<R extends RequestHead>(options: EnforceOptions<R>): Judge<R> {
  const { limiter, rateLimitHeaders, regionOf, addressOf, ...shown } = options;
  const match = compileMatcher(limiter.policies);
  const noteAddress = createAddressNotes();
  const addressIn = <C>(request: R, own: Own<C> | undefined) => addressOf && (() => addressOf(request, own?.platform));
  const knownRegion = (request: R) => {
    let known: string | undefined;
    return () => (known ??= regionOf(request));
  };
  const isMeteredPath = (matched: readonly Matched[]) => matched.some(({ policy }) => policy.meter);

  /** The policies and their clients. @param unitsOf the units of a policy. undefined: it only looks. */
  function takesOf<C>(
    request: R,
    asked: readonly Asked[],
    region: () => string,
    { own, ruled }: Asking<C>,
    unitsOf: (asked: Asked) => number | undefined,
  ): readonly Take[] {
    const address = addressIn(request, own);
    return asked.map((one): Take => {
      const { policy, link, isPreflight } = one;
      // The program names the client of the policies that match. Each overflow has a client of its own.
      const key =
        ruled?.key && !link ? namedKey(ruled.key) : clientKey(policy.key, request, region, limiter.ipv6Prefix, address);
      noteAddress(request, key);
      const plan = ruled?.plan || (policy.plan && namedPlan(policy.plan, request, region));
      const found = unitsOf(one);
      // Under a meter, a request that is not metered only looks: nothing would settle it.
      const cost = found === undefined ? 0 : ruled?.cost === undefined ? found : checkCost(ruled.cost);
      const id = policy.once && namedOnce(policy.once.source, request, region);
      const once = id && [...id, ...sameRequest(request)];
      return { policy, cost, key, plan, limits: ruled?.limits, once, isPreflight, ...(link !== undefined && { link }) };
    });
  }

  async function refused<C>(
    request: R,
    decision: Decision,
    reason: Reason,
    { matched, calls }: Question,
    { own }: Asking<C>,
  ): Promise<Response> {
    const standard = refusal(request, reason, { ...shown, isMeteredPath: isMeteredPath(matched), calls });
    if (!own?.rules.response) return standard;
    return asRefusal(changeable(await own.rules.response(decision, own.c, standard)), standard, request);
  }

  return {
    match: (request, own) => match(request, addressIn(request, own)),
    clientOf(request, own) {
      try {
        const { values } = clientKey(["ip"], request, () => "", limiter.ipv6Prefix, addressIn(request, own));
        return values.join();
      } catch {
        // The program has not said where the address is, and no policy counts by it.
        return undefined;
      }
    },
    unread(request, found, failure, own) {
      write(() => ({ event: "body-not-read", at: new Date().toISOString(), failure }));
      const calls = needsCalls(found) ? UNREAD : undefined;
      const standard = refusal(request, NOT_READ[failure], { ...shown, isMeteredPath: isMeteredPath(found), calls });
      const answer = own?.rules.notRead?.(standard, own.c);
      return answer ? asRefusal(answer, standard, request) : standard;
    },
    async refuse(request, found, unitsOf, { background, own }) {
      // The cost that a program computes may depend on the body.
      if (typeof own?.rules.cost === "function") return {};
      const units = new Map(found.map((one) => [one.policy, unitsOf(request, one)]));
      const early = found.filter(({ policy }) => !policy.chain && units.get(policy)!.atLeast > 0);
      if (early.length === 0) return {};
      const ruled = own && (await ask(own));
      const asking = { background, own, ruled };
      const region = knownRegion(request);
      const identifying = limiter.identify?.(request, early, background);
      if (identifying) await identifying;
      const takes = takesOf(request, early, region, asking, ({ policy }) => units.get(policy)!.cost);
      const known = takes.flatMap((take): EarlyTake[] => {
        const atLeast = ruled?.cost ?? units.get(take.policy)!.atLeast;
        return atLeast > 0 ? [{ ...take, atLeast }] : [];
      });
      const decision = known.length > 0 ? await limiter.refuseMatched(known, region, background) : undefined;
      const reason = decision && reasonOf(decision, region);
      if (!decision || !reason) return { ...(ruled && { ruled }) };
      const calls = needsCalls(found) ? UNREAD : undefined;
      own?.rules.onDecision?.(decision, own.c, calls);
      const answer = await refused(request, decision, reason, { matched: found, calls }, asking);
      addFieldsTo(answer.headers, request, decision, Date.now(), rateLimitHeaders);
      return { answer };
    },
    async judge(request, question, given, readMeter) {
      const { matched, calls } = question;
      const { background, own } = given;
      const region = knownRegion(request);
      const asking = { ...given, ruled: given.ruled ?? (own && (await ask(own))) };
      const asked = withLinks(matched);
      const metered = isMeteredPath(matched) ? await readMeter?.() : undefined;
      // Keys are read synchronously. Requests that need no claim, or bring no token, wait for nothing.
      const identifying = limiter.identify?.(request, asked, background);
      if (identifying) await identifying;
      const takes = takesOf(request, asked, region, asking, ({ policy, cost }) =>
        policy.meter ? metered?.unitsOf(policy.meter) : cost,
      );
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
        const answer = await refused(request, decision, reason, question, asking);
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

/** Asks the program's own rules, one after another: they may read the body. */
async function ask<C>({ rules, c }: Own<C>) {
  const key = rules.key && (await rules.key(c));
  const cost = typeof rules.cost === "function" ? await rules.cost(c) : rules.cost;
  const plan = rules.plan && (await rules.plan(c));
  const limits = rules.limits && (await rules.limits(c));
  return { key, cost, plan, limits };
}

export function createEnforce(options: EnforceOptions<Request>): Enforce {
  const { match, refuse, judge, unread: notRead, clientOf } = createJudge(options);
  const saysPayer = options.isGateway || options.limiter.policies.some(({ chain }) => chain);

  return async (request, handle, background, own) => {
    const unread = () => own?.rules.unread?.(own.c) ?? request;
    // Most requests go on as they came: nothing is read for them.
    const outgoing = () => (saysPayer && own?.rules.unread ? unread() : request);
    const pass = async () => await handle(saysPayer ? withPayer(await outgoing(), undefined) : request);
    const found = own?.isSkipped ? [] : match(request, own);
    if (found.length === 0) return await pass();

    const isByCalls = needsCalls(found);
    const isLookedAt = isByCalls || (isMetered(request) && found.some(({ policy }) => policy.meter));
    let body: ReturnType<typeof meaningOf> | undefined;
    let ruled: Ruled | undefined;
    if (isLookedAt && request.body !== null) {
      const early = await refuse(request, found, earlyUnits, { background, own });
      if (early.answer) return early.answer;
      ruled = early.ruled;
      const reading = readBody(await unread(), { client: clientOf(request, own), waitMs: TURN_MS });
      // Workerd forgets the work of a request whose client has left, unless the background has it: reads are counted.
      background?.waitUntil(reading);
      const read = await reading;
      // The client has left while its body was read.
      if (request.signal.aborted) return clientIsGone();
      if (read.failure) return notRead(request, found, read.failure, own);
      body = meaningOf(request, read);
    }
    const matched = isByCalls ? matchCalls(found, body?.calls) : found;
    if (matched.length === 0) return await pass();

    const calls = isByCalls ? body?.calls : undefined;
    const { estimateBy, isLonger = false } = body ?? {};
    const readMeter =
      estimateBy &&
      (async () => {
        return meteredRequest(await unread(), { estimateBy, isLonger }, background, options.onSettled ?? []);
      });
    const judged = await judge(request, { matched, calls }, { background, own, ruled }, readMeter);
    if (judged.answer) return judged.answer;
    const { decision, settling, addFields, ended } = judged;
    const next: typeof handle = (one) => handle(saysPayer ? withPayer(one, decision.paidBy) : one);
    let ending: Ending | undefined;
    const admit = async (signal?: AbortSignal) => {
      if (decision.delayMs && !request.signal.aborted) await delay(decision.delayMs, request.signal);
      if (request.signal.aborted) return clientIsGone();
      const response = await (settling
        ? settling.answer(next, signal!)
        : next(signal && options.isGateway ? new Request(request, { signal }) : await outgoing()));
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
    } catch (error) {
      if (error instanceof SlowBody) return notRead(request, found, "slow", own);
      throw error;
    } finally {
      // Before the body has ended. It is not waited for.
      ended?.(ending);
    }
  };
}

/** How long a body waits until it may be read. Then its client gets 503. */
const TURN_MS = 10_000;

/** What the body says to the policies that look at it. It is read once, and not kept. */
function meaningOf(request: Request, body: RequestBody) {
  const isLonger = body.length > MAX_BYTES;
  // What follows is charged while it passes.
  const estimateBy = estimateBody(request, isLonger ? { ...body, length: MAX_BYTES } : body);
  return { calls: callsOf(body), estimateBy, isLonger };
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
