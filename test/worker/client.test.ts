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
