// A client of the gateway, named in code: a look and a reset use the same count as the client's requests.

import { expect, it } from "vitest";
import { jwtIdentity } from "../../../src/features/identity/jwt-identity.ts";
import { clientKey } from "../../../src/kernel/http/key.ts";
import { noteClaims } from "../../../src/kernel/request/claims.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter, type KeyByHand } from "../../../src/limiter.ts";

const ADDRESS = { "CF-Connecting-IP": "203.0.113.7" };

/** A limiter with one policy, and a function that charges a request as the gateway does. */
function limited(...kinds: string[]) {
  const limiter = createLimiter({
    policies: [{ name: "api", key: kinds, limits: [{ limit: 3, window: "1m" }] }],
    store: memoryStore(),
    identity: jwtIdentity({ jwks: "https://id.example/", issuer: "https://id.example", audience: "api" }),
  });
  const [policy] = limiter.policies;
  const request = (url: string, headers: Record<string, string>, cf?: object) => {
    const sent = new Request(url, { headers });
    if (cf) Object.defineProperty(sent, "cf", { value: cf });
    noteClaims(sent, { issuer: "https://id.example", values: new Map([["sub", "ann"]]) });
    const key = clientKey(policy!.key, sent, () => "eu");
    return limiter.takeMatched([{ policy: policy!, key, cost: 1 }], () => "eu");
  };
  return { limiter, request };
}

/** A client that sends requests, and how code names it. */
interface Client extends KeyByHand {
  readonly kind: string;
  readonly headers: Record<string, string>;
  readonly cf?: object;
  /** Those of the policy. */
  readonly kinds?: readonly string[];
  /** Default: `URL`. */
  readonly url?: string;
}

const URL = "https://API.gate.example.:8080/path?user=a%20b";

const CLIENTS: readonly Client[] = [
  // Every policy falls back on the address, also where no kind names it.
  { kind: "ip", kinds: ["bearer"], headers: ADDRESS, key: "203.0.113.7" },
  { kind: "ip", headers: ADDRESS, key: "203.0.113.7" },
  { kind: "ip", headers: ADDRESS, key: " 203.0.113.7 " },
  { kind: "ip", headers: ADDRESS, key: "::ffff:203.0.113.7" },
  { kind: "ip", headers: ADDRESS, key: ["203.0.113.7"] },
  { kind: "ip", headers: { "CF-Connecting-IP": "2001:db8:1:2::1" }, key: "2001:0DB8:1:2:ffff::9" },
  {
    kind: "ip",
    headers: { "CF-Connecting-IP": "240.0.0.1", "CF-Connecting-IPv6": "2001:db8:1:2::1" },
    key: "2001:db8:1:2::1",
  },
  { kind: "bearer", headers: { Authorization: "bearer  t0ken " }, key: " t0ken" },
  { kind: "header:X-User", headers: { "X-User": " ann " }, key: "ann " },
  { kind: "cookie:sid", headers: { Cookie: "a=1; sid = abc " }, key: " abc" },
  { kind: "query:user", headers: {}, key: "a b" },
  { kind: "host", headers: {}, key: "Api.Gate.example.." },
  { kind: "host", headers: {}, key: "api.gate.example:8080" },
  { kind: "host", headers: {}, key: "m\u00fcnchen.example", url: "https://m\u00fcnchen.example/" },
  { kind: "host", headers: {}, key: "[0:0::1]", url: "https://[::1]/" },
  { kind: "country", headers: {}, key: "DE", cf: { country: "DE" } },
  { kind: "asn", headers: {}, key: "64496", cf: { asn: 64496 } },
  { kind: "region", headers: {}, key: "eu" },
  { kind: "global", headers: {} },
  { kind: "global", headers: {}, key: "global" },
  { kind: "header:x-user+ip", headers: { ...ADDRESS, "X-User": "ann" }, key: ["ann", "::ffff:203.0.113.7"] },
  { kind: "jwt:sub", headers: {}, key: "https://id.example ann" },
  { kind: "jwt:sub+ip", headers: ADDRESS, key: ["https://id.example ann", "203.0.113.7"] },
  { kind: "bearer+host", headers: { Authorization: "Bearer t" }, key: [" t ", "API.GATE.EXAMPLE"] },
  { kind: "anonymous", kinds: ["bearer"], headers: {} },
];

