// Tokens of refusals: what they tell operators, and what they tell everybody else.

import { expect, it } from "vitest";
import { type AdminGateway, startAdmin } from "../support/gateway/admin.ts";
import { startGateway } from "../support/gateway/gateway.ts";

const FIELD = "Headgate-Explain";
const limits = [
  { limit: 2, window: "1h" },
  { algorithm: "token-bucket", limit: 10, window: "1m", burst: 50 },
];
const OVER_OBJECT = { redis: null, counts: true } as const;

/** As the gateway takes it: a part that is not sent, a wrong letter. */
async function explain(gateway: AdminGateway, token: string) {
  return await gateway.admin(`/explain?token=${encodeURIComponent(token)}`);
}

it("a refusal carries one, and the operator sees policies, hashes, counts and instants of that decision", async () => {
  const shadow = { name: "tried", mode: "shadow", key: ["header:x-user"], limits: [{ limit: 1, window: "1h" }] };
  const policies = [{ name: "orders", limits }, shadow];
  const gateway = await startAdmin({ ...OVER_OBJECT, policies, vars: { EXPLAIN: "on", REGION: "eu" } });
  const ask = () =>
    gateway.fetch("/v1/items?secret=1", { headers: { "X-User": "ann", Origin: "https://app.example" } });
  await gateway.admin("/overrides/orders?key=192.0.2.8", { method: "PUT", body: { exempt: true } });
  for (let i = 0; i < 2; i++) expect((await ask()).headers.get(FIELD)).toBeNull();
  const { body: counts } = await gateway.admin("/counts/orders?key=192.0.2.1");

  const refused = await ask();
  const retryAfter = Number(refused.headers.get("Retry-After"));
  const token = refused.headers.get(FIELD)!;
  expect(refused.status).toBe(429);
  expect(token).toMatch(/^[\w-]{100,2048}$/);
  expect(refused.headers.get("Access-Control-Expose-Headers")).toContain(FIELD);

  const { status, headers, body } = await explain(gateway, token);
  expect([status, headers.get("Cache-Control")]).toEqual([200, "no-store"]);
  expect(body).toMatchObject({
    policies: [
      { policy: "orders", kind: "ip", key: counts.key },
      { policy: "tried", kind: "header:x-user", mode: "shadow" },
    ],
    ...{ violated: ["orders-1"], shadow: ["tried"] },
    ...{ method: "GET", path: "/v1/items", version: 1 },
  });
  // It is the line of the log, and what was asked for.
  const { method: _method, path: _path, version: _version, at, ...line } = body;
  await expect.poll(() => gateway.logs.join("\n")).toContain('"event":"refused"');
  const logged = gateway.logs.flatMap((one) => /\{"event":"refused".*\}/.exec(one) ?? []).map((one) => JSON.parse(one));
  const { at: loggedAt, ...same } = logged[0];
  expect(same).toEqual(line);
  expect(Math.abs(Date.parse(loggedAt) - Date.parse(at))).toBeLessThan(1_000);
  expect(Math.ceil(body.retryAfterMs / 1000)).toBe(retryAfter);

  // The token alone opens nothing, and says nothing.
  expect((await gateway.fetch(`/.headgate/admin/explain?token=${token}`)).status).toBe(401);
  const bytes = Buffer.from(token, "base64url").toString("latin1");
  // A word of three letters would be among so many random bytes by chance.
  for (const word of ["orders", "tried", "items", counts.key]) expect(bytes).not.toContain(word);
  // Two tokens of the same refusal have nothing in common but version and time.
  const other = Buffer.from((await ask()).headers.get(FIELD)!, "base64url").toString("latin1");
  expect(other.slice(5, 17)).not.toBe(bytes.slice(5, 17));
});

it("without EXPLAIN, and without an admin, there is no such field", async () => {
  const policies = [{ name: "api", limits: [{ limit: 1, window: "1h" }] }];
  const off = await startAdmin({ ...OVER_OBJECT, policies });
  const noAdmin = await startGateway({ ...OVER_OBJECT, policies, vars: { EXPLAIN: "on" } });
  for (const { fetch } of [off, noAdmin]) {
    await fetch("/");
    const refused = await fetch("/");
    expect([refused.status, refused.headers.get(FIELD)]).toEqual([429, null]);
  }
  expect((await explain(off, "x")).status).toBe(404);
  await expect.poll(() => noAdmin.logs.join("\n")).toContain("EXPLAIN is on, but without ADMIN_TOKEN");
});
