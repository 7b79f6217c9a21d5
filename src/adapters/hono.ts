/** `headgate/hono`: the limiter as a middleware, for an app or for a route. */

import type { Context, Env, MiddlewareHandler } from "hono";
import { cloneRawRequest } from "hono/request";
import { namesPayer } from "../features/overflow/payer.ts";
import type { OwnRules, RateLimitOptions } from "../features/rules/rules.ts";
import type { Decision } from "../kernel/core/decision.ts";
import { noteCopy } from "../kernel/http/client-ip.ts";
import { isShown, withEarlier } from "../kernel/http/earlier.ts";
import { backgroundOf, FetchPassage } from "../kernel/http/passage.ts";
import { enforceFor, type LimiterSource } from "./options.ts";

export type { Decision, LimiterSource, RateLimitOptions };

/** Options of the Hono middleware. The functions get Hono's context. @typeParam Name the name of the property. */
export interface HonoRateLimitOptions<E extends Env = Env, Name extends string = "rateLimit">
  extends RateLimitOptions<Context<E>> {
  /**
   * The name of the context's property that holds the decision: `c.get(name)`. Give middlewares on one request names of
   * their own, and handlers see each decision. Default `"rateLimit"`.
   */
  readonly property?: Name;
}

/** Handlers behind it know the name that `property` gives. Every app knows the default name. */
export type NamingMiddleware<Name extends string> = string extends Name
  ? MiddlewareHandler
  : [Name] extends ["rateLimit"]
    ? MiddlewareHandler
    : MiddlewareHandler<{ Variables: { [Property in Name]: Decision | undefined } }>;

declare module "hono" {
  interface ContextVariableMap {
    /** The decision over this request; of several, the one with the fewest units left. Absent: no policy matches. */
    rateLimit: Decision | undefined;
  }
}

/**
 * A middleware that counts a request before the handlers behind it, and answers 429 if a limit refuses it.
 *
 * Every answer of the handlers keeps its own headers and gets the rate limit headers: also a `Response` that was
 * fetched, and the answers of `app.onError` and `app.notFound`. Several of these middlewares on one request all add to
 * `RateLimit` and `RateLimit-Policy`; the `X-RateLimit-` headers show the limit with the fewest units left. The
 * middlewares count one after the other: if the second refuses, the first has counted. For all or nothing put both
 * policies into one limiter.
 *
 * A refusal keeps the headers that earlier middleware has set, except those that describe a body or let it be stored: a
 * refusal is `no-store`. Earlier middleware decides which pages of other origins may read a refusal: put `cors()`
 * before this middleware. Without `cors()` no page of another origin can read it.
 *
 * Under a policy with a `meter`, `c.req` of the handlers is changed as by `withRateLimit`: it asks for an answer that
 * is not compressed, and its signal is aborted late.
 *
 * The options `cost`, `key`, `plan` and `limits` may read the body through `c.req` (`c.req.json()`, not `c.req.raw`).
 * Handlers can read the body again, through `c.req` or `c.req.raw`.
 *
 * @param limiter a limiter, or a function of `c.env` that makes one: see {@link LimiterSource}.
 * @throws {TypeError} for an unknown option, and for an option of a wrong type.
 * @throws {ConfigurationError} for a wrong `clientIp`, and elsewhere than on Workers without one if a policy may count
 * by address; with a function of `c.env` it comes with the first request.
 */
export function rateLimit<E extends Env = Env, Name extends string = "rateLimit", B = NonNullable<E["Bindings"]>>(
  limiter: LimiterSource<B>,
  options: HonoRateLimitOptions<E, Name> = {},
): NamingMiddleware<Name> {
  const wayOf = enforceFor("rateLimit", limiter, options, rulesOf<E>, { property: "string" });
  if (options.property === "") throw new TypeError("rateLimit: property: expected a non-empty string");

  const handle: MiddlewareHandler = async (c, next) => {
    const isSkipped = await options.skip?.(c);
    if (isSkipped && !namesPayer(c.req.raw)) return await next();
    const { enter, send, toCounted, addressIn } = wayOf(c.env);
    const given = isSkipped ? c.req.raw : await counted(c, toCounted);
    if (given !== c.req.raw) c.req.raw = given;
    const goOn = async (request: Request) => {
      const { raw } = c.req;
      // `raw` may be a copy of the given request that can be read.
      const isOther = request !== given && request !== raw;
      if (isOther) {
        noteCopy(request, given);
        c.req.raw = request;
      }
      await next();
      // Earlier middleware sees the client's own headers again.
      if (isOther) c.req.raw = raw;
      return c.res;
    };
    const known = { background: backgroundOf(c), c, address: addressIn(given, c.env) };
    const passage = new FetchPassage(given, goOn, known, () => unread(c));
    const answer = isSkipped ? await send(passage) : await enter(passage);
    // No policy matches. Every other answer is a new one.
    if (answer === c.res) return;
    // Without this line Hono copies the earlier answer's headers over the new ones.
    c.res = undefined;
    c.res = answer;
  };
  return handle;
}

function rulesOf<E extends Env>(options: HonoRateLimitOptions<E, string>): OwnRules<Context<E>> {
  const { key, cost, plan, limits, response, property = "rateLimit" } = options;
  return {
    key: key && keepingBody(key),
    cost: typeof cost === "function" ? keepingBody(cost) : cost,
    plan: plan && keepingBody(plan),
    limits: limits && keepingBody(limits),
    onDecision: (decision, c) => note(decision, c, property),
    response: async (decision, c, standard) =>
      withEarlier(response ? await response(decision, c, standard) : standard, c.res.headers),
    notRead: (standard, c) => withEarlier(standard, c.res.headers),
  };
}

/** The same function, after which handlers have an unread body: a platform request can be read only once. */
function keepingBody<C extends Context, T>(read: (c: C) => T | Promise<T>): (c: C) => Promise<T> {
  return async (c) => {
    const wasUsed = c.req.raw.bodyUsed;
    const result = await read(c);
    if (!wasUsed) await unread(c);
    return result;
  };
}

async function unread(c: Context): Promise<Request> {
  const { raw } = c.req;
  if (!raw.bodyUsed) return raw;
  c.req.raw = await cloneRawRequest(c.req);
  noteCopy(c.req.raw, raw);
  return c.req.raw;
}

/** The request as it is counted. Where its body was read, the copy is of what `c.req` keeps of it. */
async function counted(c: Context, toCounted: (request: Request) => Request): Promise<Request> {
  const { raw } = c.req;
  if (!raw.bodyUsed) return toCounted(raw);
  const head = new Request(raw.url, { headers: raw.headers });
  return toCounted(head) === head ? raw : toCounted(await unread(c));
}

function note(decision: Decision, c: Context, property: string): void {
  if (isShown(decision, c.get(property))) c.set(property, decision);
}
