/** Puts a limiter in front of any fetch handler, or of a whole Worker. */

import { enforceFor, type LimiterSource, ownRules, type RateLimitOptions } from "./options.ts";

/** Options of `withRateLimit`. Its functions get the request; `cost` a copy whose body it may read. */
export type WithRateLimitOptions = RateLimitOptions<Request>;

type FetchHandler<Env> = ExportedHandlerFetchHandler<Env>;

/**
 * Wraps a fetch handler function.
 *
 * Requests that no policy matches go straight through. The others are charged first; a refused one is answered 429 and never
 * reaches the handler. An answer keeps its own headers and gets the rate limit fields. What the handler throws is thrown on.
 *
 * `ctx` is needed for releasing slots (`concurrency`) and for leases after the answer.
 *
 * @param limiter a limiter, or a function of `env` that makes one: it is called once in an isolate. What it throws, a
 * `ConfigurationError` for example, is thrown to every request.
 * @throws {TypeError} if there is no fetch handler, or for options that are none.
 */
export function withRateLimit<Env = unknown>(
  handler: FetchHandler<Env>,
  limiter: LimiterSource<Env>,
  options?: WithRateLimitOptions,
): FetchHandler<Env>;
/** Wraps the fetch handler of a whole Worker. Its other handlers (`scheduled`, `queue`, `email`, …) stay as they are. */
export function withRateLimit<Env = unknown, QueueMessage = unknown>(
  handler: ExportedHandler<Env, QueueMessage>,
  limiter: LimiterSource<Env>,
  options?: WithRateLimitOptions,
): ExportedHandler<Env, QueueMessage> & { fetch: FetchHandler<Env> };
export function withRateLimit<Env>(
  handler: FetchHandler<Env> | ExportedHandler<Env>,
  limiter: LimiterSource<Env>,
  options: WithRateLimitOptions = {},
): FetchHandler<Env> | ExportedHandler<Env> {
  const isFunction = typeof handler === "function";
  const answer = isFunction ? handler : handler?.fetch;
  if (typeof answer !== "function") {
    throw new TypeError("withRateLimit: expected a fetch handler, or an object that has one");
  }
  const enforceOf = enforceFor(limiter, options);

  const fetch: FetchHandler<Env> = async (request, env, ctx) => {
    if (await options.skip?.(request)) return await answer.call(handler, request, env, ctx);
    const { cost } = ownRules(options, request);
    const rules = {
      ...ownRules(options, request),
      ...(cost && typeof options.cost === "function" && { cost: () => costOfCopy(request, options.cost as CostOf) }),
    };
    return await enforceOf(env)(request, () => answer.call(handler, request, env, ctx), ctx, rules);
  };
  return isFunction ? fetch : { ...boundMembers(handler), fetch };
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
