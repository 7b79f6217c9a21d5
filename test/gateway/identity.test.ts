// Claims as keys in real workerd: many requests of one isolate.

import { expect, it } from "vitest";
import { type Gateway, startGateway } from "../support/gateway/gateway.ts";
import { AUDIENCE, jwkOf, pairOf, startKeyServer, tokenOf, withKeys } from "../support/issuer.ts";

const ISSUER = "https://id.example.com";
const pair = pairOf("one", "ES256");

const POLICIES = [
  {
    name: "user",
    key: ["jwt:sub", "ip"],
    limits: [{ limit: 2, window: "1h" }],
  },
];

function tokenFor(sub: string, more: object = {}, by = pair): string {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return tokenOf(by, { alg: "ES256", kid: by.kid }, { iss: ISSUER, aud: AUDIENCE, sub, exp, ...more });
}

let last = 0;
/** Each request comes from an address of its own. */
async function statusOf({ fetch }: Gateway, token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch("/", { headers, address: `192.0.2.${++last}` })).status;
}

it("a person has one count at all addresses; the first requests fetch the keys once", async () => {
  const server = await startKeyServer((response) => setTimeout(() => withKeys(jwkOf(pair))(response), 100));
  const IDENTITY = { jwks: server.url, issuer: ISSUER, audience: AUDIENCE };
  const gateway = await startGateway({ policies: POLICIES, redis: null, counts: true, vars: { IDENTITY } });
  const ann = tokenFor("ann");
  // All at once, in a cold isolate: none of them fetches the keys beside another.
  const statuses = await Promise.all(Array.from({ length: 20 }, () => statusOf(gateway, ann)));
  expect(statuses.filter((status) => status === 200)).toHaveLength(2);
  expect(server.asked()).toBe(1);
  // Another token of the same person.
  expect(await statusOf(gateway, tokenFor("ann", { jti: "2" }))).toBe(429);
  expect(await statusOf(gateway, tokenFor("bob"))).toBe(200);
  expect(server.asked()).toBe(1);
});
