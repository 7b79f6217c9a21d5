/** A client's address in the form that is counted. */

import { BoundedMap } from "../bounded-map.ts";

/** Characters of a full IPv6 address that ends with an IPv4 address. */
const LONGEST_ADDRESS = 45;
/** IPv4 as everybody writes it, which is the form that is counted. */
const PLAIN_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** Counted forms of other addresses: parsing is slower than looking up. At most 4 MiB, in two generations. */
const remembered = new BoundedMap<string, string>({ maxSize: 10_000 });

/** An address in its groups: four decimal numbers, or eight hexadecimal ones. */
type Address = readonly string[];

/** IPv4 as it is, also IPv4-mapped IPv6. IPv6 as its /64: a subscriber has at least that. Undefined: not an address. */
export function countedAddress(text: string): string | undefined {
  if (PLAIN_IPV4.test(text)) return text;
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const address = parseAddress(text);
  if (!address) return undefined;
  const counted = countedFormOf(address);
  if (text.length <= LONGEST_ADDRESS) remembered.set(text, counted);
  return counted;
}

/** By the platform's URL parser, which turns every spelling of an address into one. */
function parseAddress(text: string): Address | undefined {
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

function countedFormOf(address: Address): string {
  if (address.length === 4) return address.join(".");
  const network = `${address.slice(0, 4).join(":")}::`;
  return `${new URL(`http://[${network}]`).hostname.slice(1, -1)}/64`;
}
