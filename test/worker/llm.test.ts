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

it("a body that somebody has read counts by its length", async () => {
  const text = longBody(4_000);
  const used = post(text, { "Content-Length": String(text.length) });
  await used.text();
  const { request, estimate } = await estimateRequest(used);
  expect(request).toBe(used);
  expect(estimate).toMatchObject({ model: undefined, inputTokens: Math.ceil(text.length / 4) });
});

it("a body that breaks off breaks off in the same way when it is sent on", async () => {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("x"));
    },
    pull() {
      throw new Error("gone");
    },
  });
  const { request, estimate } = await estimateRequest(post(body));
  expect(estimate.inputTokens).toBe(1);
  await expect(request.text()).rejects.toThrow("gone");
});

const USAGE = JSON.stringify({ usage: { prompt_tokens: 3, completion_tokens: 4 } });

function metered(body: BodyInit, hold?: { renewEveryMs: number; renew(): Promise<boolean> }) {
  const calls: unknown[] = [];
  const work: Promise<unknown>[] = [];
  const reservation = {
    reserved: { tokens: 100 },
    decision: { hold },
    settle: async (actual: unknown) => void calls.push(actual),
    release: async () => void calls.push("release"),
  };
  const answer = meterResponse(new Response(body, { headers: { "Content-Type": "application/json" } }), reservation, {
    estimate: { inputTokens: 10 },
    meters: { tokens: { unit: "tokens" } },
    background: { waitUntil: (one) => void work.push(one) },
  });
  return { answer, calls, done: () => Promise.all(work) };
}

it("an answer passes and is settled", async () => {
  const { answer, calls, done } = metered(fixed(USAGE));
  expect(await answer.text()).toBe(USAGE);
  await done();
  expect(calls).toEqual([{ tokens: 7 }]);
});

it("an answer ends with an error when its slots cannot be renewed", async () => {
  const { readable, writable } = new IdentityTransformStream();
  const writing = writable
    .getWriter()
    .write(new TextEncoder().encode('{"choices":[{"message":{"content":"12345678'))
    .catch(() => {});
  const { answer, calls, done } = metered(readable, { renewEveryMs: 5, renew: async () => false });
  await expect(answer.text()).rejects.toThrow("slots");
  await Promise.all([writing, done()]);
  // What was reserved stays charged: it has not ended.
  expect(calls).toEqual([{}]);
});
