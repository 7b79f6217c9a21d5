/** The bindings of the central Redis. */

import { type Get, isHttpUrl, schemeOf, type Wrong } from "./bindings.ts";

export interface RedisSettings {
  readonly url: string;
  readonly token: string;
  /** Time budget of one decision's calls. */
  readonly timeoutMs: number;
}

/** Undefined: no Redis is configured. */
export function readRedis(get: Get, wrong: Wrong, timeoutMs: number): RedisSettings | undefined {
  const [url, token] = [get("UPSTASH_REDIS_REST_URL"), get("UPSTASH_REDIS_REST_TOKEN")];
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
