// Who may use the admin API.

import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from "jose";
import { expect, it } from "vitest";
import { ADMIN_TOKEN, startAdmin } from "../support/gateway/admin.ts";
import { startGateway } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { startPrivateRedis } from "../support/redis/private-redis.ts";

const POLICIES = [{ name: "api", limits: [{ limit: 5, window: "1h" }] }];
const PATHS = ["", "/", "/live", "/policies", "/doctor", "/counts/api?key=192.0.2.1", "/nothing", "/counts/none"];
const OVER_OBJECT = { policies: POLICIES, redis: null, counts: true } as const;

const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

it("without a token in the configuration there is nothing, whoever asks", async () => {
  const gateway = await startGateway(OVER_OBJECT);
  for (const path of PATHS) {
    expect((await gateway.fetch(`/.headgate/admin${path}`, bearer(ADMIN_TOKEN))).status, path).toBe(404);
  }
});

it("without the token every path and method gets the same 401, and none asks the store", async () => {
  const { rest, calls } = await startPrivateRedis();
  const gateway = await startAdmin({ policies: POLICIES, redis: rest });
  const answers = await Promise.all(
    PATHS.flatMap((path) =>
      ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "POST"].map(async (method) => {
        const answer = await gateway.fetch(`/.headgate/admin${path}`, { method });
        return { status: answer.status, headers: [...answer.headers], body: await answer.text() };
      }),
    ),
  );
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect(answers[0]).toMatchObject({ status: 401 });
  expect(JSON.parse(answers[0]!.body)).toMatchObject({ type: "about:blank", status: 401 });
  expect(Object.fromEntries(answers[0]!.headers)).toMatchObject({
    "cache-control": "no-store",
    "content-type": "application/problem+json",
    "www-authenticate": "Bearer",
  });
  // What a path costs would tell that it exists.
  expect(calls).toEqual([]);
});

it("the sixth wrong token of an address in a minute is 429; the right one passes, and other addresses have their own", async () => {
  const gateway = await startAdmin(OVER_OBJECT);
  const wrong = ["", "x", ADMIN_TOKEN.slice(0, -1), `${ADMIN_TOKEN}x`, ADMIN_TOKEN.toUpperCase(), "tokén"];
  const ask = async (token: string, address: string) =>
    (await gateway.fetch("/.headgate/admin/live", { ...bearer(encodeURI(token) || "-"), address })).status;
  const statuses: number[] = [];
  for (const token of [...wrong, "y"]) statuses.push(await ask(token, "192.0.2.9"));
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  expect(await ask(ADMIN_TOKEN, "192.0.2.9")).toBe(200);
  expect(await ask("z", "192.0.2.10")).toBe(401);
  // Nothing was presented: nothing was guessed.
  expect((await gateway.fetch("/.headgate/admin/live", { address: "192.0.2.9" })).status).toBe(401);
  const refused = await gateway.fetch("/.headgate/admin/live", { ...bearer("y"), address: "192.0.2.9" });
  const wait = Number(refused.headers.get("Retry-After"));
  expect(wait).toBeGreaterThan(50);
  expect(wait).toBeLessThanOrEqual(60);
  expect(gateway.logs.join("\n")).not.toContain(ADMIN_TOKEN.slice(0, -1));
});

it("with LIVE_REFRESH 0s there is no live document: counts are read and reset, and nothing can be changed", async () => {
  const policies = [{ name: "api", limits: [{ limit: 5, window: "1h", scope: "region" }] }];
  const gateway = await startAdmin({ ...OVER_OBJECT, policies, vars: { LIVE_REFRESH: "0s", REGION: "eu" } });
  await gateway.fetch("/");
  const remaining = async (region = "") => {
    const { body } = await gateway.admin(`/counts/api?key=192.0.2.1${region}`);
    return [body.override, body.limits[0].remaining];
  };
  expect(await remaining()).toEqual([null, 4]);
  expect(await remaining("&region=na")).toEqual([null, 5]);
  expect((await gateway.admin("/counts/api?key=192.0.2.1", { method: "DELETE" })).status).toBe(200);
  expect(await remaining()).toEqual([null, 5]);
  expect((await gateway.admin("/policies")).body).toMatchObject({
    version: 0,
    policies: [{ name: "api", live: null }],
  });
  const body = { block: true };
  expect((await gateway.admin("/overrides/api?key=192.0.2.1", { method: "PUT", body })).status).toBe(404);
  expect((await gateway.admin("/live")).status).toBe(404);
});

