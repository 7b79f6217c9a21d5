// fetchWithBackoff against the gateway in real time: a crowd beside the naive loop. browser.test.ts has it in a page.

import { expect, it } from "vitest";
import { fetchWithBackoff } from "../../src/client/index.ts";
import { startGateway, uniqueName } from "../support/gateway/gateway.ts";

const CLIENTS = 40;
const LIMIT = 10;

/** What a crowd did: 40 clients with one key, each with one request. */
async function crowd(ask: (url: URL, fetch: (url: string | URL | Request) => Promise<Response>) => Promise<Response>) {
  const policy = { name: uniqueName("crowd"), key: ["global"], limits: [{ limit: LIMIT, window: "1s" }] };
  const { url } = await startGateway({ policies: [policy] });
  let requests = 0;
  const startedAt = performance.now();
  const answers = await Promise.all(
    Array.from({ length: CLIENTS }, () =>
      ask(url, (input) => {
        requests++;
        return fetch(input);
      }),
    ),
  );
  return { statuses: answers.map(({ status }) => status), requests, tookMs: performance.now() - startedAt };
}

it("a crowd is admitted, soon and with few requests, where the naive loop needs more", async () => {
  const [ours, naive] = await Promise.all([
    crowd((url, fetch) => fetchWithBackoff(url, undefined, { fetch })),
    crowd(async (url, fetch) => {
      for (;;) {
        const response = await fetch(url);
        if (response.status !== 429) return response;
        await new Promise((resolve) => setTimeout(resolve, Number(response.headers.get("Retry-After")) * 1000));
      }
    }),
  ]);

  for (const { statuses } of [ours, naive]) expect(new Set(statuses)).toEqual(new Set([200]));
  expect(ours.requests).toBeLessThan(3 * CLIENTS);
  expect(ours.requests).toBeLessThan(naive.requests);
  // The ideal is 3 s. A busy machine may take longer.
  expect(ours.tookMs).toBeLessThan(30_000);
});
