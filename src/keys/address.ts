/** A client's address in the form that is counted. */

import { BoundedMap } from "../bounded-map.ts";

/** Characters of a full IPv6 address that ends with an IPv4 address. */
export const LONGEST_ADDRESS = 45;
/** IPv4 as everybody writes it, which is the form that is counted. */
export const PLAIN_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** Bits of an IPv6 address that name a client: a subscriber has at least a /64. */
export const DEFAULT_IPV6_PREFIX = 64;
/** Of the longest networks that are given to one subscriber, and of a single address. */
export const IPV6_PREFIX_RANGE = { min: 32, max: 128 } as const;
const GROUP_BITS = 16;

/** Counted forms of other addresses: parsing is slower than looking up. At most 4 MiB, in two generations. */
const remembered = new BoundedMap<string, string>({ maxSize: 10_000 });

/** An address in its groups: four decimal numbers, or eight hexadecimal ones. */
export type Address = readonly string[];

/**
 * IPv4 as it is, also IPv4-mapped IPv6. IPv6 as its network. Undefined: not an address.
 *
 * @param ipv6Prefix the bits of the network, 32 … 128.
 */
export function countedAddress(text: string, ipv6Prefix: number = DEFAULT_IPV6_PREFIX): string | undefined {
  if (PLAIN_IPV4.test(text)) return text;
  // One isolate may have limiters with several prefixes.
  const name = ipv6Prefix === DEFAULT_IPV6_PREFIX ? text : `${text}/${ipv6Prefix}`;
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

function ipv4Of(groups: Address): Address {
  const numbers = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return numbers.flatMap((number) => [String(number >> 8), String(number & 255)]);
}

function countedFormOf(address: Address, ipv6Prefix: number): string {
  if (address.length === 4) return address.join(".");
  const network = address.map((group, i) => {
    const hostBits = Math.min(GROUP_BITS, Math.max(0, (i + 1) * GROUP_BITS - ipv6Prefix));
    return ((Number.parseInt(group, 16) >> hostBits) << hostBits).toString(16);
  });
  return `${new URL(`http://[${network.join(":")}]`).hostname.slice(1, -1)}/${ipv6Prefix}`;
}
