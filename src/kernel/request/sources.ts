/**
 * The key sources: what a policy's `key` may name. Three tables have one row for each source: how the source is written
 * and counted, how a request presents it, and what people are told. A bundle leaves out the tables that its program
 * does not use. Behind them are the functions that find a value in a request.
 */

import { countedAddress, countedIpv4Network } from "./address.ts";
import { bodyText } from "./body-texts.ts";
import { claimText, countedClaim, withoutIssuer } from "./claims.ts";
import type { ClientKey } from "./hash.ts";
import type { RequestHead } from "./request-head.ts";
import { normalizeHost } from "./text.ts";

interface SourceForm {
  /** What follows the source and a colon, as a regular expression. Absent: nothing follows. */
  readonly name?: string;
  /** The form in which a value is counted; empty or undefined: not a value of this source. Absent: counted as it is. */
  readonly counted?: (value: string, ipv6Prefix?: number) => string | undefined;
  /** What a caller of the library has to give, for error texts. Absent: any text that is not empty. */
  readonly expected?: string;
  /** It counts the client's address, in whatever form. */
  readonly isAddress?: true;
  /** The plan that a counted value names. Absent: the value itself. */
  readonly planOf?: (value: string) => string;
  /** Keys may name it only beside a feature that reads it. */
  readonly isAdded?: true;
}

export const FIELD_NAME = "[!#$%&'*.^_`|~0-9A-Za-z-]+";
const trim = (value: string) => value.trim();

const ADDRESS = "an IPv4 or IPv6 address";

/** IPv6 as its network of this size, IPv4 whole. By hand, the network may be given. */
function network(ipv6Prefix: number) {
  const suffix = new RegExp(`/${ipv6Prefix}$`);
  const counted = (text: string) => countedAddress(text.replace(suffix, ""), ipv6Prefix);
  return { counted, expected: ADDRESS, isAddress: true } as const;
}

/** In the order in which error texts name the sources. */
export const KEY_SOURCES = {
  ip: { counted: countedAddress, expected: ADDRESS, isAddress: true },
  "ip/64": network(64),
  "ip/56": network(56),
  "ip/48": network(48),
  "ip/32": network(32),
  "ip4/24": { counted: countedIpv4Network, expected: ADDRESS, isAddress: true },
  bearer: { counted: trim },
  jwt: {
    name: "[^\\s+]+",
    counted: countedClaim,
    expected: 'the issuer, a space and the claim, for example "https://id.example.com ann"',
    planOf: withoutIssuer,
  },
  header: { name: FIELD_NAME, counted: trim },
  cookie: { name: FIELD_NAME, counted: plainCookie },
  query: { name: "[^+]+" },
  body: { name: "[^\\s+]+", isAdded: true },
  country: {},
  asn: {},
  host: { counted: countedHost, expected: "a host name" },
  region: {},
  global: { counted: (value) => (value === "global" ? value : undefined), expected: '"global"' },
} as const satisfies Record<string, SourceForm>;

export type KeySource = keyof typeof KEY_SOURCES;

/** Those that count the client's address. */
export const ADDRESSES: readonly string[] = Object.entries<SourceForm>(KEY_SOURCES).flatMap(
  ([source, { isAddress }]) => (isAddress ? source : []),
);

/** How a request presents a source: its text, empty or absent if the request does not. */
type ReadSource = (request: RequestHead, name: string, region: () => string) => string | null | undefined;

export const KEY_READERS: Readonly<Record<KeySource, ReadSource>> = {
  ip: ({ headers }) => addressText(headers),
  "ip/64": ({ headers }) => addressText(headers),
  "ip/56": ({ headers }) => addressText(headers),
  "ip/48": ({ headers }) => addressText(headers),
  "ip/32": ({ headers }) => addressText(headers),
  "ip4/24": ({ headers }) => addressText(headers),
  bearer: ({ headers }) => bearerToken(headers),
  jwt: claimText,
  header: ({ headers }, name) => headerValue(headers, name),
  cookie: ({ headers }, name) => cookieValue(headers, name),
  query: queryValue,
  body: bodyText,
  country: (request) => edgeProperty(request, "country"),
  asn: (request) => edgeProperty(request, "asn"),
  host: ({ url }) => new URL(url).hostname,
  region: (_request, _name, region) => region(),
  global: () => "global",
};

