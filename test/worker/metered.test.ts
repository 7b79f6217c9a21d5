// Metered requests inside workerd: its own bodies, what a handler gets, and what is settled when its answer has passed.

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { expect, it } from "vitest";
import { estimateRequest } from "../../src/features/meter/llm/index.ts";
import { memoryStore, withRateLimit } from "../../src/index.ts";
import { createLimiter } from "../support/limiter.ts";

const CHAT = "https://gate.example/v1/chat/completions";
const MIB = 1_048_576;

const limiter = () =>
  createLimiter({
    policies: [
      { name: "tokens", key: "global", meter: { unit: "tokens" }, limits: [{ limit: 10_000, window: "31d" }] },
    ],
    store: memoryStore(),
  });

/** A request of a client in Berlin. */
const post = (body: BodyInit) =>
  new Request(CHAT, {
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

/** A body of workerd's own kind, whose length it knows. */
function fixed(text: string): ReadableStream {
  const { readable, writable } = new FixedLengthStream(text.length);
  void (async () => {
    const writer = writable.getWriter();
    for (let at = 0; at < text.length; at += 100_000) {
      await writer.write(new TextEncoder().encode(text.slice(at, at + 100_000)));
    }
    await writer.close();
  })();
  return readable;
}

const longBody = (length: number) =>
  JSON.stringify({ model: "m", max_tokens: 7, messages: [{ role: "user", content: "x".repeat(length) }] });

it.each([10, MIB - 100, MIB, 3 * MIB])("a body of %i bytes is whole after its estimate", async (length) => {
  const text = longBody(length);
  for (const body of [text, fixed(text)]) {
    const headers = { "Content-Length": String(text.length) };
    const given = new Request(CHAT, { method: "POST", body, headers });
    const { request, estimate } = await estimateRequest(given);
    const said = text.length > MIB ? { isUnread: true } : { model: "m", outputTokens: 7, isUnread: false };
    expect(estimate).toMatchObject(said);
    expect(Math.abs(estimate.inputTokens - length / 4)).toBeLessThan(20);
    expect(await new Request(request).text()).toBe(text);
  }
});
