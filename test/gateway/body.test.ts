// Logins by the account that a body names. docs/recipes/body.md counts them over a real origin.

import { expect, it } from "vitest";
import { startAdmin } from "../support/gateway/admin.ts";
import { uniqueName } from "../support/gateway/gateway.ts";

const limits = [{ algorithm: "fixed-window", limit: 3, window: "31d" }];
const JSON_TYPE = { "Content-Type": "application/json" };

it("an operator finds and resets both, and the live document changes their numbers", async () => {
  const name = uniqueName("login");
  const policy = { name, key: ["body:email"], fold: true, limits };
  const gateway = await startAdmin({ redis: null, counts: true, policies: [policy] });
  const login = async (body: string) => (await gateway.fetch("/", { method: "POST", headers: JSON_TYPE, body })).status;
  for (let i = 0; i < 3; i++) await login('{"email":"Ann"}');
  for (let i = 0; i < 3; i++) await login("{");
  expect([await login('{"email":"ann"}'), await login("{")]).toEqual([429, 429]);
  const remaining = async (query: string) => {
    const { body } = await gateway.admin(`/counts/${name}?${query}`);
    return [body.kind, body.limits[0].remaining];
  };
  expect(await remaining("key=ANN")).toEqual(["body:email", 0]);
  expect(await remaining("kind=unread")).toEqual(["unread", 0]);
  expect((await gateway.admin(`/counts/${name}?kind=unread`, { method: "DELETE" })).status).toBeLessThan(300);
  expect(await remaining("kind=unread")).toEqual(["unread", 3]);
  const changed = await gateway.admin(`/overrides/${name}?key=ann`, { method: "PUT", body: { limits: { [name]: 9 } } });
  expect(changed.status).toBeLessThan(300);
  await expect.poll(() => login('{"email":"ann"}'), { timeout: 10_000 }).toBe(200);
});