interface SourceDescription {
  /** The source in words for people. The name follows, if there is one. */
  readonly words: string;
  /** Who sets the value. The client's own values can change with every request: each is a new partition. */
  readonly chosenBy: "client" | "edge" | "issuer" | "operator";
  /** Every client's request presents it: kinds after it in a list are not used. */
  readonly isAlwaysPresent?: true;
}

export const KEY_DESCRIPTIONS: Readonly<Record<KeySource, SourceDescription>> = {
  ip: { words: "address", chosenBy: "edge", isAlwaysPresent: true },
  "ip/64": { words: "address, for IPv6 its /64 network", chosenBy: "edge", isAlwaysPresent: true },
  "ip/56": { words: "address, for IPv6 its /56 network", chosenBy: "edge", isAlwaysPresent: true },
  "ip/48": { words: "address, for IPv6 its /48 network", chosenBy: "edge", isAlwaysPresent: true },
  "ip/32": { words: "address, for IPv6 its /32 network", chosenBy: "edge", isAlwaysPresent: true },
  "ip4/24": { words: "address, for IPv4 its /24 network", chosenBy: "edge", isAlwaysPresent: true },
  bearer: { words: "bearer token", chosenBy: "client" },
  jwt: { words: "verified claim", chosenBy: "issuer" },
  header: { words: "header", chosenBy: "client" },
  cookie: { words: "cookie", chosenBy: "client" },
  query: { words: "query", chosenBy: "client" },
  body: { words: "body field", chosenBy: "client" },
  country: { words: "country", chosenBy: "edge" },
  asn: { words: "network", chosenBy: "edge" },
  host: { words: "host", chosenBy: "operator", isAlwaysPresent: true },
  region: { words: "region", chosenBy: "operator", isAlwaysPresent: true },
  global: { words: "all clients together", chosenBy: "operator", isAlwaysPresent: true },
};

/** The key of a request that presents no key of the policy, and no address. */
export const ANONYMOUS: ClientKey = { kind: "anonymous", values: [] };

/** The key of a request whose body nobody can read, under a policy that counts by it: such requests share one count. */
export const UNREAD: ClientKey = { kind: "unread", values: [] };

/** All requests together. */
export const GLOBAL: ClientKey = { kind: "global", values: ["global"] };

/** @param part one part of a kind, for example `header:x-user`. */
export function sourceOf(part: string): KeySource {
  return part.split(":", 1)[0] as KeySource;
}

/** How the source of a part is written and counted. */
export function formOf(part: string): SourceForm {
  return KEY_SOURCES[sourceOf(part)];
}

/** The form in which a value is counted. Empty or undefined: not a value of that part. */
export function countedValue(part: string, value: string, ipv6Prefix: number): string | undefined {
  const { counted } = formOf(part);
  return counted ? counted(value, ipv6Prefix) : value;
}

function countedHost(text: string): string | undefined {
  const url = `http://${text}`;
  if (/[\s/?#@\\]/.test(text) || !URL.canParse(url)) return undefined;
  return normalizeHost(new URL(url).hostname);
}

// How a value is found in a request.

/** "Pseudo IPv4" writes an address of class E (240/4) in place of a client's IPv6 address. */
const PSEUDO_ADDRESS = /^2[45]\d\./;

/**
 * Reads the client's address. @param platform what the platform passed beside the request. It may know the connection.
 * @param limiter that counts it. Absent: it is warned of nothing.
 */
export type ReadAddress = (request: RequestHead, platform?: unknown, limiter?: object) => string | null | undefined;

/**
 * The client's address as Cloudflare saw it; the IPv6 address beside it if Cloudflare made a pseudo IPv4 address of
 * that one. X-Forwarded-For and similar fields are never read: clients write them.
 */
export function addressText(
  headers: RequestHead["headers"],
  text: string | null = headers.get("CF-Connecting-IP"),
): string | null {
  return text !== null && PSEUDO_ADDRESS.test(countedAddress(text) ?? "") ? ownAddress(headers, text) : text;
}

function ownAddress(headers: RequestHead["headers"], text: string): string {
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

function queryValue(request: RequestHead, name: string): string | null {
  let query = queries.get(request);
  if (!query) {
    query = new URL(request.url).searchParams;
    queries.set(request, query);
  }
  return query.get(name);
}

/** What Cloudflare's edge says about where the client is. */
function edgeProperty(request: RequestHead, property: "country" | "asn"): string | undefined {
  const value = (request.cf as Record<string, unknown> | undefined)?.[property];
  return value === undefined || value === null ? undefined : String(value);
}
