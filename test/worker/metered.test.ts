// Metered requests inside workerd: its own bodies.

import { expect, it } from "vitest";
import { estimateRequest } from "../../src/features/meter/llm/index.ts";

const CHAT = "https://gate.example/v1/chat/completions";
const MIB = 1_048_576;

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

it.each([10, MIB - 100, MIB, 3 * MIB])("a body of %i bytes is whole after its estimate", async (length) => {
  const messages = [{ role: "user", content: "x".repeat(length) }];
  const text = JSON.stringify({ model: "m", max_tokens: 7, messages });
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
