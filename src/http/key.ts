/** Who is counted: from a request to the client key of a policy. */

import { countedAddress } from "../partition/address.ts";
import type { ClientKey } from "../partition/hash.ts";
import { ANONYMOUS, countedValue, GLOBAL } from "../partition/kinds.ts";

export { ANONYMOUS };

/**
 * The first of `kinds` that the request presents; if it presents none its address; `ANONYMOUS` without one.
 *
 * @param region name of the region that answers; called if it matters.
 */
export function clientKey(kinds: readonly string[], request: Request, region: () => string): ClientKey {
  for (const kind of [...kinds, "ip"]) {
    const values = kind.split("+").map((part) => readPart(part, request, region));
    if (values.every((value) => value !== undefined && value !== "")) return { kind, values: values as string[] };
  }
  return ANONYMOUS;
}

/** The value of one part in the form that is counted, `undefined` or empty if it is absent. */
function readPart(part: string, request: Request, region: () => string): string | undefined {
  if (part === "ip") return clientAddress(request.headers);
  const value = textOf(part, request, region);
  return value && countedValue(part, value);
}

/** As the request says it. */
function textOf(part: string, request: Request, region: () => string): string | undefined {
  const [kind, name = ""] = splitOnce(part, ":");
  const { headers } = request;
  switch (kind) {
    case "bearer":
      return /^Bearer +(\S.*)$/i.exec(headers.get("Authorization") ?? "")?.[1];
    case "header":
      return headers.get(name) ?? undefined;
    case "cookie":
      return cookieValue(headers.get("Cookie") ?? "", name);
    case "query":
      return queryOf(request).get(name) ?? undefined;
    case "country":
      return cfProperty(request, "country");
    case "asn":
      return cfProperty(request, "asn");
    case "host":
      return new URL(request.url).hostname;
    case "region":
      return region();
    case "global":
      return GLOBAL.kind;
    default:
      throw new TypeError(`unknown key kind ${part}`);
  }
}

/**
 * The client's address as Cloudflare saw it, in the form that is counted. X-Forwarded-For and its like are the client's own words
 * and never read.
 */
export function clientAddress(headers: Headers): string | undefined {
  const text = headers.get("CF-Connecting-IP");
  return text === null ? undefined : countedAddress(text, () => headers.get("CF-Connecting-IPv6"));
}

/** By name, of those that policies name. To cut a header of 64 KiB into its cookies takes ten times as long. */
const cookiePatterns = new Map<string, RegExp>();

function cookieValue(header: string, name: string): string | undefined {
  let pattern = cookiePatterns.get(name);
  if (!pattern) {
    pattern = new RegExp(`(?:^|;)\\s*${name.replace(/[$*.^|]/g, "\\$&")}\\s*(?:=([^;]*))?(?:;|$)`);
    cookiePatterns.set(name, pattern);
  }
  const found = pattern.exec(header);
  return found ? (found[1] ?? "").trim() : undefined;
}

/** Of requests whose query a policy asks for: others ask for it too, and it may be 16 KiB long. */
const queries = new WeakMap<Request, URLSearchParams>();

function queryOf(request: Request): URLSearchParams {
  let query = queries.get(request);
  if (!query) {
    query = new URL(request.url).searchParams;
    queries.set(request, query);
  }
  return query;
}

function cfProperty(request: Request, name: "country" | "asn"): string | undefined {
  const value = (request.cf as Record<string, unknown> | undefined)?.[name];
  return value === undefined || value === null ? undefined : String(value);
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
