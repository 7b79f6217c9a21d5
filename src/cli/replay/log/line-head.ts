/** A request's head and its instant, as one line of a log shows them. */

import type { RequestHead } from "../../../keys/request-head.ts";

/** Stands in URLs for a host that the log does not show. */
export const UNKNOWN_HOST = "host.invalid";

/** @param header returns a header by its name in lower case; empty or undefined: the line has none. */
export function headOf(
  method: string,
  url: string,
  header: (name: string) => string | undefined,
  cf?: RequestHead["cf"],
): RequestHead {
  const get = (name: string) => {
    const lower = name.toLowerCase();
    const value = header(lower);
    if (value !== undefined || lower !== "host") return value || null;
    const { host } = new URL(url);
    return host === UNKNOWN_HOST ? null : host;
  };
  return { method, url, headers: { get, has: (name) => get(name) !== null }, cf };
}

/** By authority: logs have few hosts, and checking one is slow. */
const isHost = new Map<string, boolean>();
const MAX_HOSTS = 10_000;
/** Anything else comes from no HTTP client. */
const METHOD = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/;

/**
 * The URL of a request. Undefined: it has no method, no path, or no host that URLs may have.
 *
 * @param target as on the request line: a path with its query, or a whole URL.
 */
export function requestUrl(method: string, isTls: boolean, authority: string, target: string): string | undefined {
  if (!METHOD.test(method)) return undefined;
  if (!target.startsWith("/")) return /^https?:/i.test(target) && URL.canParse(target) ? target : undefined;
  let isKnownHost = isHost.get(authority);
  if (isKnownHost === undefined) {
    isKnownHost = !/[/?#\\@\s]/.test(authority) && URL.canParse(`http://${authority}/`);
    if (isHost.size >= MAX_HOSTS) isHost.clear();
    isHost.set(authority, isKnownHost);
  }
  // Joined, not added: a sum would keep the line that its parts are from in memory.
  return isKnownHost ? [isTls ? "https" : "http", "://", authority, target].join("") : undefined;
}

/** No log is older than HTTP. A later instant is a wrong one, and many functions fail beyond the year 275760. */
const [EARLIEST_MS, LATEST_MS] = [Date.UTC(1990), Date.UTC(2100)];

/** NaN: not an instant that a log can have. */
export function instantInMs(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}
