/** `headgate/hono`: the limiter as a middleware, for an app or for a route. */

import type { Context, Env, MiddlewareHandler } from "hono";
import { cloneRawRequest } from "hono/request";
import type { Decision } from "./core/decision.ts";
import { enforceFor, type LimiterSource, ownRules, type RateLimitOptions } from "./http/options.ts";
import type { Background } from "./limiter.ts";

export type { Decision, LimiterSource, RateLimitOptions };

declare module "hono" {
  interface ContextVariableMap {
    /** The decision over this request; of several limiters so far, the one with the fewest units left. Absent: no policy matches. */
    rateLimit: Decision | undefined;
  }
}

/** Lists: a member that was set by earlier middleware does not replace those of a refusal. */
const LISTS = new Set(["vary", "access-control-expose-headers", "link"]);

/** What earlier middleware said of the answer that it expected, which a refusal is not: its body, its age, its wait. */
const OF_ANOTHER =
  /^(?:content-(?!security-policy).*|(?:.*-)?cache-control|surrogate-control|etag|last-modified|expires|age|accept-ranges|(?:repr-)?digest|retry-after|x-should-retry)$/;

/**
 * A middleware that charges a request before the handlers behind it, and answers 429 if a limit refuses it.
 *
 * Every answer of theirs keeps its own headers and gets the rate limit fields: also a `Response` that was fetched, the answer of
 * `app.onError` and of `app.notFound`. Several of these middlewares on one request add to each other's `RateLimit` and
 * `RateLimit-Policy`; the `X-RateLimit-` fields are those of the tighter one. They charge one after the other: what the first has
 * charged stays charged if the second refuses. For all or nothing put both policies into one limiter.
 *
 * A refusal has the headers that earlier middleware has set, but for those that describe a body or let it be stored: it is
 * `no-store`. Which pages of other origins may read it is for earlier middleware to say: put `cors()` before this one. Without it no
 * other origin's page can.
 *
 * In options `cost` and `key` may read the body through `c.req` (`c.req.json()`, not `c.req.raw`); handlers may then read it again,
 * by `c.req` or by `c.req.raw`.
 *
 * @param limiter a limiter, or a function of `c.env` that makes one: it is called once in an isolate.
 * @throws {TypeError} for an unknown option, or one of a wrong type.
 */
export function rateLimit<E extends Env = Env>(
  limiter: LimiterSource<NonNullable<E["Bindings"]>>,
  options: RateLimitOptions<Context<E>> = {},
): MiddlewareHandler {
  const enforceOf = enforceFor("rateLimit", limiter, options);

  return async (c, next) => {
    if (await options.skip?.(c)) return await next();
    const { refused, ...rules } = ownRules(options, c);
    let isRefused = false;
    const own = {
      ...rules,
      ...(rules.cost && { cost: () => keepingBody(c, rules.cost!) }),
      ...(rules.key && { key: () => keepingBody(c, rules.key!) }),
      onDecision: (decision: Decision) => note(c, decision),
      refused: async (standard: Response, decision: Decision) => {
        isRefused = true;
        const answer = refused ? await refused(standard, decision) : standard;
        return withEarlier(answer, c.res.headers);
      },
    };
    const goOn = async () => {
      await next();
      return c.res;
    };
    const answer = await enforceOf(c.env)(c.req.raw, goOn, backgroundOf(c), own);
    if (answer === c.res && !isRefused) return;
    // Else Hono would set the headers of the answer so far again, over the ones that were added to.
    c.res = undefined;
    c.res = answer;
  };
}

/** What the handler gets is the body that was not read: the platform's request can be read once only. */
async function keepingBody<T>(c: Context, read: () => T | Promise<T>): Promise<T> {
  const wasUsed = c.req.raw.bodyUsed;
  const result = await read();
  if (!wasUsed && c.req.raw.bodyUsed) c.req.raw = await cloneRawRequest(c.req);
  return result;
}

function note(c: Context, decision: Decision): void {
  const earlier = c.get("rateLimit");
  const left = ({ remaining = Number.POSITIVE_INFINITY }: Decision) => remaining;
  if (!earlier || !decision.allowed || left(decision) <= left(earlier)) c.set("rateLimit", decision);
}

/**
 * Headers that earlier middleware has set already, CORS for example, go with a refusal too, unless they describe a body or keep
 * it. What the app answers by `c.text()` and the like has all of them already: nothing is added twice.
 */
function withEarlier(refusal: Response, earlier: Headers): Response {
  const answer = new Response(refusal.body, refusal);
  const { headers } = answer;
  const cookies = headers.getSetCookie();
  for (const [name, value] of earlier) {
    const own = headers.get(name);
    if (name === "set-cookie") {
      if (!cookies.includes(value)) headers.append(name, value);
    } else if (OF_ANOTHER.test(name)) {
      if (name !== "content-type" && own === value) headers.delete(name);
    } else if (!LISTS.has(name)) headers.set(name, value);
    else if (!`, ${own}, `.includes(`, ${value}, `)) headers.append(name, value);
  }
  return answer;
}

/** Outside of a Worker there is no execution context, and asking for it throws. */
function backgroundOf(c: Context): Background | undefined {
  try {
    const { executionCtx } = c;
    return { waitUntil: (work) => executionCtx.waitUntil(work) };
  } catch {
    return undefined;
  }
}
