/** Ranges of addresses in CIDR notation: the addresses that a policy exempts. */

import { BoundedMap } from "../bounded-map.ts";
import { type Address, LONGEST_ADDRESS, PLAIN_IPV4, parseAddress } from "./address.ts";

/** The bits of an IPv4-mapped IPv6 address before its IPv4 address. */
const MAPPED_BITS = 96;

/** A new IPv6 address and 100 ranges take 17 µs of CPU, a known one 0.02 (Node 24, 2026-11). About 200 KiB. */
const REMEMBERED = 1_000;

/** All addresses of one length that begin with the same bits. */
interface AddressRange {
  /** Of each address, in bits: 32 or 128. */
  readonly length: number;
  /** Bits as the characters 0 and 1. */
  readonly beginning: string;
}

/** What is wrong with a range, in words: what was expected in its place. Undefined: it is right. */
export function rangeExpected(text: string): string | undefined {
  const range = parseRange(text);
  return typeof range === "string" ? range : undefined;
}

/** Makes a test for addresses, which remembers its results. @param texts ranges that are right. */
export function addressTest(texts: readonly string[]): (address: string) => boolean {
  const ranges = texts.map(parseRange).filter((range) => typeof range !== "string");
  const remembered = new BoundedMap<string, boolean>({ maxSize: REMEMBERED });

  function isIn(text: string): boolean {
    const address = parseAddress(text);
    const bits = address && bitsOf(address);
    const found = ranges.some(({ length, beginning }) => bits?.length === length && bits.startsWith(beginning));
    if (text.length <= LONGEST_ADDRESS) remembered.set(text, found);
    return found;
  }

  return (text) => remembered.get(text) ?? isIn(text);
}

/** An address without a prefix is a range of one. A text: what was expected instead. */
function parseRange(text: string): AddressRange | string {
  const [, written = "", prefixText] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  // A zero in front of a decimal number means an octal one to some programs.
  const isWritten = written.includes(":") ? !/\s/.test(written) : PLAIN_IPV4.test(written);
  const address = isWritten ? parseAddress(written) : undefined;
  if (!address) return 'an IPv4 or IPv6 range, for example "10.0.0.0/8" or "2001:db8::/32"';
  const bits = bitsOf(address);
  const isMapped = bits.length === 32 && written.includes(":");
  const whole = isMapped ? MAPPED_BITS + bits.length : bits.length;
  const prefix = prefixText === undefined ? whole : Number(prefixText);
  if (prefix > whole) return `a prefix of at most ${whole} bits`;
  const beginning = bits.slice(0, Math.max(0, prefix - (whole - bits.length)));
  if (isMapped && prefix < MAPPED_BITS) return `a prefix of at least ${MAPPED_BITS} bits behind an IPv4-mapped address`;
  if (/1/.test(bits.slice(beginning.length))) {
    const first = firstAddress(address, beginning.length);
    return `the first address of the range, "${first}/${beginning.length}", or one address without a prefix`;
  }
  return { length: bits.length, beginning };
}

function bitsOf(address: Address): string {
  const [radix, width] = address.length === 4 ? [10, 8] : [16, 16];
  return address.map((group) => Number.parseInt(group, radix).toString(2).padStart(width, "0")).join("");
}

/** The address with zeros behind its first `prefix` bits. */
function firstAddress(address: Address, prefix: number): string {
  const bits = bitsOf(address).slice(0, prefix).padEnd(bitsOf(address).length, "0");
  const width = bits.length / address.length;
  const groups = address.map((_, i) => Number.parseInt(bits.slice(i * width, (i + 1) * width), 2));
  if (address.length === 4) return groups.join(".");
  return new URL(`http://[${groups.map((group) => group.toString(16)).join(":")}]`).hostname.slice(1, -1);
}
