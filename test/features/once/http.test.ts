// Where a request's id is read from, and what makes two requests the same.

import { expect, it } from "vitest";
import { withRateLimit } from "../../../src/adapters/with-rate-limit.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter } from "../../../src/limiter.ts";

const URL_ = "https://api.example.com/v1/orders";

/** Sends requests of one client. @returns the units that each has cost. */
function costs(once: string, more: Partial<PolicyInput> = {}) {
  const policy: PolicyInput = {
    ...{ name: "api", key: ["global"], once, limits: [{ limit: 100, window: "1h", buckets: 60 }] },
    ...more,
  };
  const limiter = createLimiter({ policies: [policy], store: memoryStore() });
  const { fetch } = withRateLimit(() => new Response("done"), limiter);
  return async (...requests: readonly Request[]) => {
    const spent: number[] = [];
    for (const request of requests) {
      const before = (await limiter.peek("api")).remaining!;
      await (fetch as unknown as (request: Request, env: object) => Promise<Response>)(request.clone(), {});
      spent.push(before - (await limiter.peek("api")).remaining!);
    }
    return spent;
  };
}

const requestWith = (headers: Record<string, string>, url = URL_, method = "POST") =>
  new Request(url, { method, headers });

it.each([
  ["header:idempotency-key", requestWith({ "Idempotency-Key": "a" }), requestWith({ "Idempotency-Key": "b" })],
  ["cookie:order", requestWith({ Cookie: "x=1; order=a" }), requestWith({ Cookie: "order=b" })],
  ["query:id", requestWith({}, `${URL_}?id=a`), requestWith({}, `${URL_}?id=b`)],
  ["bearer", requestWith({ Authorization: "Bearer a" }), requestWith({ Authorization: "Bearer b" })],
])("reads the id from %s", async (once, first, second) => {
  const none = requestWith({});
  expect(await costs(once)(first, first, second, none, second, none)).toEqual([1, 0, 1, 1, 0, 1]);
});

it("takes an empty id for none", async () => {
  const empty = requestWith({ "Idempotency-Key": " " });
  expect(await costs("header:idempotency-key")(empty, empty)).toEqual([1, 1]);
});

it("compares methods, overrides of them, and paths as matching reads them; not the query, host and body", async () => {
  const headers = { "Idempotency-Key": "a" };
  const same = [
    new Request(URL_, { method: "POST", headers, body: "one" }),
    new Request(`${URL_}/?page=2`, { method: "POST", headers, body: "two" }),
    new Request("https://api.example.com/v1/x/../%6Frders", { method: "POST", headers }),
  ];
  const repeats = { repeats: 10 };
  const others = [
    requestWith(headers, URL_, "GET"),
    requestWith({ ...headers, "X-HTTP-Method-Override": "DELETE" }),
    requestWith(headers, `${URL_}/1`),
  ];
  const spent = await costs("header:idempotency-key", repeats)(...same, ...others);
  expect(spent).toEqual([1, 0, 0, 1, 1, 1]);
});
