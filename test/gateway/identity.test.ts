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
    plan: "jwt:org.plan",
    plans: { pro: { user: 5 } },
    exempt: ["198.51.100.0/24"],
    limits: [{ limit: 2, window: "1h" }],
  },
];

function tokenFor(sub: string, more: object = {}, by = pair): string {
  const exp = Math.floor(Date.now() / 1000) + 600;
  return tokenOf(by, { alg: "ES256", kid: by.kid }, { iss: ISSUER, aud: AUDIENCE, sub, exp, ...more });
}

let last = 0;
/** Each request comes from an address of its own. */
async function ask({ fetch }: Gateway, token: string, path = "/"): Promise<Response> {
  return await fetch(path, { headers: { Authorization: `Bearer ${token}` }, address: `192.0.2.${++last}` });
}
const statusOf = async (gateway: Gateway, token: string) => (await ask(gateway, token)).status;

it("a person has one count at all addresses, with the plan of the token; the first requests fetch the keys once", async () => {
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
  const pro = await ask(gateway, tokenFor("cleo", { org: { plan: "pro" } }));
  expect(pro.headers.get("RateLimit-Policy")).toBe('"user";q=5;w=3600');
  const left = await ask(gateway, ann, "/.headgate/limits/me?method=GET&path=/");
  expect(await left.json()).toMatchObject({ limits: [{ id: "user", remaining: 0 }] });

  const forged = tokenFor("ann", {}, pairOf("one", "ES256"));
  expect([await statusOf(gateway, forged), await statusOf(gateway, "opaque")]).toEqual([200, 200]);
  expect(gateway.logs.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      event: "token-unverified",
      code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED",
      issuer: ISSUER,
    }),
  );
  expect(gateway.logs.join("\n")).not.toContain(forged.split(".")[2]);
  expect(server.asked()).toBe(1);
});
