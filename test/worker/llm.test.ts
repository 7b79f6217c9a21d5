// What workerd does with bodies of its own: a request that was read for an estimate, and an answer that is metered.

import { expect, it } from "vitest";
import { estimateRequest, meterResponse } from "../../src/features/meter/llm/index.ts";

const CHAT = "https://gate.example/v1/chat/completions";
const MIB = 1_048_576;
const post = (body: BodyInit, headers: HeadersInit = {}) => new Request(CHAT, { method: "POST", body, headers });

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
    const given = post(body, { "Content-Length": String(text.length) });
    const { request, estimate } = await estimateRequest(given);
    const said = text.length > MIB ? { isUnread: true } : { model: "m", outputTokens: 7, isUnread: false };
    expect(estimate).toMatchObject(said);
    expect(Math.abs(estimate.inputTokens - length / 4)).toBeLessThan(20);
    expect(await new Request(request).text()).toBe(text);
  }
});

it("an answer ends with an error when its slots cannot be renewed", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const bytes = new TextEncoder().encode('{"choices":[{"message":{"content":"12345678');
  const writing = writable
    .getWriter()
    .write(bytes)
    .catch(() => {});
  const settled: unknown[] = [];
  const work: Promise<unknown>[] = [];
  const reservation = {
    reserved: { tokens: 100 },
    decision: { hold: { renewEveryMs: 5, renew: async () => false } },
    settle: async (actual: unknown) => void settled.push(actual),
    release: async () => void settled.push("release"),
  };
  const given = new Response(readable, { headers: { "Content-Type": "application/json" } });
  const answer = meterResponse(given, reservation, {
    estimate: { inputTokens: 10 },
    meters: { tokens: { unit: "tokens" } },
    background: { waitUntil: (one) => void work.push(one) },
  });
  await expect(answer.text()).rejects.toThrow("slots");
  await Promise.all([writing, ...work]);
  // What was reserved stays charged: it has not ended.
  expect(settled).toEqual([{}]);
});
