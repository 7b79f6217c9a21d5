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

/**
 * What servers cut off as the token: `Bearer tok 7` and `Bearer tok;7` are `tok` to many. The characters are those of
 * RFC 6750, section 2.1, and `|`, which the tokens of Laravel have.
 */
const BEARER = /^\s*Bearer\s+([\w.~+/|-]+=*)/i;

export function bearerToken(headers: RequestHead["headers"]): string | undefined {
  const text = headers.get("Authorization") ?? "";
  return text.includes(",") ? undefined : BEARER.exec(text)?.[1];
}

/** Fields with commas in what honest clients send: lists, and texts for people. */
const WITH_COMMAS = /^(?:accept|cf-|content-|cookie$|date$|from$|if-|origin$|referer$|sec-|user-agent$|x-forwarded-)/i;
const LISTS = /^(?:cache-control|forwarded|pragma|prefer|te|via)$/i;

/** Whether a field that a key names is a credential: with a comma it is two, and nobody knows which of them is read. */
function isCredential(name: string): boolean {
  return !WITH_COMMAS.test(name) && !LISTS.test(name);
}

/** A field as the runtime joins it. A credential that was sent twice counts as absent. */
export function headerValue(headers: RequestHead["headers"], name: string): string | null {
  const value = headers.get(name);
  if (value?.includes(",") && isCredential(name)) return null;
  if (value === null || name.toLowerCase() !== "authorization") return value;
  const token = BEARER.exec(value)?.[1];
  return token === undefined ? value.replace(/\s+/g, " ") : `Bearer ${token}`;
}

/** By cookie name, for the names in policies. Splitting a header of 64 KiB into its cookies takes ten times as long. */
const cookiePatterns = new Map<string, RegExp>();

/** The first cookie of this name, as it was sent. */
export function cookieValue(headers: RequestHead["headers"], name: string): string | undefined {
  let pattern = cookiePatterns.get(name);
  if (!pattern) {
    pattern = new RegExp(`(?:^|;)\\s*${name.replace(/[$*.^|]/g, "\\$&")}\\s*=([^;]*)`);
    cookiePatterns.set(name, pattern);
  }
  return pattern.exec(headers.get("Cookie") ?? "")?.[1];
}

/** A cookie as servers read it: without quotes, `\"` and `\141` inside them resolved (Python), then percent-decoded. */
export function plainCookie(text: string): string {
  const [, quoted] = /^"(.*)"$/s.exec(text.trim()) ?? [];
  const plain = quoted?.replace(/\\([0-3][0-7]{2}|.)/gs, (_, one: string) =>
    one.length === 3 ? String.fromCharCode(Number.parseInt(one, 8)) : one,
  );
  const value = plain ?? text;
  try {
    return decodeURIComponent(value).trim();
  } catch {
    return value.trim();
  }
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
