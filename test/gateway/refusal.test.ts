// A policy's own refusal, as the bundled Worker sends it.

import { expect, it } from "vitest";
import { startAdmin } from "../support/gateway/admin.ts";

const BODY = '{"error":"used up","policy":"{policy}","limit":"{limit}","seconds":{retryAfter}}';

it("is sent with the fields of every refusal, an explanation among them", async () => {
  const limits = [{ algorithm: "sliding-log", limit: 1, window: "1h" }];
  const policies = [{ name: "free", limits, refusal: { status: "402", body: BODY } }];
  const gateway = await startAdmin({ redis: null, counts: true, policies, vars: { EXPLAIN: "on" } });
  const headers = { Origin: "https://page.example", Accept: "text/html" };
  expect((await gateway.fetch("/")).status).toBe(200);

  const refused = await gateway.fetch("/", { headers });
  const seconds = Number(refused.headers.get("Retry-After"));
  expect(seconds).toBeGreaterThan(1);
  expect([refused.status, refused.headers.get("Content-Type")]).toEqual([402, "application/json"]);
  expect(await refused.json()).toEqual({ error: "used up", policy: "free", limit: "free", seconds });
  expect(refused.headers.get("Access-Control-Allow-Origin")).toBe("https://page.example");
  expect([refused.headers.get("Link"), refused.headers.get("RateLimit")]).toEqual([
    '</.headgate/limits>; rel="help"',
    expect.stringContaining('"free";r=0;t='),
  ]);
  const token = encodeURIComponent(refused.headers.get("Headgate-Explain")!);
  expect((await gateway.admin(`/explain?token=${token}`)).body).toMatchObject({ violated: ["free"] });

  const head = await gateway.fetch("/", { method: "HEAD" });
  expect([head.status, await head.text(), head.headers.get("Retry-After")]).toEqual([402, "", expect.any(String)]);
});
