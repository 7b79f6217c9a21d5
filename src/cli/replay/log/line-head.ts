/** A request's head and its instant, as one line of a log shows them. */

import type { RequestHead } from "../../../keys/request-head.ts";

/** Stands in URLs for a host that the log does not show. */
export const UNKNOWN_HOST = "host.invalid";

/** It is its own headers: one object for each line less. */
export abstract class LineHead implements RequestHead {
  readonly method: string;
  readonly url: string;

  constructor(method: string, url: string) {
    this.method = method;
    this.url = url;
  }

  get headers(): Pick<Headers, "get" | "has"> {
    return this;
  }

  /** @param name of a header, in any case. */
  get(name: string): string | null {
    const lower = name.toLowerCase();
    return (this.header(lower) ?? (lower === "host" ? this.#host() : undefined)) || null;
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  /** Undefined: the log does not have it. Empty: the request did not. @param name in lower case. */
  protected abstract header(name: string): string | undefined;

  #host(): string | undefined {
    const { host } = new URL(this.url);
    return host === UNKNOWN_HOST ? undefined : host;
  }
}

/** By authority: logs have few hosts, and checking one is slow. */
const isHost = new Map<string, boolean>();
const MAX_HOSTS = 10_000;

/**
 * The URL of a request, undefined if no policy could match the request: it has no method, no path, or no host that URLs
 * may have. `new URL` reads the answer without an error.
 *
 * @param scheme `http` or `https`.
 * @param target as on the request line: a path with its query, or a whole URL.
 */
export function requestUrl(method: string, scheme: string, authority: string, target: string): string | undefined {
  // Anything but a method of RFC 9110 comes from no HTTP client.
  if (!/^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/.test(method)) return undefined;
  if (!target.startsWith("/")) return /^https?:/i.test(target) && URL.canParse(target) ? target : undefined;
  let isKnownHost = isHost.get(authority);
  if (isKnownHost === undefined) {
    isKnownHost = !/[/?#\\@\s]/.test(authority) && URL.canParse(`http://${authority}/`);
    if (isHost.size >= MAX_HOSTS) isHost.clear();
    isHost.set(authority, isKnownHost);
  }
  // Joined, not added: a sum would keep the line that its parts are from in memory.
  return isKnownHost ? [scheme, "://", authority, target].join("") : undefined;
}

/** No log is older than HTTP. A later instant is a wrong one, and many functions fail beyond the year 275760. */
const [EARLIEST_MS, LATEST_MS] = [Date.UTC(1990), Date.UTC(2100)];

/** NaN: not an instant that a log can have. */
export function instantInMs(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}
