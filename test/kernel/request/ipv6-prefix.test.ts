// How many bits of an IPv6 address name a client, everywhere that an address becomes a key.

import fc from "fast-check";
import { expect, it } from "vitest";
import { replay } from "../../../src/cli/replay/engine/replay.ts";
import { createGateway } from "../../../src/gateway.ts";
import { createLimiter, memoryStore } from "../../../src/index.ts";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { countedAddress } from "../../../src/kernel/request/address.ts";
import { countedValue } from "../../../src/kernel/request/sources.ts";
import { configuration, logOf, requestAt } from "../../cli/replay/logs.ts";
import { draws } from "../../support/cases/draws.ts";

const ADDRESS = "2001:db8:1234:5678:9abc:def0:1234:5678";

it.each<[kind: string, address: string, counted: string]>([
  ["ip/64", ADDRESS, "2001:db8:1234:5678::/64"],
  ["ip/56", ADDRESS, "2001:db8:1234:5600::/56"],
  ["ip/48", ADDRESS, "2001:db8:1234::/48"],
  ["ip/32", ADDRESS, "2001:db8::/32"],
  ["ip/48", "192.0.2.77", "192.0.2.77"],
  ["ip4/24", "192.0.2.77", "192.0.2.0/24"],
  ["ip4/24", "::ffff:192.0.2.77", "192.0.2.0/24"],
  ["ip4/24", ADDRESS, "2001:db8:1234:5600::/56"],
])("the key %s counts %s as %s, whatever the limiter's prefix is", (kind, address, counted) => {
  const region = () => "eu";
  const request = new Request("https://a.example", { headers: { "CF-Connecting-IP": address } });
  expect(clientKey([kind], request, region, 56)).toEqual({ kind, values: [counted] });
  const elsewhere = clientKey([kind], new Request("https://a.example"), region, 56, () => address);
  expect(elsewhere.values).toEqual([counted]);
});

it.each<[kind: string, given: string, counted: string | undefined]>([
  ["ip/48", `${ADDRESS}/48`, "2001:db8:1234::/48"],
  ["ip4/24", "192.0.2.77/24", "192.0.2.0/24"],
  ["ip/48", "2001:db8::/4848", undefined],
  ["ip/48", "2001:db8::/48/48", undefined],
  ["ip4/24", "192.0.2.0/240", undefined],
  ["ip/64", `${ADDRESS}/56`, undefined],
  ["ip", `${ADDRESS}/56`, undefined],
])("by hand, %s of %s is %s", (kind, given, counted) => {
  // What is remembered of other prefixes makes no difference.
  countedAddress(ADDRESS, 56);
  expect(countedValue(kind, given, 64)).toBe(counted);
});

it("counts two addresses together exactly if their first bits are the same", () => {
  // Without 2001: and 2002:, whose addresses may carry an IPv4 address.
  const bits = fc.bigInt({ min: 2n ** 125n + 2n ** 123n, max: 2n ** 126n - 1n });
  const groups = (value: bigint) =>
    Array.from({ length: 8 }, (_, i) => ((value >> BigInt(16 * (7 - i))) & 0xffffn).toString(16)).join(":");
  const pair = fc
    .tuple(bits, fc.integer({ min: 0, max: 127 }))
    .map(([one, bit]) => [one, one ^ (1n << BigInt(bit))] as const);
  fc.assert(
    fc.property(pair, fc.integer({ min: 32, max: 128 }), ([one, other], prefix) => {
      const shift = BigInt(128 - prefix);
      const isSame = countedAddress(groups(one), prefix) === countedAddress(groups(other), prefix);
      expect(isSame).toBe(one >> shift === other >> shift);
    }),
    draws(500),
  );
});

const [ONE, NEAR, FAR] = ["2001:db8:1:1::1", "2001:db8:1:ffff::2", "2001:db8:2:1::1"];
const POLICIES = [{ name: "api", key: ["ip"], limits: [{ limit: 5, window: "1h" }] }];

it("a gateway counts, looks, explains and names clients by IPV6_PREFIX", async () => {
  const admin = { Authorization: "Bearer a-token-of-the-tests-that-is-long-enough" };
  const ADMIN_TOKEN = admin.Authorization.slice(7);
  const gateway = createGateway({ POLICIES, IPV6_PREFIX: "48", ADMIN_TOKEN, EXPLAIN: "on", STATS_FLUSH: "0s" });
  const ask = async (path: string, address: string, more: object = {}) => {
    const request = new Request(`https://gate.example${path}`, { headers: { "CF-Connecting-IP": address, ...more } });
    return await gateway.fetch(request, {}, { waitUntil() {}, passThroughOnException() {}, props: {} });
  };
  const left = async (address: string) => (await ask("/", address)).headers.get("X-RateLimit-Remaining");
  expect([await left(ONE), await left(NEAR), await left(FAR)]).toEqual(["4", "3", "4"]);
  expect(await (await ask("/.headgate/limits/me", NEAR)).json()).toMatchObject({ limits: [{ remaining: 3 }] });
  const counts = await ask("/.headgate/admin/counts/api?kind=ip&key=2001:db8:1:9::9", ONE, admin);
  const { key } = (await counts.clone().json()) as { readonly key: string };
  expect(await counts.json()).toMatchObject({ limits: [{ remaining: 3 }] });

  for (let i = 0; i < 3; i++) await ask("/", ONE);
  const token = (await ask("/", NEAR)).headers.get("Headgate-Explain")!;
  const explained = await ask(`/.headgate/admin/explain?token=${token}`, ONE, admin);
  expect(await explained.json()).toMatchObject({ policies: [{ key }] });
});

it("a limiter counts clients by hand by its own prefix", async () => {
  const lefts = [48, 128].map(async (ipv6Prefix) => {
    const limiter = createLimiter({ policies: POLICIES as never, store: memoryStore(), ipv6Prefix });
    for (const key of [ONE, NEAR]) await limiter.take("api", { kind: "ip", key });
    return (await limiter.peek("api", { kind: "ip", key: "2001:0db8:1:ffff::2", cost: 0 })).remaining;
  });
  expect(await Promise.all(lefts)).toEqual([3, 4]);
});

it.each([
  [31, "31"],
  [64.5, "64.5"],
  ["/64", '"/64"'],
])("an ipv6Prefix of %j is a mistake", (ipv6Prefix, found) => {
  const options = { policies: POLICIES as never, store: memoryStore(), ipv6Prefix: ipv6Prefix as number };
  expect(() => createLimiter(options)).toThrow(
    `ipv6Prefix: expected an integer from 32 to 128; found ${found} (ERR_IPV6_PREFIX, docs/errors.md#err_ipv6_prefix)`,
  );
});

it("a replay counts the clients of a log by IPV6_PREFIX", async () => {
  const entries = [ONE, NEAR, FAR].map((ip, i) => requestAt(i * 1_000, { ip }));
  const policies = [{ name: "api", limits: [{ limit: 1, window: "1m" }] }];
  const { configurations } = await replay({
    log: logOf(entries),
    configurations: ["48", "64"].map((prefix) => configuration(policies, { IPV6_PREFIX: prefix })),
  });
  expect(configurations.map((one) => one.policies[0]!.refused)).toEqual([1, 0]);
});
