/** Puts a limiter in front of any fetch handler, or of a whole Worker. */

import { enforceFor, type LimiterSource, ownRules, type RateLimitOptions } from "./options.ts";

/** Options of `withRateLimit`. Its functions get the request; `cost` a copy whose body it may read. */
export type WithRateLimitOptions = RateLimitOptions<Request>;

/** A Worker whose fetch handler is limited; `fetch` may also be used alone. */
export type LimitedHandler<Env, QueueMessage> = ExportedHandler<Env, QueueMessage> & {
  fetch: ExportedHandlerFetchHandler<Env>;
};

/**
 * Wraps a fetch handler function, or the fetch handler of a whole Worker, whose other handlers (`scheduled`, `queue`, `email`,
 * `tail`, …) stay as they are. `this`, `env` and `ctx` are those of the handler.
 *
 * Requests that no policy matches go straight through. The others are charged first; a refused one is answered 429 and never
 * reaches the handler. An answer keeps its own headers and gets the rate limit fields. What the handler throws is thrown on.
 *
 * No page of another origin can read a refusal, since the handler, which may know better, was not asked. To let one:
 * `response: (_decision, _request, standard) => { standard.headers.set("Access-Control-Allow-Origin", origin); return standard; }`.
 *
 * `ctx` is needed for releasing slots (`concurrency`) and for leases after the answer.
 *
 * @param handler `(request, env, ctx) => Response`, or an object or an instance with such a `fetch`, a Hono app for example.
 * @param limiter a limiter, or a function of `env` that makes one: it is called once in an isolate. What it throws, a
 * `ConfigurationError` for example, is thrown to every request.
 * @returns the default export of a Worker.
 * @throws {TypeError} if there is no fetch handler, for an unknown option, or one of a wrong type.
 */
export function withRateLimit<Env = unknown, QueueMessage = unknown>(
  handler: ExportedHandlerFetchHandler<Env> | ExportedHandler<Env, QueueMessage>,
  limiter: LimiterSource<Env>,
  options: WithRateLimitOptions = {},
): LimitedHandler<Env, QueueMessage> {
  const isFunction = typeof handler === "function";
  const answer = isFunction ? handler : handler?.fetch;
  if (typeof answer !== "function") {
    throw new TypeError("withRateLimit: expected a fetch handler, or an object that has one");
  }
  const enforceOf = enforceFor("withRateLimit", limiter, options);
  const { cost: costOf } = options;
  const ofCopy = typeof costOf === "function" && { cost: (request: Request) => costOfCopy(request, costOf) };
  const ruled = { ...options, ...ofCopy };

  const fetch: ExportedHandlerFetchHandler<Env> = async (request, env, ctx) => {
    const next = () => answer.call(handler, request, env, ctx);
    if (await options.skip?.(request)) return await next();
    return await enforceOf(env)(request, next, ctx, ownRules(ruled, request));
  };
  return { ...(!isFunction && boundMembers(handler)), fetch };
}

type CostOf = Extract<WithRateLimitOptions["cost"], (request: Request) => unknown>;

/** The body of a copy is read beside the handler's own. One that is not read is let go, or it would be kept for nothing. */
async function costOfCopy(request: Request, costOf: CostOf): Promise<number | undefined> {
  if (request.body === null) return await costOf(request);
  const copy = request.clone();
  try {
    return await costOf(copy);
  } finally {
    if (!copy.bodyUsed) await copy.body?.cancel();
  }
}

/** Everything that an object or an instance of a class has, with its own `this`. */
function boundMembers(handler: object): Record<string, unknown> {
  const members: Record<string, unknown> = {};
  for (let at = handler; at && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (name === "constructor" || name in members) continue;
      const value = Reflect.get(handler, name) as unknown;
      members[name] = typeof value === "function" ? value.bind(handler) : value;
    }
  }
  return members;
}