it.each(CLIENTS)(
  "one count for requests and for what is taken by hand: kind $kind, of $headers, by $key",
  async ({ kinds, headers, cf, url = URL, ...named }) => {
    const { limiter, request } = limited(...(kinds ?? ["header:x-none", named.kind]));
    for (let i = 0; i < 3; i++) expect((await request(url, headers, cf)).allowed).toBe(true);
    expect(await limiter.peek("api", named)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiter.take([{ policy: "api", ...named }])).toMatchObject({ allowed: false });
    await limiter.reset("api", named);
    expect(await request(url, headers, cf)).toMatchObject({ allowed: true, remaining: 2 });
    expect(await limiter.take("api", named)).toMatchObject({ allowed: true, remaining: 1 });
  },
);

it("a key without a kind, or of kind key, is the key of no request", async () => {
  const { limiter, request } = limited("ip");
  await limiter.take("api", { key: "203.0.113.7", cost: 3 });
  expect(await limiter.peek("api", { kind: "key", key: "203.0.113.7" })).toMatchObject({ remaining: 0 });
  expect(await request(URL, ADDRESS)).toMatchObject({ remaining: 2 });
});

it.each<readonly [what: string, key: object, message: RegExp]>([
  [
    "a kind that the policy does not count by",
    { kind: "cookie:sid", key: "a" },
    /one of bearer, header:a\+ip, host, jwt:sub, ip, anonymous under policy api; found "cookie:sid"/,
  ],
  ["a part of a combined kind alone", { kind: "header:a", key: "a" }, /one of bearer/],
  ["a kind that is no text", { kind: {}, key: "a" }, /one of bearer/],
  ["a kind without its key", { kind: "ip" }, /needs 1 strings as its key, one per part; found 0/],
  ["one text for two parts", { kind: "header:a+ip", key: "a" }, /needs 2 strings as its key, one per part; found 1/],
  ["a key for anonymous", { kind: "anonymous", key: "a" }, /needs 0 strings as its key, one per part; found 1/],
  ["what is no address", { kind: "ip", key: "203.0.113.256" }, /key of kind ip to be an IPv4 or IPv6 address/],
  ["what is no host", { kind: "host", key: "a/b" }, /key of kind host to be a host name/],
  ["a claim without its issuer", { kind: "jwt:sub", key: "ann" }, /key of kind jwt:sub to be the issuer, a space and/],
  ["a token of white space", { kind: "bearer", key: "  " }, /key of kind bearer to be a non-empty string/],
  ["a part that is no text", { kind: "header:a+ip", key: [1, "::1"] }, /key of kind header:a to be a non-empty string/],
  ["a list without a kind", { key: ["a"] }, /expected key to be a non-empty string, found a list/],
  ["a number as the key", { key: 42 }, /expected key to be a non-empty string, found number/],
  ["an object with the length of a text", { key: { length: 1, toString: () => "a" } }, /found object/],
])("rejects %s with a TypeError, in take, peek and reset", async (_what, key, message) => {
  const { limiter } = limited("bearer", "header:a+ip", "host", "jwt:sub");
  for (const method of [limiter.take, limiter.peek, limiter.reset] as const) {
    const error = await method("api", key).catch((error: unknown) => error);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).toMatch(message);
  }
});

it("rejects one kind for a list of policies, and one client twice, however it is spelt", async () => {
  const { limiter } = limited("ip");
  const one = { policy: "api", kind: "ip", key: "::ffff:203.0.113.7" } as const;
  await expect(limiter.take([one], { kind: "ip" })).rejects.toThrow(/its own key and kind/);
  await expect(limiter.take([one, { ...one, key: "203.0.113.7" }])).rejects.toThrow(/twice/);
});

it("does not repeat a token in an error", async () => {
  const { limiter } = limited("bearer", "bearer+ip");
  const error = await limiter.peek("api", { kind: "bearer+ip", key: ["s3cret", "s3cret"] }).catch(String);
  expect(error).toMatch(/^TypeError/);
  expect(error).not.toContain("s3cret");
});