const TEAM = "acme";
const AUDIENCE = "4f".repeat(32);
const ISSUER = `https://${TEAM}.cloudflareaccess.com`;
const PERSON = { email: "ann@example.com", sub: "7335d417", aud: [AUDIENCE], iss: ISSUER };

it("Cloudflare Access lets people in, whose keys are asked for once, and the audit line says who changed what", async () => {
  const { publicKey, privateKey } = await generateKeyPair("RS256");
  const asked: string[] = [];
  const access = await startOrigin(async (request, response) => {
    asked.push(`${request.headers.host}${request.url}`);
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "one", alg: "RS256", use: "sig" }] }));
  });
  const vars = { ACCESS_TEAM: TEAM, ACCESS_AUD: AUDIENCE };
  const gateway = await startGateway({ ...OVER_OBJECT, vars, network: access.url });
  const sign = (payload: JWTPayload, key = privateKey, expiry = "1h") =>
    new SignJWT(payload)
      .setProtectedHeader({ alg: "RS256", kid: "one" })
      .setIssuedAt()
      .setExpirationTime(expiry)
      .sign(key);
  let address = 10;
  const call = async (token: string, more: Record<string, string> = {}, init: RequestInit = {}) => {
    const headers = { "Cf-Access-Jwt-Assertion": token, ...more };
    // Each from an address of its own: wrong tokens are limited.
    return await gateway.fetch("/.headgate/admin/live", { ...init, headers, address: `192.0.2.${++address}` });
  };
  const token = await sign(PERSON);
  expect((await call(token)).status).toBe(200);
  const byCookie = { headers: { Cookie: `a=b; CF_Authorization=${token}` } };
  expect((await gateway.fetch("/.headgate/admin/live", byCookie)).status).toBe(200);
  expect(asked).toEqual([`${TEAM}.cloudflareaccess.com/cdn-cgi/access/certs`]);
  // Access has its own session: there is no token to begin one with.
  const who = (await (await gateway.fetch("/.headgate/console/session", byCookie)).json()) as {
    by: string;
    until: string;
  };
  expect(who.by).toBe("access:ann@example.com");
  expect(Math.abs(Date.parse(who.until) - Date.now() - 3_600_000)).toBeLessThan(60_000);
  const begin = { method: "POST", headers: { ...byCookie.headers, Origin: gateway.url.origin } };
  expect((await gateway.fetch("/.headgate/admin/session", begin)).status).toBe(400);

  const forged = (await generateKeyPair("RS256")).privateKey;
  const [head, body] = token.split(".");
  const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  const wrong = {
    "another application": await sign({ ...PERSON, aud: ["5e".repeat(32)] }),
    "another team": await sign({ ...PERSON, iss: "https://other.cloudflareaccess.com" }),
    "one that has ended": await sign(PERSON, undefined, "-1m"),
    "another key": await sign(PERSON, forged),
    "no signature": `${none}.${body}.`,
    "a cut one": `${head}.${body}.`,
    "no token": "x",
  };
  for (const [what, assertion] of Object.entries(wrong)) expect((await call(assertion)).status, what).toBe(401);
  // An ADMIN_TOKEN that is not configured lets nobody in.
  expect((await gateway.fetch("/.headgate/admin/live", bearer("undefined"))).status).toBe(401);

  // Its session is in the browser too.
  const change = { method: "PUT", body: JSON.stringify({ policies: { api: { mode: "shadow" } }, overrides: [] }) };
  const put = async (headers: object) => (await call(token, { "If-Match": '"0"', ...headers }, change)).status;
  expect(await put({ Origin: "https://elsewhere.example", "Sec-Fetch-Site": "same-origin" })).toBe(403);
  expect(await put({ Origin: gateway.url.origin })).toBe(200);
  await expect
    .poll(() => gateway.logs.map((line) => JSON.parse(line)))
    .toContainEqual(
      expect.objectContaining({
        ...{ event: "admin", by: "access:ann@example.com", call: "PUT /live", version: 1 },
        ...{ before: {}, after: { policies: { api: { mode: "shadow" } } } },
      }),
    );
});
