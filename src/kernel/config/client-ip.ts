/** Whose address is counted where Cloudflare's edge does not say it, as the operator writes it. */

import { rangeExpected } from "../request/address-range.ts";

/**
 * Whose address is counted.
 *
 * `{ header: "x-forwarded-for", hops: 1 }`: an entry of a list that proxies write. `hops: 1`, the default, is the last
 * entry: the nearest proxy has written it. With two proxies of yours, one behind the other, it is `hops: 2`. 1 … 32. A
 * client can write entries too, but only in front of these. Behind Cloudflare: `{ header: "cf-connecting-ip" }`. A port
 * behind the address is ignored.
 *
 * `{ header: "x-forwarded-for", trust: ["10.0.0.0/8", "private", "loopback"] }`: where the number of proxies varies.
 * From the address of the connection (on Workers, the one that Cloudflare saw) through the entries from the last to the
 * first, the client is the first address outside of these ranges; if all are inside, the first entry. An entry that is
 * no address ends the search. `header: "forwarded"` reads RFC 7239, with `hops` too.
 *
 * `"socket"`: the address of the connection, on Node, Bun and Deno. Only for a server that no proxy stands in front of:
 * behind a proxy all clients would have the proxy's address. On Workers it is the default: the address that Cloudflare
 * saw.
 *
 * A request without the header, with fewer entries than `hops`, or with an entry that is no address counts as
 * `anonymous`, together with all others of its kind. A line on the console says so, once a second.
 */
export type ClientIp =
  | "socket"
  | { readonly header: string; readonly hops?: number; readonly trust?: readonly string[] };

const MAX_HOPS = 32;
export const HEADER_EXPECTED = '{ header: "x-forwarded-for", hops: 1 }';
export const EXPECTED = `"socket" or ${HEADER_EXPECTED}`;

/** Names of ranges, for `trust`. */
export const NETWORKS: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.0/8", "::1"],
  private: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};
const NAMES = Object.keys(NETWORKS);

/** A header that proxies write. */
export type Header = Exclude<ClientIp, "socket">;

/** What is wrong with a header: what was expected, in words, and what was found. */
export function wrongHeader(
  clientIp: unknown,
  form = HEADER_EXPECTED,
): readonly [expected: string, found: unknown] | undefined {
  const { header, hops = 1, trust, ...others } = (clientIp ?? {}) as Partial<Record<string, unknown>>;
  const isFieldName = typeof header === "string" && /^[!#$%&'*+.^`|~\w-]+$/.test(header);
  if (!isFieldName || Object.keys(others).length > 0) return [form, clientIp];
  if (typeof hops !== "number" || !Number.isInteger(hops) || hops < 1 || hops > MAX_HOPS) {
    return [`hops to be an integer from 1 to ${MAX_HOPS}`, hops];
  }
  if (trust === undefined) return undefined;
  if ((clientIp as Header).hops !== undefined) return ["either hops or trust", clientIp];
  const expected = trustExpected(trust);
  return expected === undefined ? undefined : [expected, trust];
}

/** What was expected of `trust`, in words. Undefined: it is right. */
function trustExpected(trust: unknown): string | undefined {
  const names = NAMES.map((name) => `"${name}"`).join(", ");
  const expected = `trust to be a list of ranges, for example ["10.0.0.0/8", ${names}]`;
  if (!Array.isArray(trust) || trust.length === 0) return expected;
  for (const one of trust) {
    if (typeof one !== "string") return expected;
    const wrong = NAMES.includes(one) ? undefined : rangeExpected(one);
    if (wrong !== undefined) return `trust to have ${wrong}, or ${names}`;
  }
  return undefined;
}
