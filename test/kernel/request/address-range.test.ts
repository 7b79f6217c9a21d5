// Ranges of addresses: which addresses are in them, and what is wrong with a text that is no range.

import { describe, expect, it } from "vitest";
import { addressTest, rangeExpected } from "../../../src/kernel/request/address-range.ts";

it.each<[range: string, inside: readonly string[], outside: readonly string[]]>([
  ["10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3", " 10.1.2.3 "], ["9.255.255.255", "11.0.0.0"]],
  ["203.0.113.8/29", ["203.0.113.8", "203.0.113.15"], ["203.0.113.7", "203.0.113.16"]],
  ["203.0.113.7", ["203.0.113.7", "::ffff:cb00:7107"], ["203.0.113.6", "203.0.113.70", "::203.0.113.7"]],
  ["0.0.0.0/0", ["255.255.255.255", "::ffff:1.2.3.4"], ["::", "2001:db8::1"]],
  ["2001:db8::/32", ["2001:db8::", "2001:DB8:ffff:ffff:ffff:ffff:ffff:ffff"], ["2001:db9::", "1.2.3.4"]],
  ["2001:db8:0:8000::/49", ["2001:db8:0:8000::1", "2001:db8:0:ffff::1"], ["2001:db8:0:7fff::1", "2001:db8:1:8000::1"]],
  ["2001:db8::1", ["2001:db8::1", "2001:db8:0:0:0:0:0:1"], ["2001:db8::2"]],
  ["::/0", ["::", "2001:db8::1"], ["10.0.0.1", "::ffff:10.0.0.1"]],
  ["::ffff:10.0.0.0/104", ["10.1.2.3", "::ffff:10.1.2.3"], ["11.0.0.0", "::10.1.2.3"]],
  ["::ffff:0:0/96", ["192.0.2.1"], ["::1"]],
])("%s holds the addresses %j, and not %j", (range, inside, outside) => {
  expect(rangeExpected(range)).toBeUndefined();
  const holds = addressTest(["192.168.0.0/16", range]);
  expect([...inside, ...outside].filter(holds)).toEqual(inside);
  // Once more, from what is remembered.
  expect([...inside, ...outside].filter(holds)).toEqual(inside);
  expect(["", "unknown", "10.0.0", "10.0.0.1:80", "10.0.0.1, 10.0.0.2"].filter(holds)).toEqual([]);
});

describe("what was expected in place of", () => {
  it.each([
    ["10.0.0.1/8", /^the first address of the range, "10\.0\.0\.0\/8", or one address without a prefix$/],
    ["2001:db8:0:ffff::/49", /"2001:db8:0:8000::\/49"/],
    ["::ffff:10.0.0.1/104", /"10\.0\.0\.0\/8"/],
    ["10.0.0.0/33", /^a prefix of at most 32 bits$/],
    ["::ffff:10.0.0.0/129", /^a prefix of at most 128 bits$/],
    ["::ffff:10.0.0.0/8", /^a prefix of at least 96 bits behind an IPv4-mapped address$/],
    ...["", "/", "10/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/08x", "10.0.0.0/1/2", "010.0.0.0/8", "10.0.0/8"].map(
      (text) => [text, /^an IPv4 or IPv6 range/] as const,
    ),
    ...["example.com", " 10.0.0.0/8", "10.0.0.256", "2001:db8::g/32", "[::1]", "::1%eth0", "0x0a.0.0.0/8", "*"].map(
      (text) => [text, /^an IPv4 or IPv6 range/] as const,
    ),
  ] as const)("%j", (text, expected) => {
    expect(rangeExpected(text)).toMatch(expected);
  });
});
