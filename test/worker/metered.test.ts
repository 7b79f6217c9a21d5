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

it("a stream of many bytes passes whole, and its text is counted", async () => {
  const [own, ctx] = [limiter(), createExecutionContext()];
  const event = new TextEncoder().encode(`data: {"choices":[{"delta":{"content":"four"}}]}\n\n`);
  let left = 5_000;
  const worker = withRateLimit(() => {
    const body = new ReadableStream({
      pull: (controller) => (left-- > 0 ? controller.enqueue(event.slice()) : controller.close()),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }, own);
  const answer = await worker.fetch(post("{}"), {}, ctx);
  expect((await answer.arrayBuffer()).byteLength).toBe(5_000 * event.length);
  await waitOnExecutionContext(ctx);
  expect((await own.peek("tokens")).remaining).toBe(5_000);
});

it("a handler gets the same body whoever pays, with `cf` and its length", async () => {
  const meter = { unit: "tokens" } as const;
  const limits = (limit: number) => [{ limit, window: "31d" }] as const;
  const policies = [
    { name: "plan", key: "global", meter, limits: limits(1), overflow: "team" },
    { name: "team", key: "global", meter, limits: limits(10_000) },
  ];
  const [own, ctx] = [createLimiter({ policies, store: memoryStore() }), createExecutionContext()];
  const seen: unknown[] = [];
  const worker = withRateLimit(async (request) => {
    const { headers } = request;
    seen.push([headers.get("Headgate-Paid-By"), request.cf?.city, headers.get("Content-Length"), await request.text()]);
    return Response.json({ usage: { prompt_tokens: 2, completion_tokens: 3 } });
  }, own);
  const body = '{"model":"gpt-5","max_tokens":20}';
  for (let i = 0; i < 2; i++) {
    const request = post(body);
    request.headers.set("Content-Length", String(body.length));
    request.headers.set("Headgate-Paid-By", "forged");
    await (await worker.fetch(request, {}, ctx)).text();
    await waitOnExecutionContext(ctx);
  }
  expect(seen).toEqual([
    ["plan", "Berlin", String(body.length), body],
    ["team", "Berlin", String(body.length), body],
  ]);
  expect((await own.peek([{ policy: "team" }])).remaining).toBe(9_995);
});
