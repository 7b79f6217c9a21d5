/** Who is counted: from a request to the client key of a policy (design, section 6). */

import { Lru } from "../lru.ts";
import type { ClientKey } from "../partition.ts";
import { normalizeHost } from "../pattern/text.ts";

/** Requests of nobody in particular: no key of the policy is present, and no address either. */
export const ANONYMOUS: ClientKey = { kind: "anonymous", values: [] };

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

/** The value of one part, `undefined` or empty if it is absent. */
function readPart(part: string, request: Request, region: () => string): string | undefined {
  const [kind, name = ""] = splitOnce(part, ":");
  const { headers } = request;
  switch (kind) {
    case "ip":
      return clientAddress(headers);
    case "bearer":
      return /^Bearer +(\S.*)$/i.exec(headers.get("Authorization") ?? "")?.[1]?.trim();
    case "header":
      return headers.get(name)?.trim();
    case "cookie":
      return cookieValue(headers.get("Cookie") ?? "", name);
    case "query":
      return queryOf(request).get(name) ?? undefined;
    case "country":
      return cfProperty(request, "country");
    case "asn":
      return cfProperty(request, "asn");
    case "host":
      return normalizeHost(new URL(request.url).hostname);
    case "region":
      return region();
    case "global":
      return "global";
    default:
      throw new TypeError(`unknown key kind ${part}`);
  }
}

/**
 * The client's address as Cloudflare saw it, in the form that is counted: IPv4 as it is (IPv4-mapped IPv6 too), IPv6 as
 * its /64, which one subscriber has at least. X-Forwarded-For and its like are the client's own words and never read.
 */
export function clientAddress(headers: Headers): string | undefined {
  const text = headers.get("CF-Connecting-IP");
  if (text === null) return undefined;
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const direct = parseAddress(text);
  if (direct && isPseudoAddress(direct)) return partitionOf(parseAddress(headers.get("CF-Connecting-IPv6")) ?? direct);
  const counted = direct && partitionOf(direct);
  if (counted !== undefined && text.length <= LONGEST_ADDRESS) remembered.set(text, counted);
  return counted;
}

/** An IPv6 address in full, with an IPv4 one at its end. */
const LONGEST_ADDRESS = 45;
/** Addresses in the form that is counted: taking one apart is slower than asking for it. At most 4 MiB, in two generations. */
const remembered = new Lru<string, string>({ maxSize: 10_000 });

/** An address in its groups: four decimal numbers, or eight hexadecimal ones. */
type Address = readonly string[];

/** The platform's own parser, which URLs go through: every spelling of an address becomes one. */
function parseAddress(text: string | null): Address | undefined {
  const host = text?.trim() ?? "";
  if (/^\d+(?:\.\d+){3}$/.test(host)) return hostname(`http://${host}`)?.split(".");
  const parsed = /^[\da-f:.]+$/i.test(host) ? hostname(`http://[${host}]`)?.slice(1, -1) : undefined;
  if (parsed === undefined) return undefined;
  const [head = [], tail = []] = parsed.split("::").map((half) => half.split(":").filter(Boolean));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return groups.slice(0, 6).join() === IPV4_MAPPED ? ipv4Of(groups) : groups;
}

/** `URL.parse` is not in Node 20. */
function hostname(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

const IPV4_MAPPED = "0,0,0,0,0,ffff";

function ipv4Of(groups: Address): Address {
  const numbers = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return numbers.flatMap((number) => [String(number >> 8), String(number & 255)]);
}

/** "Pseudo IPv4" puts an address of class E (240/4) in front of an IPv6 client. */
function isPseudoAddress(address: Address): boolean {
  return address.length === 4 && Number(address[0]) >= 240;
}

function partitionOf(address: Address): string {
  if (address.length === 4) return address.join(".");
  const network = `${address.slice(0, 4).join(":")}::`;
  return `${new URL(`http://[${network}]`).hostname.slice(1, -1)}/64`;
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
