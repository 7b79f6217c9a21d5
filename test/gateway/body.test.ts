// Failed logins by the account that a body names, over a real Redis: from any address, in any spelling, in any writing.

import { expect, it } from "vitest";
import { startAdmin } from "../support/gateway/admin.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";

const limits = [{ algorithm: "fixed-window", limit: 3, window: "31d" }];
const JSON_TYPE = { "Content-Type": "application/json" };

it("an account is limited whoever attacks it, and whatever nobody can read is limited together", async () => {
  const got: string[] = [];
  const origin = await startOrigin((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => void chunks.push(chunk));
    request.on("end", () => {
      got.push(Buffer.concat(chunks).toString());
      response.end("ok");
    });
  });
  const name = uniqueName("login");
  const policy = { name, key: ["body:user.email", "ip"], fold: true, match: { path: "/login" }, limits };
  const gateway = await startGateway({ policies: [policy], vars: { ORIGIN_URL: origin.url } });
  let last = 0;
  /** Each from another address. */
  const login = async (body: BodyInit | undefined, headers: Record<string, string> = {}) => {
    const answer = await gateway.fetch("/login", {
      method: "POST",
      body: body ?? null,
      headers,
      address: `192.0.2.${++last}`,
    });
    await answer.text();
    return answer.status;
  };
  const form = new FormData();
  form.append("user.email", "ANN@example.com");
  form.append("photo", new Blob([new Uint8Array([0xff, 0, 13, 10])]), "a.png");
  const spellings: (readonly [BodyInit, Record<string, string>?])[] = [
    ['{"user":{"email":"ann@example.com"}}', JSON_TYPE],
    [new URLSearchParams({ "user.email": " Ann@Example.com" })],
    [form],
    ['{"user":{"email":"ａｎｎ@example.com"}}', JSON_TYPE],
  ];
  const statuses: number[] = [];
  for (const [body, headers] of spellings) statuses.push(await login(body, headers));
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect(got.slice(0, 2)).toEqual(['{"user":{"email":"ann@example.com"}}', "user.email=+Ann%40Example.com"]);
  expect(got[2]).toContain("ANN@example.com");

  // Another account, and requests that name none.
  expect(await login('{"user":{"email":"bob@example.com"}}', JSON_TYPE)).toBe(200);
  for (let i = 0; i < 4; i++) expect(await login(i % 2 ? undefined : "{}", JSON_TYPE)).toBe(200);

  // What nobody can tell: one count for all.
  const doubtful: (readonly [BodyInit, Record<string, string>?])[] = [
    ['{"user":{"email":"a","Email":"ann@example.com"}}', JSON_TYPE],
    ['{"user":{"email":"ann@example.com"}}', { "Content-Type": "application/x-www-form-urlencoded" }],
    [`{"user":{"email":"ann@example.com"},"a":"${"a".repeat(1_048_576)}"}`, JSON_TYPE],
    ['{"user":', JSON_TYPE],
  ];
  const unread: number[] = [];
  for (const [body, headers] of doubtful) unread.push(await login(body, headers));
  expect(unread).toEqual([200, 200, 200, 429]);
  await expect.poll(() => gateway.logs.join("\n")).toContain(`{"event":"body-unread"`);
  expect(gateway.logs.join("\n")).not.toContain("ann@example.com");
});

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
