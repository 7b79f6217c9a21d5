/** A client's address in the form that is counted. */

import { BoundedMap } from "../bounded-map.ts";

/** An IPv6 address in full, with an IPv4 one at its end. */
const LONGEST_ADDRESS = 45;
/** Addresses in the form that is counted: taking one apart is slower than asking for it. At most 4 MiB, in two generations. */
const remembered = new BoundedMap<string, string>({ maxSize: 10_000 });

/** An address in its groups: four decimal numbers, or eight hexadecimal ones. */
type Address = readonly string[];

/**
 * IPv4 as it is (IPv4-mapped IPv6 too), IPv6 as its /64, which one subscriber has at least; undefined: this is no address.
 *
 * @param beside the IPv6 address beside a "Pseudo IPv4" one, asked for only then.
 */
export function countedAddress(text: string, beside?: () => string | null): string | undefined {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const direct = parseAddress(text);
  if (!direct) return undefined;
  if (isPseudoAddress(direct)) return partitionOf(parseAddress(beside?.() ?? null) ?? direct);
  const counted = partitionOf(direct);
  if (text.length <= LONGEST_ADDRESS) remembered.set(text, counted);
  return counted;
}

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
