// The console's session: a cookie in place of the token.

import { createHmac } from "node:crypto";
import { expect, it } from "vitest";
import { ADMIN_TOKEN, type AdminGateway, startAdmin } from "../support/gateway/admin.ts";

const OVER_OBJECT = {
  policies: [{ name: "api", limits: [{ limit: 5, window: "1h" }] }],
  redis: null,
  counts: true,
} as const;
const SESSION = "/.headgate/admin/session";
const WHO = "/.headgate/console/session";
const LIVE = "/.headgate/admin/live";
const ATTRIBUTES = "Path=/.headgate; HttpOnly; Secure; SameSite=Strict";

async function signIn({ fetch }: AdminGateway, token = ADMIN_TOKEN) {
  const answer = await fetch(SESSION, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  const [cookie = "", ...attributes] = answer.headers.get("Set-Cookie")?.split("; ") ?? [];
  return { answer, cookie, attributes: attributes.join("; ") };
}

it("is begun by the token, opens the whole admin API from the same origin, and ends", async () => {
  const gateway = await startAdmin(OVER_OBJECT);
  const { answer, cookie, attributes } = await signIn(gateway);
  expect([answer.status, await answer.text(), attributes]).toEqual([204, "", `${ATTRIBUTES}; Max-Age=43200`]);
  expect(answer.headers.get("Cache-Control")).toBe("no-store");
  expect(cookie).toMatch(/^headgate-session=\d{13}\.[\w-]{43}$/);

  const headers = { Cookie: `a=b; ${cookie}` };
  const who = await gateway.fetch(WHO, { headers });
  const { by, until } = (await who.json()) as { by: string; until: string };
  expect(by).toBe("session");
  expect(Math.abs(Date.parse(until) - Date.now() - 43_200_000)).toBeLessThan(60_000);
  expect(
    (await gateway.fetch("/.headgate/admin/counts/api", { headers: { ...headers, "Headgate-Key": "192.0.2.1" } }))
      .status,
  ).toBe(200);

  const change = { method: "PATCH", body: '{ "mode": "shadow" }' };
  const patch = async (more: Record<string, string>) =>
    (await gateway.fetch("/.headgate/admin/policies/api", { ...change, headers: { ...headers, ...more } })).status;
  expect(await patch({})).toBe(403);
  expect(await patch({ Origin: "https://elsewhere.example" })).toBe(403);
  expect(await patch({ Origin: "null" })).toBe(403);
  expect(await patch({ "Sec-Fetch-Site": "same-site" })).toBe(403);
  expect(await patch({ Origin: gateway.url.origin })).toBe(200);
  await expect.poll(() => gateway.logs.join("\n")).toContain('"by":"session","call":"PATCH /policies/api"');

  const ended = await gateway.fetch(SESSION, { method: "DELETE", headers: { ...headers, Origin: gateway.url.origin } });
  expect([ended.status, ended.headers.get("Set-Cookie")]).toEqual([204, `headgate-session=; ${ATTRIBUTES}; Max-Age=0`]);
});

it("a cookie that is forged, old, cut off or of another token opens nothing, and counts as no wrong token", async () => {
  const [gateway, other] = await Promise.all([
    startAdmin(OVER_OBJECT),
    startAdmin({ ...OVER_OBJECT, vars: { ADMIN_TOKEN: `${ADMIN_TOKEN}2` } }),
  ]);
  const { cookie } = await signIn(gateway);
  const { cookie: ofOther } = await signIn(other, `${ADMIN_TOKEN}2`);
  const [until, signature] = cookie.slice("headgate-session=".length).split(".") as [string, string];
  const signed = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest("base64url");
  const derived = createHmac("sha256", ADMIN_TOKEN).update("headgate session").digest();
  const past = String(Date.now() - 1);
  const status = async (value: string) =>
    (await gateway.fetch(LIVE, { headers: { Cookie: `headgate-session=${value}` } })).status;
  // The test makes cookies as the gateway does.
  expect(signed(derived, until)).toBe(signature);
  expect(await status(`${until}.${signature}`)).toBe(200);
  const wrong = {
    "a later end": `${Number(until) + 1}.${signature}`,
    "one that has ended": `${past}.${signed(derived, past)}`,
    "signed by the token itself": `${until}.${signed(ADMIN_TOKEN, until)}`,
    "of another token": ofOther.slice("headgate-session=".length),
    "cut off": `${until}.${signature.slice(0, -1)}`,
    "no base64url": `${until}.${"_".repeat(43)}`,
    "no signature": `${until}.`,
    "the token": ADMIN_TOKEN,
    nothing: "",
  };
  for (const [what, value] of Object.entries(wrong)) expect(await status(value), what).toBe(401);
  expect(gateway.logs.join("\n")).not.toContain("admin-refused");
});

it("is not begun by a wrong token, nor by a session", async () => {
  const gateway = await startAdmin(OVER_OBJECT);
  expect((await signIn(gateway, "wrong")).answer.status).toBe(401);
  const { cookie } = await signIn(gateway);
  const headers = { Cookie: cookie, Origin: gateway.url.origin };
  const again = await gateway.fetch(SESSION, { method: "POST", headers });
  expect([again.status, again.headers.get("Set-Cookie")]).toEqual([400, null]);
  // A wrong token is wrong, also beside a session.
  const both = { headers: { ...headers, Authorization: "Bearer wrong" }, address: "192.0.2.7" };
  expect((await gateway.fetch(LIVE, both)).status).toBe(401);
});

it("the console asks who is signed in: nobody is no error, and a wrong token counts", async () => {
  const gateway = await startAdmin(OVER_OBJECT);
  const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });
  const who = async (token?: string) => {
    const answer = await gateway.fetch(WHO, token === undefined ? {} : bearer(token));
    return [answer.status, answer.headers.get("Cache-Control"), await answer.json()];
  };
  const nobody = [200, "no-store", { by: null }];
  expect(await who()).toEqual(nobody);
  expect(await who(ADMIN_TOKEN)).toEqual([200, "no-store", { by: "token", until: null }]);
  for (let i = 0; i < 5; i++) expect(await who(`wrong-${i}`)).toEqual(nobody);
  expect(await who("wrong-5")).toEqual([429, "no-store", expect.objectContaining({ status: 429 })]);
  // The API counts them together with this.
  expect((await gateway.fetch(LIVE, bearer("wrong-6"))).status).toBe(429);
  expect(await who()).toEqual(nobody);
  expect((await gateway.fetch(SESSION)).status).toBe(401);
  expect((await gateway.admin("/session")).status).toBe(404);
});
