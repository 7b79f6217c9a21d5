// Metered requests inside workerd: what a handler gets, and what is settled when its answer has passed.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { memoryStore, withRateLimit } from "../../src/index.ts";
import { createLimiter } from "../support/limiter.ts";

const limiter = () =>
  createLimiter({
    policies: [
      { name: "tokens", key: "global", meter: { unit: "tokens" }, limits: [{ limit: 10_000, window: "31d" }] },
    ],
    store: memoryStore(),
  });

/** A request of a client in Berlin. */
const post = (body: BodyInit) =>
  new Request("https://gate.example/v1/chat/completions", {
    method: "POST",
    body,
    headers: { "Accept-Encoding": "gzip" },
    cf: { city: "Berlin" },
  } as RequestInit) as Request<unknown, IncomingRequestCfProperties<unknown>>;

it("a handler gets the same body and `cf`, also after `cost` has read it, and asks for a plain answer", async () => {
  const [own, ctx] = [limiter(), createExecutionContext()];
  const body = JSON.stringify({ messages: ["four"], max_tokens: 20 });
  const seen: unknown[] = [];
  const worker = withRateLimit(
    async (request) => {
      seen.push(await request.text(), request.cf?.city, request.headers.get("Accept-Encoding"));
      return Response.json({ usage: { prompt_tokens: 2, completion_tokens: 3 } });
    },
    own,
    { cost: async (request) => ((await request.json()) as { max_tokens: number }).max_tokens },
  );
  const answer = await worker.fetch(post(body), {}, ctx);
  expect(answer.headers.get("RateLimit")).toContain('"tokens";r=9980');
  await answer.text();
  await waitOnExecutionContext(ctx);
  expect(seen).toEqual([body, "Berlin", "identity"]);
  expect((await own.peek("tokens")).remaining).toBe(9_995);
});
