/** How the value of a key source is found in a request. */

import { countedAddress } from "./address.ts";
import type { RequestHead } from "./request-head.ts";

/** "Pseudo IPv4" writes an address of class E (240/4) in place of a client's IPv6 address. */
const PSEUDO_ADDRESS = /^2[45]\d\./;

/**
 * Reads the client's address. @param platform what the platform passed beside the request. It may know the connection.
 */
export type ReadAddress = (request: RequestHead, platform?: unknown) => string | null | undefined;

/**
 * The client's address as Cloudflare saw it; the IPv6 address beside it if Cloudflare made a pseudo IPv4 address of
 * that one. X-Forwarded-For and similar fields are never read: clients write them.
 */
export function addressText(
  headers: RequestHead["headers"],
  text: string | null = headers.get("CF-Connecting-IP"),
): string | null {
  if (text === null || !PSEUDO_ADDRESS.test(countedAddress(text) ?? "")) return text;
  const beside = headers.get("CF-Connecting-IPv6");
  return beside !== null && countedAddress(beside) ? beside : text;
}

export function bearerToken(headers: RequestHead["headers"]): string | undefined {
  return /^Bearer +(\S.*)$/i.exec(headers.get("Authorization") ?? "")?.[1];
}

/** By cookie name, for the names in policies. Splitting a header of 64 KiB into its cookies takes ten times as long. */
const cookiePatterns = new Map<string, RegExp>();

export function cookieValue(headers: RequestHead["headers"], name: string): string | undefined {
  let pattern = cookiePatterns.get(name);
  if (!pattern) {
    pattern = new RegExp(`(?:^|;)\\s*${name.replace(/[$*.^|]/g, "\\$&")}\\s*(?:=([^;]*))?(?:;|$)`);
    cookiePatterns.set(name, pattern);
  }
  return pattern.exec(headers.get("Cookie") ?? "")?.[1];
}

/** Parsed queries: several policies may read one query, which may be 16 KiB long. */
const queries = new WeakMap<RequestHead, URLSearchParams>();

export function queryValue(request: RequestHead, name: string): string | null {
  let query = queries.get(request);
  if (!query) {
    query = new URL(request.url).searchParams;
    queries.set(request, query);
  }
  return query.get(name);
}

/** What Cloudflare's edge says about where the client is. */
export function edgeProperty(request: RequestHead, property: "country" | "asn"): string | undefined {
  const value = (request.cf as Record<string, unknown> | undefined)?.[property];
  return value === undefined || value === null ? undefined : String(value);
}
