/** The bindings of the central Redis, checked in the same way for the gateway and for `storeFromEnv`. */

import { type Bindings, type Get, isHttpUrl, reading, readMilliseconds, schemeOf, type Wrong } from "./bindings.ts";
import type { Parsed } from "./policies.ts";

export interface RedisSettings {
  readonly url: string;
  readonly token: string;
  /** Time budget of one decision's calls. */
  readonly timeoutMs: number;
}

const DEFAULT_TIMEOUT_MS = 250;
const MAX_TIMEOUT_MS = 30_000;

/** Undefined: no Redis is configured. */
export function parseRedis(bindings: Bindings): Parsed<RedisSettings | undefined> {
  const { get, wrong, mistakes } = reading(bindings);
  const value = readRedis(get, wrong);
  return mistakes.length > 0 ? { mistakes } : { value };
}

export function readRedis(get: Get, wrong: Wrong): RedisSettings | undefined {
  const [url, token] = [get("UPSTASH_REDIS_REST_URL"), get("UPSTASH_REDIS_REST_TOKEN")];
  const timeoutMs = readMilliseconds("REDIS_TIMEOUT_MS", 1, MAX_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, get, wrong);
  if (url === undefined && token === undefined) return undefined;

  if (!isHttpUrl(url)) {
    const expected = "the http(s) URL of the REST service, without credentials (not redis://)";
    wrong("ERR_REDIS_URL", "UPSTASH_REDIS_REST_URL", expected, schemeOf(url));
  }
  if (typeof token !== "string" || /\s/.test(token)) {
    const found = token === undefined ? undefined : "a value that is not shown";
    wrong("ERR_REDIS_TOKEN", "UPSTASH_REDIS_REST_TOKEN", "the token of the REST service, without white space", found);
  }
  return { url: String(url), token: String(token), timeoutMs };
}
