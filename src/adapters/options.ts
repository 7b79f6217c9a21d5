/** What `withRateLimit` and the middlewares share: checks their options, makes one `Enforce` for all requests. */

import { countedTwice } from "../features/counted-twice/counted-twice.ts";
import { DEFAULTS } from "../features/default.ts";
import { inOrder } from "../features/order.ts";
import { type OwnRules, type RateLimitOptions, ruledBy } from "../features/rules/rules.ts";
import { checkOptions } from "../kernel/check-options.ts";
import { onceForEqual, processEnv, textsAndNumbersOf } from "../kernel/config/env.ts";
import { checkRegion, checkRegions, type RegionNames } from "../kernel/config/regions.ts";
import { RATE_LIMIT_HEADERS } from "../kernel/config/settings.ts";
import { policyWarnings } from "../kernel/config/warnings.ts";
import { asCounted } from "../kernel/http/as-counted.ts";
import { addressBy, mustHaveAddress } from "../kernel/http/client-ip.ts";
import { createWay, type WayIn } from "../kernel/http/enforce.ts";
import type { PassageOptions } from "../kernel/http/passage.ts";
import { regionOf } from "../kernel/http/region.ts";
import { checkCost } from "../kernel/limiter/takes.ts";
import type { Limiter } from "../kernel/limiter/types.ts";

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

export const OPTION_TYPES: Readonly<Record<keyof RateLimitOptions<never>, string>> = {
  rateLimitHeaders: "string",
  rateLimitHeadersOnCacheable: "boolean",
  region: "string or object or function",
  clientIp: "any",
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

/** One limiter in front of a handler. */
interface Enforcing extends WayIn {
  /** The request as it is counted, for the handler too. */
  readonly toCounted: (request: Request) => Request;
  /** The passage's `address`. @param platform what the platform has passed beside the request. */
  readonly addressIn: (request: Request, platform: unknown) => PassageOptions["address"];
}

/**
 * @param where the beginning of error messages. @param rulesOf what the options come to in front of this handler.
 * @param more the types of options that only this middleware has.
 * @throws {TypeError} if there is no limiter, for an unknown option, for an option of a wrong type, and for a fixed
 * cost that is not an integer 0 … 10^9. @throws {ConfigurationError} for a wrong `clientIp`, and for a missing one.
 */
export function enforceFor<Env, C, Options extends RateLimitOptions<C>>(
  where: string,
  limiter: LimiterSource<Env>,
  options: Options,
  rulesOf: (options: Options) => OwnRules<C>,
  more: Readonly<Record<string, string>> = {},
): (env: Env) => Enforcing {
  const { addressOf, ...answering } = checkedOptions(where, options, { ...OPTION_TYPES, ...more });
  const { region } = options;
  if (typeof region === "object") checkOptions(`${where}: region`, region, REGION_TYPES);
  const regionFor = regionBy(region);
  const rules = rulesOf(options);
  const make = (one: Limiter) => {
    if (!isLimiter(one)) throw noLimiter(where, one, "hono-rate-limiter", ", or a function of env that makes one");
    checkLimiter(where, one, options);
    const addressIn: Enforcing["addressIn"] = (request, platform) =>
      addressOf && (() => addressOf(request, platform, one));
    const way = createWay({
      ...answering,
      limiter: one,
      features: inOrder([...ruledBy(rules), countedTwice, ...DEFAULTS, ...one.httpFeatures]),
      regionOf: regionFor(one),
    });
    return { ...way, toCounted: asCounted(one.policies, one.identify?.places).toCounted, addressIn };
  };
  if (typeof limiter !== "function") {
    const made = make(limiter);
    return () => made;
  }
  const enforceFrom = onceForEqual(textsAndNumbersOf, (env: object) => make(limiter(env as Env)), where);
  // Tests call a Worker without bindings, and some platforms pass nothing.
  const none = {};
  return (given) => enforceFrom((isOfNode(given) ? processEnv() : given) ?? none);
}

/** What people write who come from another limiter: its options, in the place of a limiter. */
export function noLimiter(where: string, given: unknown, other: string, more = ""): TypeError {
  const options = (typeof given === "object" && given) || {};
  const isOfOther = "windowMs" in options || "limit" in options;
  // `Ratelimit` of @upstash/ratelimit has a method of this name.
  const from = "limit" in options && typeof options.limit === "function" ? "upstash-ratelimit" : other;
  const guide = isOfOther ? `. docs/migrate/${from}.md shows how to write these options in headgate` : "";
  return new TypeError(`${where}: expected a limiter made by createLimiter${more}${guide}`);
}

export function isLimiter(one: Limiter): boolean {
  return typeof one?.takeMatched === "function";
}

/** Limiters whose warnings stand in the log. */
const warned = new WeakSet<Limiter>();

/**
 * Refuses a limiter that cannot know who its clients are, and writes what `headgate check` and the gateway warn of,
 * once for each limiter. A program that names clients knows.
 *
 * @throws {ConfigurationError} if a policy may need an address that nobody reads.
 */
export function checkLimiter<C>(where: string, limiter: Limiter, { key, clientIp }: RateLimitOptions<C>): void {
  mustHaveAddress(where, clientIp, limiter.policies, key !== undefined);
  if (key || warned.has(limiter)) return;
  warned.add(limiter);
  for (const note of policyWarnings(limiter.policies, [...DEFAULTS, ...limiter.httpFeatures]))
    console.warn(JSON.stringify({ event: "note", note }));
}

/** What holds for all limiters of these options. @param types of the options there are. @throws as `enforceFor`. */
export function checkedOptions<C>(
  where: string,
  options: RateLimitOptions<C>,
  types: Readonly<Record<string, string>>,
) {
  checkOptions(where, options, types);
  const { rateLimitHeaders = "both", rateLimitHeadersOnCacheable: isForCaches, cost } = options;
  if (!RATE_LIMIT_HEADERS.includes(rateLimitHeaders)) {
    throw new TypeError(`${where}: rateLimitHeaders: expected one of ${RATE_LIMIT_HEADERS.join(", ")}`);
  }
  if (typeof cost === "number") checkCost(cost);
  // An app decides itself which pages of other origins may read its answers.
  return { rateLimitHeaders, isForCaches, anyOrigin: false, addressOf: addressBy(where, options.clientIp) };
}

/**
 * `@hono/node-server` passes an object of the connection, and the variables are those of the process. A Worker's
 * binding may have the same name: that of a service has every property, but none is a text.
 */
function isOfNode(given: unknown): boolean {
  const { incoming } = (given ?? {}) as { readonly incoming?: { readonly httpVersion?: unknown } };
  return typeof incoming?.httpVersion === "string";
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
