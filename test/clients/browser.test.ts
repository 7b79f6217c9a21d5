// What a page of another origin can read, and what a person sees. The origin handles CORS as if there were no gateway.

import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { fieldsOf } from "../support/cases/fields.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";
import { startOrigin } from "../support/gateway/origin-server.ts";
import { openPage, sharedBrowser } from "./browser.ts";

const browser = sharedBrowser();

const policyOf2 = () => ({ name: uniqueName("browser"), key: ["global"], limits: [{ limit: 2, window: "1h" }] });
const failedToLoad = (status: string) => `Failed to load resource: the server responded with a status of ${status}`;

/** An API for pages of other origins, as it would be without a gateway in front of it. */
function answerPages(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader("Access-Control-Allow-Origin", request.headers.origin ?? "*");
  response.setHeader("Access-Control-Expose-Headers", "X-Origin");
  response.setHeader("X-Origin", "yes");
  if (request.method !== "OPTIONS") return void response.end("hello");
  response.writeHead(204, {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type, X-Client",
  });
  response.end();
}

it("lets a page read the fields of a 200 and of a 429, and counts a request that needs a preflight once", async () => {
  const origin = await startOrigin(answerPages);
  const policy = policyOf2();
  const gateway = await startGateway({ policies: [policy], vars: { ORIGIN_URL: origin.url } });
  const { read, complaints } = await openPage(browser());
  const asked = { method: "POST", headers: { "Content-Type": "application/json", "X-Client": "a" }, body: "{}" };

  // Other paths, because a browser remembers a preflight by its URL. Preflights have a count of their own.
  for (const [path, how, status, r] of [
    ["/1", asked, 200, 1],
    ["/2", undefined, 200, 0],
    ["/3", asked, 429, 0],
  ] as const) {
    const answer = await read(new URL(path, gateway.url), how);
    const fields = fieldsOf(answer);
    expect(answer.status).toBe(status);
    expect(fields).toMatchObject({
      policies: { [policy.name]: { q: 2, w: 3600 } },
      states: { [policy.name]: { r } },
      legacy: { limit: 2, remaining: r },
    });
    expect(answer.headers.get("X-Origin")).toBe(status === 200 ? "yes" : null);
    if (status !== 429) continue;
    expect([fields.retryAfter, answer.headers.get("Content-Type")]).toEqual([
      fields.states![policy.name]!.t,
      "application/problem+json",
    ]);
    expect(JSON.parse(answer.body)).toMatchObject({ status: 429, "violated-policies": [policy.name] });
  }
  const seenByOrigin = origin.requests.map(({ method, url }) => `${method} ${url}`);
  expect(seenByOrigin.sort()).toEqual(["GET /2", "OPTIONS /1", "OPTIONS /3", "POST /1"]);
  expect(complaints).toEqual([failedToLoad("429 (Too Many Requests)")]);
});

it("shows a person who is refused a page with the reason, and a program a problem document", async () => {
  const policy = policyOf2();
  const gateway = await startGateway({ policies: [policy] });
  const { page, complaints } = await openPage(browser());
  for (let i = 0; i < 2; i++) await gateway.fetch("/");

  const answer = await page.goto(gateway.url.href);
  const { detail } = (await (await gateway.fetch("/")).json()) as { detail: string };

  expect(answer?.status()).toBe(429);
  expect(await page.title()).toBe("429 Quota Exceeded");
  expect(await page.getByRole("heading").textContent()).toBe("429 Quota Exceeded");
  // The second may change between the two answers, and the wait is told in seconds.
  const reason = (text: string | null) => text?.replace(/\d+ seconds?/, "… seconds");
  expect(reason(await page.getByRole("paragraph").first().textContent())).toBe(reason(detail));
  expect(detail).toContain(policy.name);
  expect(complaints).toEqual([failedToLoad("429 (Too Many Requests)")]);

  await page.getByRole("link").click();
  await page.waitForURL("**/.headgate/limits");
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Rate limits");
});
