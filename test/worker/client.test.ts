// fetchWithBackoff inside workerd. There the clock stands still between I/O, and a Request's body is a stream.

import { expect, it } from "vitest";
import { fetchWithBackoff } from "../../src/client/index.ts";
import { gatewayWith, uniqueName } from "./support.ts";

it("waits for the gateway's Retry-After, and is admitted then", async () => {
  const ask = gatewayWith({ POLICIES: [{ name: uniqueName("client"), limits: [{ limit: 2, window: "2s" }] }] });
  const statuses: number[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    const response = await ask(new URL(String(input)).pathname, init);
    statuses.push(response.status);
    return response;
  };
  const post = { method: "POST", body: "text" };
  // A small random number keeps the test short.
  const options = { fetch, random: () => 0.1 };
  const asked = [1, 2, 3].map(() => fetchWithBackoff("https://gate.example/", post, options));
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(statuses).toContain(429);
});

it("does not send a Request again whose body is used", async () => {
  let sent = 0;
  const fetch = async (input: string | URL | Request) => {
    await new Request(input as Request).text();
    sent++;
    return new Response(null, { status: 429, headers: { "Retry-After": "0" } });
  };
  const request = new Request("https://gate.example/", { method: "POST", body: "text" });
  expect((await fetchWithBackoff(request, undefined, { fetch })).status).toBe(429);
  expect(sent).toBe(1);
});

it("ends a wait with the signal's reason", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const fetch = async () => {
    setTimeout(() => controller.abort(reason), 10);
    return new Response(null, { status: 429, headers: { "Retry-After": "30" } });
  };
  const asked = fetchWithBackoff("https://gate.example/", { signal: controller.signal }, { fetch });
  await expect(asked).rejects.toBe(reason);
});
