/** `headgate/hono`: the limiter as a middleware, for an app or for a route. */

import type { Context, Env, MiddlewareHandler } from "hono";
import { cloneRawRequest } from "hono/request";
import type { Decision } from "./core/decision.ts";
import type { OwnRules, RateLimitOptions } from "./http/enforce.ts";
import { enforceFor, type LimiterSource } from "./http/options.ts";
import type { Background } from "./limiter.ts";

export type { Decision, LimiterSource, RateLimitOptions };

declare module "hono" {
  interface ContextVariableMap {
    /** The decision over this request; of several, the one with the fewest units left. Absent: no policy matches. */
    rateLimit: Decision | undefined;
  }
}

/** Fields that are lists: members from earlier middleware are added to those of a refusal. */
const LISTS = new Set(["vary", "access-control-expose-headers", "link"]);

/**
 * Fields in which earlier middleware describes the handler's answer: body and wait. A refusal drops them. Fields that
 * let an answer be stored are dropped from every refusal (http/refusal.ts).
 */
const ABOUT_THE_ANSWER =
  /^(?:content-(?!security-policy).*|accept-ranges|(?:repr-)?digest|retry-after(?:-ms)?|x-should-retry)$/;

/**
 * A middleware that charges a request before the handlers behind it, and answers 429 if a limit refuses it.
 *
 * Every answer of the handlers keeps its own headers and gets the rate limit fields: also a `Response` that was
 * fetched, and the answers of `app.onError` and `app.notFound`. Several of these middlewares on one request all add to
 * `RateLimit` and `RateLimit-Policy`; the `X-RateLimit-` fields show the limit with the fewest units left. The
 * middlewares charge one after the other: if the second refuses, the first has charged. For all or nothing put both
 * policies into one limiter.
 *
 * A refusal keeps the headers that earlier middleware has set, except those that describe a body or let it be stored: a
 * refusal is `no-store`. Earlier middleware decides which pages of other origins may read a refusal: put `cors()`
 * before this middleware. Without `cors()` no page of another origin can read it.
 *
 * Under a policy with a `meter`, `c.req` of the handlers asks for an answer that is not compressed. When the client
 * leaves, its signal is aborted after the handlers have answered, or 20 s later: an error then still gives the
 * reservation back.
 *
 * The options `cost`, `key`, `plan` and `limits` may read the body through `c.req` (`c.req.json()`, not `c.req.raw`).
 * Handlers can read the body again, through `c.req` or `c.req.raw`.
 *
 * @param limiter a limiter, or a function of `c.env` that makes one, called once in an isolate or a process, with the
 * first request. On Node, with `@hono/node-server`, the function gets `process.env`. See {@link LimiterSource}.
 * @throws {TypeError} for an unknown option, and for an option of a wrong type.
 */
export function rateLimit<E extends Env = Env>(
  limiter: LimiterSource<NonNullable<E["Bindings"]>>,
  options: RateLimitOptions<Context<E>> = {},
): MiddlewareHandler {
  const enforceOf = enforceFor("rateLimit", limiter, options);
  const { key, cost, plan, limits, response } = options;
  const rules: OwnRules<Context<E>> = {
    key: key && keepingBody(key),
    cost: typeof cost === "function" ? keepingBody(cost) : cost,
    plan: plan && keepingBody(plan),
    limits: limits && keepingBody(limits),
    unread,
    onDecision: note,
    response: async (decision, c, standard) =>
      withEarlier(response ? await response(decision, c, standard) : standard, c.res.headers),
  };

  return async (c, next) => {
    if (await options.skip?.(c)) return await next();
    const given = c.req.raw;
    const goOn = async (request: Request) => {
      const { raw } = c.req;
      if (request !== given) c.req.raw = request;
      await next();
      // Earlier middleware sees the client's own headers again.
      if (request !== given) c.req.raw = raw;
      return c.res;
    };
    const answer = await enforceOf(c.env)(given, goOn, backgroundOf(c), { rules, c });
    // No policy matches. Every other answer is a new one.
    if (answer === c.res) return;
    // Without this line Hono copies the earlier answer's headers over the new ones.
    c.res = undefined;
    c.res = answer;
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
  if (c.req.raw.bodyUsed) c.req.raw = await cloneRawRequest(c.req);
  return c.req.raw;
}

function note(decision: Decision, c: Context): void {
  const earlier = c.get("rateLimit");
  const left = ({ remaining = Number.POSITIVE_INFINITY }: Decision) => remaining;
  if (!earlier || !decision.allowed || left(decision) <= left(earlier)) c.set("rateLimit", decision);
}

/**
 * A refusal with the headers that earlier middleware has set, for example CORS headers, except those about the
 * handler's answer. An answer made with `c.text()` and similar methods has all of them already: no header is added
 * twice.
 */
function withEarlier(refusal: Response, earlier: Headers): Response {
  const answer = new Response(refusal.body, refusal);
  const { headers } = answer;
  const cookies = headers.getSetCookie();
  for (const [name, value] of earlier) {
    const own = headers.get(name);
    if (name === "set-cookie") {
      if (!cookies.includes(value)) headers.append(name, value);
    } else if (ABOUT_THE_ANSWER.test(name)) {
      if (name !== "content-type" && own === value) headers.delete(name);
    } else if (!LISTS.has(name)) headers.set(name, value);
    else if (!`, ${own}, `.includes(`, ${value}, `)) headers.append(name, value);
  }
  return answer;
}

/** Outside of a Worker there is no execution context: `c.executionCtx` throws. */
function backgroundOf(c: Context): Background | undefined {
  try {
    const { executionCtx } = c;
    return { waitUntil: (work) => executionCtx.waitUntil(work) };
  } catch {
    return undefined;
  }
}
