// The identity of a limiter: what is refused when it is made, and what requests do without it.

import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import { rateLimit } from "../../../src/adapters/hono.ts";
import {
  ConfigurationError,
  createLimiter,
  type JwtIssuer,
  jwtIdentity,
  memoryStore,
  withRateLimit,
} from "../../../src/index.ts";
import { AUDIENCE, jwkOf, pairOf, startKeyServer, tokenOf, withKeys } from "../../support/issuer.ts";

const limits = [{ limit: 1, window: "1h" }] as const;
const issuer: JwtIssuer = { jwks: "https://id.example.com/jwks", issuer: "https://id.example.com", audience: AUDIENCE };
const codesOf = (make: () => unknown) => {
  try {
    make();
  } catch (error) {
    if (error instanceof ConfigurationError) return error.mistakes.map(({ code, path }) => `${code} ${path}`);
    throw error;
  }
  return [];
};

describe("is refused when it is made", () => {
  it.each<[given: unknown, mistakes: string[]]>([
    [undefined, ["ERR_IDENTITY identity"]],
    [null, ["ERR_IDENTITY identity"]],
    [[], ["ERR_IDENTITY identity"]],
    [Array(11).fill(issuer), ["ERR_IDENTITY identity"]],
    [{ ...issuer, jwks: "http://id.example.com/" }, ["ERR_IDENTITY identity.jwks"]],
    [{ ...issuer, jwks: "https://id.example.com/#keys" }, ["ERR_IDENTITY identity.jwks"]],
    [{ ...issuer, jwks: "http://localhost.example.com/" }, ["ERR_IDENTITY identity.jwks"]],
    [[issuer, { ...issuer, issuer: "" }], ["ERR_IDENTITY identity[1].issuer"]],
    [[issuer, { ...issuer, audience: "other" }], ["ERR_IDENTITY identity[1].issuer"]],
  ])("%j", (given, mistakes) => {
    expect(codesOf(() => jwtIdentity(given as JwtIssuer))).toEqual(mistakes);
  });

  it("and a policy that asks for a claim is refused without one", () => {
    const policies = [{ name: "a", key: ["ip", "jwt:sub"], plan: "jwt:plan", plans: { pro: { a: 2 } }, limits }];
    const store = memoryStore();
    const missing = "ERR_IDENTITY_MISSING policies[0]";
    expect(codesOf(() => createLimiter({ policies, store }))).toEqual([`${missing}.key[1]`, `${missing}.plan`]);
    expect(codesOf(() => createLimiter({ policies, store, identity: jwtIdentity([issuer]) }))).toEqual([]);
    expect(() => createLimiter({ policies, store, identity: issuer as never })).toThrow(
      "createLimiter: identity: expected jwtIdentity({ jwks, issuer, audience })",
    );
  });
});

it("asks nobody for keys unless a request brings a token to a policy that asks for a claim", async () => {
  const pair = pairOf("one", "EdDSA");
  const server = await startKeyServer(withKeys(jwkOf(pair)));
  const fetched = vi.spyOn(globalThis, "fetch");
  const kinds: string[] = [];
  const limiter = createLimiter({
    policies: [
      { name: "user", match: { path: "/v1/*" }, key: ["jwt:sub", "bearer", "ip"], limits },
      { name: "site", match: { path: "/site" }, key: ["bearer"], limits },
    ],
    store: memoryStore(),
    identity: jwtIdentity([
      { ...issuer, jwks: server.url },
      { ...issuer, jwks: server.url, cookie: "session" },
    ]),
    onDecision: (_, { takes }) => kinds.push(takes[0]!.kind),
  });
  const { fetch: handle } = withRateLimit(() => new Response(), limiter, { clientIp: { header: "cf-connecting-ip" } });
  const ask = (path: string, headers: Record<string, string> = {}) =>
    handle(new Request(`https://gate.example${path}`, { headers }) as never, {}, undefined as never);
  const exp = Math.floor(Date.now() / 1000) + 60;
  const token = tokenOf(pair, { alg: "EdDSA", kid: "one" }, { iss: issuer.issuer, aud: AUDIENCE, sub: "ann", exp });

  await ask("/v1/a");
  await ask("/v1/a", { Authorization: "Bearer an-opaque-token", Cookie: "session=1" });
  await ask("/site", { Authorization: `Bearer ${token}` });
  expect([kinds, fetched.mock.calls.length]).toEqual([["anonymous", "bearer", "bearer"], 0]);
  // The first place with a token that can be verified, and one key set for both.
  await ask("/v1/a", { Authorization: `Bearer ${token}`, Cookie: "session=1" });
  await ask("/v1/a", { Authorization: `Bearer ${token}x`, Cookie: `session=${token}` });
  expect([kinds.slice(3), fetched.mock.calls.length]).toEqual([["jwt:sub", "jwt:sub"], 1]);
});

it("claims that another limiter has verified for the same request count for nothing", async () => {
  const pair = pairOf("one", "EdDSA");
  const server = await startKeyServer(withKeys(jwkOf(pair)));
  const kinds: string[] = [];
  const limiterOf = (trusted: JwtIssuer) => {
    const policies = [
      { name: "user", key: ["jwt:sub", "global"], plan: "jwt:plan", plans: { pro: { user: 9 } }, limits },
    ];
    return createLimiter({
      ...{ policies, store: memoryStore(), identity: jwtIdentity({ ...trusted, jwks: server.url }) },
      onDecision: (_, { takes }) => kinds.push(`${takes[0]!.kind} ${takes[0]!.plan}`),
    });
  };
  const app = new Hono();
  const [theirs, ours] = [limiterOf(issuer), limiterOf({ ...issuer, issuer: "https://ours.example.com" })];
  const inCookie = limiterOf({ ...issuer, cookie: "session" });
  app.use(rateLimit(theirs), rateLimit(ours), rateLimit(theirs), rateLimit(inCookie));
  const exp = Math.floor(Date.now() / 1000) + 60;
  const claims = { iss: issuer.issuer, aud: AUDIENCE, sub: "ann", plan: "pro", exp };
  const token = tokenOf(pair, { alg: "EdDSA", kid: "one" }, claims);
  await app.request("/", { headers: { Authorization: `Bearer ${token}` } });
  expect(kinds).toEqual(["jwt:sub pro", "global undefined", "jwt:sub pro", "global undefined"]);
});
