/** Finds the client behind proxies that are known by their addresses, from the nearest one on. */

import { NETWORKS } from "../config/client-ip.ts";
import { addressTest } from "../request/address-range.ts";

/** The most entries that are looked at: nobody has so many proxies, and a header may have thousands. */
const MAX_PROXIES = 32;
/** How many characters of a header are looked at. */
const LONGEST_HEADER = 8_192;

/**
 * Makes the walk from the peer, entry by entry from the end of the header, to the first address that is not trusted.
 * If all are, the client is the first entry. An entry that is no address is never skipped: it is returned.
 *
 * @param trust ranges and names that are right.
 * @param plain an entry without a port.
 */
export function walkBy(header: string, trust: readonly string[], plain: (entry: string) => string) {
  const isTrusted = addressTest(trust.flatMap((one) => NETWORKS[one] ?? one));
  const entriesOf = isForwarded(header) ? forwardedFor : listed;
  return (peer: string, list: string | null): string | undefined => {
    if (list === null || !isTrusted(plain(peer))) return peer;
    const entries = entriesOf(list);
    const nearest = entries?.toReversed().slice(0, MAX_PROXIES) ?? [];
    const client = nearest.find((entry) => !isTrusted(plain(entry)));
    return client ?? (entries?.length === nearest.length ? nearest.at(-1) : undefined);
  };
}

/** Whether entries of the header have names (RFC 7239). */
export function isForwarded(header: string): boolean {
  return header.toLowerCase() === "forwarded";
}

/** Of a long list, its end: what is in front of what proxies have added, a client may have written. */
function listed(list: string): string[] {
  const entries = list.slice(-LONGEST_HEADER).split(",");
  // Cut in two, it could be the address of somebody else.
  if (list.length > LONGEST_HEADER) entries[0] = "";
  return entries.map((entry) => entry.trim());
}

const TOKEN = "[!#$%&'*+.^_`|~\\w-]+";
const PAIR = `${TOKEN}=(?:${TOKEN}|"(?:[^"\\\\]|\\\\.)*")`;
// Pairs may be empty. Spaces beside a semicolon are not in the RFC, and some proxies write them.
const ELEMENT = new RegExp(`[\\t ]*((?:${PAIR}[\\t ]*)?(?:;[\\t ]*(?:${PAIR}[\\t ]*)?)*)(?:,|$)`, "y");
const PAIRS = new RegExp(`(${TOKEN})=(?:(${TOKEN})|"((?:[^"\\\\]|\\\\.)*)")`, "g");

/**
 * The `for` of each element (RFC 7239). An element without one says an empty text. Undefined: the header is malformed,
 * or longer than is looked at; a client may have opened a quote in front of what a proxy has added.
 */
export function forwardedFor(text: string): string[] | undefined {
  if (text.length > LONGEST_HEADER) return undefined;
  const found: string[] = [];
  for (let at = 0; at < text.length; at = ELEMENT.lastIndex) {
    ELEMENT.lastIndex = at;
    const element = ELEMENT.exec(text);
    if (!element) return undefined;
    const [, pairs = ""] = element;
    if (pairs === "") continue;
    const all = [...pairs.matchAll(PAIRS)].filter(([, name]) => name!.toLowerCase() === "for");
    if (all.length > 1) return undefined;
    const [, , token, quoted] = all[0] ?? [];
    found.push(token ?? quoted?.replace(/\\(.)/g, "$1") ?? "");
  }
  return found;
}
