/** A client's address in the form that is counted. */

import { BoundedMap } from "../bounded-map.ts";

/** Characters of a full IPv6 address that ends with an IPv4 address. */
export const LONGEST_ADDRESS = 45;
/** IPv4 as everybody writes it, which is the form that is counted. */
export const PLAIN_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** Bits of an IPv6 address that name a client: a subscriber has at least a /64. */
export const DEFAULT_IPV6_PREFIX = 64;
/** Of the largest networks that are given to one subscriber. */
export const LEAST_IPV6_PREFIX = 32;
/** Of a single address. */
export const MOST_IPV6_PREFIX = 128;
const GROUP_BITS = 16;

/** Counted forms of other addresses: parsing is slower than looking up. At most 4 MiB, in two generations. */
const remembered = new BoundedMap<string, string>({ maxSize: 10_000 });

/** An address in its groups: four decimal numbers, or eight hexadecimal ones. */
export type Address = readonly string[];

/**
 * IPv4 as it is, also where an IPv6 address carries it. IPv6 as its network. Undefined: not an address.
 *
 * @param ipv6Prefix the bits of the network, 32 … 128.
 */
export function countedAddress(text: string, ipv6Prefix: number = DEFAULT_IPV6_PREFIX): string | undefined {
  return PLAIN_IPV4.test(text) ? text : countedOther(text, ipv6Prefix);
}

/**
 * IPv4 as its network of 24 bits, also where an IPv6 address carries it; IPv6 as `countedAddress`. By hand, the network
 * may be given.
 */
export function countedIpv4Network(text: string, ipv6Prefix?: number): string | undefined {
  const counted = countedAddress(text.replace(/\/24$/, ""), ipv6Prefix);
  return counted !== undefined && PLAIN_IPV4.test(counted) ? counted.replace(/\d+$/, "0/24") : counted;
}

function countedOther(text: string, ipv6Prefix: number): string | undefined {
  // The prefix first: behind the text, the name of one could be another text that is no address.
  const name = `${ipv6Prefix} ${text}`;
  const known = remembered.get(name);
  if (known !== undefined) return known;
  const address = parseAddress(text);
  if (!address) return undefined;
  const counted = countedFormOf(address, ipv6Prefix);
  if (text.length <= LONGEST_ADDRESS) remembered.set(name, counted);
  return counted;
}

/** By the platform's URL parser, which turns every spelling of an address into one. IPv4-mapped IPv6 becomes IPv4. */
export function parseAddress(text: string): Address | undefined {
  const host = text.trim();
  if (/^\d+(?:\.\d+){3}$/.test(host)) return hostname(`http://${host}`)?.split(".");
  const parsed = /^[\da-f:.]+$/i.test(host) ? hostname(`http://[${host}]`)?.slice(1, -1) : undefined;
  if (parsed === undefined) return undefined;
  const [head = [], tail = []] = parsed.split("::").map((half) => half.split(":").filter(Boolean));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return groups.slice(0, 6).join() === IPV4_MAPPED ? ipv4Of(groups) : groups;
}

/** Node 20 does not have `URL.parse`. */
function hostname(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

const IPV4_MAPPED = "0,0,0,0,0,ffff";

/** @param mask is applied to both halves: `0xffff` inverts them. */
function ipv4Of(groups: Address, mask = 0): Address {
  const numbers = groups.slice(6).map((group) => Number.parseInt(group, 16) ^ mask);
  return numbers.flatMap((number) => [String(number >> 8), String(number & 255)]);
}

/** What stands in front of an IPv4 address: NAT64 (RFC 6052), "IPv4-translated" and "IPv4-compatible" addresses. */
const BEFORE_IPV4 = /^(?:64,ff9b,0,0,0,0|0,0,0,0,ffff,0|0,0,0,0,0,0)$/;
/** A Teredo address ends with the inverted address of its client (RFC 4380). */
const TEREDO = /^2001,0,/;
/** 6to4 gives this many bits to the site of one IPv4 address (RFC 3056). */
const SITE_BITS = 48;

/** The IPv4 address of the client whose IPv6 address was made from it. `::` and `::1` carry none. */
function carriedIpv4(groups: Address): Address | undefined {
  const before = groups.slice(0, 6).join();
  if (TEREDO.test(before)) return ipv4Of(groups, 0xffff);
  return BEFORE_IPV4.test(before) && (groups[0] !== "0" || groups[6] !== "0") ? ipv4Of(groups) : undefined;
}

function countedFormOf(address: Address, ownPrefix: number): string {
  const ipv4 = address.length === 4 ? address : carriedIpv4(address);
  if (ipv4) return ipv4.join(".");
  const ipv6Prefix = address[0] === "2002" ? SITE_BITS : ownPrefix;
  const network = address.map((group, i) => {
    const hostBits = Math.min(GROUP_BITS, Math.max(0, (i + 1) * GROUP_BITS - ipv6Prefix));
    return ((Number.parseInt(group, 16) >> hostBits) << hostBits).toString(16);
  });
  return `${new URL(`http://[${network.join(":")}]`).hostname.slice(1, -1)}/${ipv6Prefix}`;
}
