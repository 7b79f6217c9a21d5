/** Puts a limiter in front of a fetch handler or of a whole Worker. */

import { namesPayer } from "../features/overflow/payer.ts";
import type { OwnRules, RateLimitOptions } from "../features/rules/rules.ts";
import { FetchPassage } from "../kernel/http/passage.ts";
import type { Background } from "../kernel/place/taker.ts";
import { enforceFor, type LimiterSource } from "./options.ts";

/** Options of `withRateLimit`. The functions get the request; `cost` gets a copy whose body it may read. */
export type WithRateLimitOptions = RateLimitOptions<Request>;

// Programs elsewhere than on Workers have no @cloudflare/workers-types. There these names are unknown, and count as
// `any` instead of as an error. The comments have this form because the compiler keeps it in declarations.
// biome-ignore lint/suspicious/noTsIgnore: here the line has no error, so that none can be expected
/** @ts-ignore */
type WorkersHandler<Env, QueueMessage> = ExportedHandler<Env, QueueMessage>;
// biome-ignore lint/suspicious/noTsIgnore: as above
/** @ts-ignore */
type WorkersFetch<Env> = ExportedHandlerFetchHandler<Env>;
/** The tuples are needed: a condition on an unknown name is itself unknown. */
type IsAny<T> = [0] extends [1 & T] ? true : false;

/** A fetch handler, with the types of Workers if the program has them. Elsewhere `ctx` may be anything. */
export type FetchHandler<Env> =
  IsAny<WorkersFetch<unknown>> extends true
    ? // biome-ignore lint/suspicious/noExplicitAny: only the handler knows what its platform passes
      (request: Request, env: Env, ctx: any) => Response | Promise<Response>
    : WorkersFetch<Env>;

/** An object with a fetch handler, for example a whole Worker. */
export type Handler<Env, QueueMessage> =
  IsAny<WorkersHandler<unknown, unknown>> extends true
    ? { fetch?: FetchHandler<Env> }
    : WorkersHandler<Env, QueueMessage>;

/** `env` and `ctx` may be left out if the handler does not need `env`; elsewhere than on Workers `ctx` in any case. */
export type LimitedFetch<Env> = undefined extends Env
  ? (request: Request, env?: Env, ctx?: Background) => Response | Promise<Response>
  : IsAny<WorkersFetch<unknown>> extends true
    ? (request: Request, env: Env, ctx?: Background) => Response | Promise<Response>
    : WorkersFetch<Env>;

/** A Worker whose fetch handler is limited; `fetch` may also be used alone. */
export type LimitedHandler<Env, QueueMessage> = Omit<Handler<Env, QueueMessage>, "fetch"> & {
  fetch: LimitedFetch<Env>;
};

/**
 * Wraps a fetch handler function, or the fetch handler of a whole Worker, whose other handlers (`scheduled`, `queue`,
 * `email`, `tail`, …) stay as they are. `this`, `env` and `ctx` are those of the handler.
 *
 * Requests that no policy matches go straight to the handler. Other requests are counted first; a refused request gets
 * 429 and never reaches the handler. An answer keeps its own headers and gets the rate limit headers. Errors of the
 * handler pass through. Under a policy with a `meter` the handler gets a copy of the request with the same body,
 * which asks for an answer that is not compressed. When the client leaves, the signal of this copy is aborted after the
 * handler has answered, or 20 s later: an error then still gives the reservation back.
 *
 * Pages of other origins cannot read a refusal: the handler, which may allow it, did not run. To allow an origin:
 * `response: (_decision, _request, standard) => { standard.headers.set("Access-Control-Allow-Origin", origin); return
 * standard; }`.
 *
 * `ctx` is needed to release slots (`concurrency`), to settle (`meter`) and to take leases after the answer.
 *
 * @param handler `(request, env, ctx) => Response`, or an object or an instance with such a `fetch`, a Hono app for
 * example.
 * @param limiter a limiter, or a function of `env` that makes one: see {@link LimiterSource}. An error of that
 * function, for example a `ConfigurationError`, is thrown to every request.
 * @returns the default export of a Worker.
 * @throws {TypeError} if there is no fetch handler, for an unknown option, and for an option of a wrong type.
 * @throws {ConfigurationError} for a wrong `clientIp`, and elsewhere than on Workers without one if a policy may count
 * by address.
 */
export function withRateLimit<Env = unknown, QueueMessage = unknown>(
  handler: FetchHandler<Env> | Handler<Env, QueueMessage>,
  limiter: LimiterSource<Env>,
  options: WithRateLimitOptions = {},
): LimitedHandler<Env, QueueMessage> {
  const isFunction = typeof handler === "function";
  const answer = isFunction ? handler : handler?.fetch;
  if (typeof answer !== "function") {
    throw new TypeError("withRateLimit: expected a fetch handler, or an object that has one");
  }
  const wayOf = enforceFor("withRateLimit", limiter, options, rulesOf);

  const fetch: FetchHandler<Env> = async (request, env, ctx) => {
    const next = (one: Request) => answer.call(handler, one as typeof request, env, ctx);
    const isSkipped = await options.skip?.(request);
    if (isSkipped && !namesPayer(request)) return await next(request);
    const { enter, send, toCounted, addressIn } = wayOf(env);
    if (isSkipped) return await send(new FetchPassage(request, next, { background: ctx }));
    const own = toCounted(request);
    return await enter(new FetchPassage(own, next, { background: ctx, address: addressIn(own, env) }));
  };
  return { ...(!isFunction && boundMembers(handler)), fetch } as LimitedHandler<Env, QueueMessage>;
}

function rulesOf({ cost, ...others }: WithRateLimitOptions): OwnRules<Request> {
  return { ...others, cost: typeof cost === "function" ? (request) => costOfCopy(request, cost) : cost };
}

type CostOf = Extract<WithRateLimitOptions["cost"], (request: Request) => unknown>;

/**
 * Gives `costOf` a copy of the request. The body of a copy that was not read is cancelled, to free its memory. Nobody
 * waits for that: the promise is fulfilled only when the request's own body has been read, too.
 */
async function costOfCopy(request: Request, costOf: CostOf): Promise<number | undefined> {
  if (request.body === null) return await costOf(request);
  const copy = request.clone();
  try {
    return await costOf(copy);
  } finally {
    if (!copy.bodyUsed) copy.body?.cancel().catch(() => {});
  }
}

/** All members of an object or of a class instance; functions keep their `this`. */
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
