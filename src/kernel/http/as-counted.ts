/**
 * The request as it is counted: where a key reads a value that a client can send more than once, the origin gets the
 * one that was counted. Otherwise the client would choose which of them is counted, and which is used.
 */

import type { Policy } from "../core/policy.ts";
import type { Identify } from "../limiter/identity.ts";
import type { RequestHead } from "../request/request-head.ts";
import { headerValue } from "../request/sources.ts";
import { noteCopy } from "./client-ip.ts";

/** What the keys of policies read. */
interface Names {
  readonly headers: ReadonlySet<string>;
  readonly cookies: ReadonlySet<string>;
  readonly queries: ReadonlySet<string>;
}

/** Where tokens of issuers are, as the limiter's identity says. Default: they are bearer tokens. */
type TokenPlaces = Identify["places"];

/** What the keys of these policies change of a request. @param clean what is done to every request before. */
export function asCounted(policies: readonly Policy[], places?: TokenPlaces, clean = (request: Request) => request) {
  const names = namesIn(policies, places);
  /** The headers that change. Undefined: the header goes. */
  const headersOf = (headers: RequestHead["headers"]) => changedHeaders(headers, names);
  /** The target that is counted, of a path or a URL. */
  const targetOf = (target: string) => (names.queries.size > 0 ? withFirstQueries(target, names.queries) : target);

  function changedBy(given: Request): Request {
    const request = clean(given);
    const changed = headersOf(request.headers);
    const url = targetOf(request.url);
    if (changed.length === 0 && url === request.url) return request;
    const { signal } = request;
    const outgoing = new Request(url === request.url ? request : new Request(url, request), { signal });
    noteCopy(outgoing, request);
    for (const [name, value] of changed) {
      if (value === undefined) outgoing.headers.delete(name);
      else outgoing.headers.set(name, value);
    }
    return outgoing;
  }

  const isAsItIs = names.headers.size + names.cookies.size + names.queries.size === 0;
  /** The request that is counted. It is the given one if there is nothing to change. */
  const toCounted = isAsItIs ? clean : changedBy;
  return { toCounted, headersOf, targetOf };
}

function namesIn(policies: readonly Policy[], all: TokenPlaces = [undefined]): Names {
  const parts = policies.flatMap(({ key }) => key.flatMap((kind) => kind.split("+")));
  const named = (source: string) =>
    parts.filter((part) => part.startsWith(`${source}:`)).map((part) => part.slice(source.length + 1));
  const places = named("jwt").length > 0 ? all : [];
  const hasBearer = parts.includes("bearer") || places.includes(undefined);
  return {
    headers: new Set([...named("header").map((name) => name.toLowerCase()), ...(hasBearer ? ["authorization"] : [])]),
    cookies: new Set([...named("cookie"), ...places.filter((cookie) => cookie !== undefined)]),
    queries: new Set(named("query")),
  };
}

/** Undefined: the header goes. */
function changedHeaders(headers: RequestHead["headers"], names: Names): [name: string, value: string | undefined][] {
  const changed: [name: string, value: string | undefined][] = [];
  for (const name of names.headers) {
    const text = headers.get(name);
    // Two lines go on as one: an origin could read only the first.
    if (text?.includes(","))
      changed.push([name, headerValue(headers, name) ?? (mayStay(name, text) ? text : undefined)]);
  }
  const text = names.cookies.size > 0 ? headers.get("Cookie") : null;
  if (text !== null) {
    const cookies = withFirstCookies(text, names.cookies);
    if (cookies !== text || text.includes(",")) changed.push(["Cookie", cookies]);
  }
  return changed;
}

/** Schemes such as Digest have parameters with commas between them. */
function mayStay(name: string, text: string): boolean {
  return name === "authorization" && !/\bbearer\s/i.test(text);
}

/** Of each name the first cookie with a value: the one that is counted. */
function withFirstCookies(text: string, names: ReadonlySet<string>): string {
  const mayBeTwice = [...names].some((name) => text.indexOf(name) !== text.lastIndexOf(name));
  if (!mayBeTwice) return text;
  const seen = new Set<string>();
  const kept = text.split(";").filter((pair) => {
    const [name = "", value] = pair.split("=", 2);
    const known = name.trim();
    if (!names.has(known)) return true;
    const isFirst = value !== undefined && !seen.has(known);
    if (isFirst) seen.add(known);
    return isFirst;
  });
  return kept.join(";").trim();
}

/** Of each name the first parameter. Some origins take a `;` for `&`: behind one there is none that is counted. */
function withFirstQueries(url: string, names: ReadonlySet<string>): string {
  const begin = url.indexOf("?") + 1;
  if (begin === 0 || !/[&;]/.test(url)) return url;
  const seen = new Set<string>();
  const kept = url.slice(begin).replace(/([&;]?)([^&;]*)/g, (whole, separator: string, part: string) => {
    const name = nameOf(part);
    if (!names.has(name)) return whole;
    const isFirst = separator !== ";" && !seen.has(name);
    if (isFirst) seen.add(name);
    return isFirst ? whole : "";
  });
  return url.slice(0, begin) + kept;
}

/** The name of a parameter, decoded. */
function nameOf(part: string): string {
  const [name = ""] = part.split("=", 1);
  return /[%+]/.test(name) ? ([...new URLSearchParams(name).keys()][0] ?? "") : name;
}
