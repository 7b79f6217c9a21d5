/**
 * The key sources: what a policy's `key` may name. Three tables have one row for each source: how the source is written
 * and counted, how a request presents it, and what people are told. A bundle leaves out the tables that its program
 * does not use.
 */

import { countedAddress } from "./address.ts";
import { claimText, countedClaim, withoutIssuer } from "./claims.ts";
import type { ClientKey } from "./hash.ts";
import { addressText, bearerToken, cookieValue, edgeProperty, headerValue, plainCookie, queryValue } from "./read.ts";
import type { RequestHead } from "./request-head.ts";
import { normalizeHost } from "./text.ts";

interface SourceForm {
  /** What follows the source and a colon, as a regular expression. Absent: nothing follows. */
  readonly name?: string;
  /** The form in which a value is counted; empty or undefined: not a value of this source. Absent: counted as it is. */
  readonly counted?: (value: string, ipv6Prefix?: number) => string | undefined;
  /** What a caller of the library has to give, for error texts. Absent: any text that is not empty. */
  readonly expected?: string;
  /** The plan that a counted value names. Absent: the value itself. */
  readonly planOf?: (value: string) => string;
}

export const FIELD_NAME = "[!#$%&'*.^_`|~0-9A-Za-z-]+";
const trim = (value: string) => value.trim();

/** In the order in which error texts name the sources. */
export const KEY_SOURCES = {
  ip: { counted: countedAddress, expected: "an IPv4 or IPv6 address" },
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
  country: {},
  asn: {},
  host: { counted: countedHost, expected: "a host name" },
  region: {},
  global: { counted: (value) => (value === "global" ? value : undefined), expected: '"global"' },
} as const satisfies Record<string, SourceForm>;

export type KeySource = keyof typeof KEY_SOURCES;

/** How a request presents a source: its text, empty or absent if the request does not. */
type ReadSource = (request: RequestHead, name: string, region: () => string) => string | null | undefined;

export const KEY_READERS: Readonly<Record<KeySource, ReadSource>> = {
  ip: ({ headers }) => addressText(headers),
  bearer: ({ headers }) => bearerToken(headers),
  jwt: claimText,
  header: ({ headers }, name) => headerValue(headers, name),
  cookie: ({ headers }, name) => cookieValue(headers, name),
  query: queryValue,
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
  bearer: { words: "bearer token", chosenBy: "client" },
  jwt: { words: "verified claim", chosenBy: "issuer" },
  header: { words: "header", chosenBy: "client" },
  cookie: { words: "cookie", chosenBy: "client" },
  query: { words: "query", chosenBy: "client" },
  country: { words: "country", chosenBy: "edge" },
  asn: { words: "network", chosenBy: "edge" },
  host: { words: "host", chosenBy: "operator", isAlwaysPresent: true },
  region: { words: "region", chosenBy: "operator", isAlwaysPresent: true },
  global: { words: "all clients together", chosenBy: "operator", isAlwaysPresent: true },
};

/** The key of a request that presents no key of the policy, and no address. */
export const ANONYMOUS: ClientKey = { kind: "anonymous", values: [] };

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
