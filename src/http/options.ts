/** Shared by `withRateLimit` and the Hono middleware: options, and one `Enforce` for all requests. */

import { checkOptions } from "../check-options.ts";
import { onceForEqual, processEnv, textsAndNumbersOf } from "../config/env.ts";
import { checkRegion, checkRegions, type RegionNames } from "../config/regions.ts";
import { RATE_LIMIT_HEADERS, type RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { Numbers } from "../core/policy.ts";
import { checkCost, type Limiter } from "../limiter.ts";
import { createEnforce, type Enforce, type OwnRules } from "./enforce.ts";
import { regionOf } from "./region.ts";

/**
 * A limiter, or a function that makes one from a Worker's bindings. The function is called with the first request, and
 * again only if a text or a number among the bindings has changed: adapters of Hono for other platforms pass a new
 * `env` object with each request. So make the limiter only from what outlives a request: variables and bindings.
 * Requests that run when a text changes end with the limiter that they began with.
 *
 * With `@hono/node-server` the function gets `process.env`, elsewhere what the platform passes. `storeFromEnv` takes
 * either.
 */
export type LimiterSource<Env> = Limiter | ((env: Env) => Limiter);

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

const OPTION_TYPES: Readonly<Record<keyof RateLimitOptions<never>, string>> = {
  rateLimitHeaders: "string",
  region: "string or object or function",
  key: "function",
  cost: "number or function",
  plan: "function",
  limits: "function",
  skip: "function",
  response: "function",
};
const REGION_TYPES: Readonly<Record<keyof RegionNames, string>> = {
  colo: "object",
  country: "object",
  continent: "object",
};

/**
 * @param where the beginning of error messages.
 * @throws {TypeError} if there is no limiter, for an unknown option, for an option of a wrong type, and for a fixed
 * cost that is not an integer 0 … 10^9.
 */
export function enforceFor<Env, C>(
  where: string,
  limiter: LimiterSource<Env>,
  options: RateLimitOptions<C>,
): (env: Env) => Enforce {
  checkOptions(where, options, OPTION_TYPES);
  const { rateLimitHeaders = "both", region, cost } = options;
  if (typeof region === "object") checkOptions(`${where}: region`, region, REGION_TYPES);
  if (!RATE_LIMIT_HEADERS.includes(rateLimitHeaders)) {
    throw new TypeError(`${where}: rateLimitHeaders: expected one of ${RATE_LIMIT_HEADERS.join(", ")}`);
  }
  if (typeof cost === "number") checkCost(cost);
  const regionFor = regionBy(region);
  const make = (one: Limiter) => {
    if (typeof one?.takeMatched === "function") {
      // An app decides itself which pages of other origins may read its answers.
      return createEnforce({ limiter: one, rateLimitHeaders, regionOf: regionFor(one), anyOrigin: false });
    }
    throw new TypeError(`${where}: expected a limiter made by createLimiter, or a function of env that makes one`);
  };
  if (typeof limiter !== "function") {
    const enforce = make(limiter);
    return () => enforce;
  }
  const enforceFrom = onceForEqual(textsAndNumbersOf, (env: object) => make(limiter(env as Env)), where);
  // Tests call a Worker without bindings, and some platforms pass nothing.
  const none = {};
  return (given) => enforceFrom((isOfNode(given) ? processEnv() : given) ?? none);
}

/**
 * `@hono/node-server` passes an object of the connection, and the variables are those of the process. A Worker's
 * binding may have the same name: that of a service has every property, but none is a text.
 */
function isOfNode(given: unknown): boolean {
  const { incoming } = (given ?? {}) as { readonly incoming?: { readonly httpVersion?: unknown } };
  return typeof incoming?.httpVersion === "string";
}

/** The options' functions with the argument of one request. */
export function ownRules<C>({ key, cost, plan, limits, response }: RateLimitOptions<C>, c: C): OwnRules {
  return {
    ...(key && { key: () => key(c) }),
    ...(cost !== undefined && { cost: () => (typeof cost === "number" ? cost : cost(c)) }),
    ...(plan && { plan: () => plan(c) }),
    ...(limits && { limits: () => limits(c) }),
    ...(response && { refused: (standard, decision) => response(decision, c, standard) }),
  };
}

/** @throws {TypeError} for an invalid name or table of names. The limiter checks the names that a function returns. */
function regionBy(region: RateLimitOptions<never>["region"]): (limiter: Limiter) => (request: Request) => string {
  if (typeof region === "function") return () => region;
  if (region === undefined) return (limiter) => () => limiter.region;
  if (typeof region === "object") {
    const names = checkRegions(region);
    return () => (request) => regionOf(request, undefined, names);
  }
  const name = checkRegion(region);
  return () => () => name;
}
