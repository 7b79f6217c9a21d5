// What a request will use, and that it goes on as it came.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateRequest, formatOf } from "../../src/llm/index.ts";

const CHAT = "https://a.test/v1/chat/completions";
const post = (body: BodyInit, url = CHAT, headers: Record<string, string> = {}) =>
  new Request(url, { method: "POST", body, headers, duplex: "half" } as RequestInit);
const estimateOf = async (body: unknown, url?: string) =>
  (await estimateRequest(post(JSON.stringify(body), url))).estimate;

it.each([
  ["/v1/chat/completions", "openai-chat"],
  ["/openai/deployments/gpt/chat/completions?api-version=1", "openai-chat"],
  ["/V1/Responses/", "openai-responses"],
  ["/v1/embeddings", "openai-embeddings"],
  ["/v1/messages", "anthropic-messages"],
  ["/v1/messages/count_tokens", undefined],
  ["/v1/my-responses", undefined],
])("the format of %s is %s", (path, format) => {
  expect(formatOf({ url: `https://a.test${path}` })).toBe(format);
});

describe("an estimate", () => {
  it("counts text, names and tools, and no number of the provider's own settings", async () => {
    const messages = [{ role: "user", content: "日本" }];
    const bytes = "role".length + "user".length + "content".length + 6;
    const expected = { format: "openai-chat", model: "m", inputTokens: Math.ceil(bytes / 4) };
    expect(await estimateOf({ model: "m", messages })).toEqual({ ...expected, isBackground: false });
    expect(await estimateOf({ model: "m", messages, metadata: { a: "x".repeat(400) } })).toMatchObject(expected);
    const more = await estimateOf({ model: "m", messages, tools: [{ name: "x".repeat(400) }] });
    expect(more.inputTokens).toBe(Math.ceil((bytes + 404) / 4));
  });

  it("takes the largest maximum, times the choices", async () => {
    expect(await estimateOf({ max_tokens: 10, max_completion_tokens: 20, n: 3, stream: true })).toMatchObject({
      outputTokens: 60,
    });
    expect((await estimateOf({ max_tokens: "10" })).outputTokens).toBeUndefined();
    expect((await estimateOf({ max_output_tokens: 7 }, "https://a.test/v1/responses")).outputTokens).toBe(7);
    expect((await estimateOf({ input: "abcd" }, "https://a.test/v1/embeddings")).outputTokens).toBe(0);
  });

  it("takes the deployment of an Azure path as the model", async () => {
    const url = "https://a.test/openai/deployments/gpt-5/chat/completions";
    expect(await estimateOf({ messages: [] }, url)).toMatchObject({ model: "gpt-5" });
    // The path says which model answers: a client does not choose its price.
    expect(await estimateOf({ messages: [], model: "cheap" }, url)).toMatchObject({ model: "gpt-5" });
    const spelled = "https://a.test/openai/Deployments//gpt-5/chat/completions";
    expect(await estimateOf({ messages: [] }, spelled)).toMatchObject({ model: "gpt-5" });
  });

  it("counts text that only begins like a file as text", async () => {
    const content = `data:;base64,${"hello world ".repeat(1_000)}`;
    const { inputTokens } = await estimateOf({ messages: [{ role: "user", content }] });
    expect(inputTokens).toBeGreaterThan(3_000);
  });

  it("counts a body that is not read to its end, and tells no length, as no shorter than 1 MiB", async () => {
    const messages = [{ role: "user", content: "x".repeat(40_000) }];
    const body = new Blob([JSON.stringify({ messages })]).stream();
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    const request = new Request("https://a.test/v1/chat/completions", init);
    const { estimate } = await estimateRequest(request, { maxBytes: 16_384 });
    expect(estimate.inputTokens).toBeGreaterThanOrEqual(1_048_576 / 4 - 10);
  });

  it.each([
    [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(9_000)}` } }],
    [{ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(9_000)}` }],
    [{ type: "input_audio", input_audio: { data: "A".repeat(9_000) } }],
    [{ type: "file", file: { file_data: "A".repeat(9_000) } }],
    [{ type: "image", source: { type: "base64", data: "A".repeat(9_000) } }],
    [{ type: "document", source: { type: "base64", data: "A".repeat(9_000) } }],
  ])("counts a part that is no text by a number: %o", async (part) => {
    const without = await estimateOf({ messages: [{ content: [] }] });
    const one = await estimateRequest(post(JSON.stringify({ messages: [{ content: [part] }] })), { perImage: 50 });
    expect(one.estimate.inputTokens - without.inputTokens).toBe(50);
  });

  it("counts a document of text as text, and numbers of tokens as tokens", async () => {
    const part = { type: "document", source: { type: "text", data: "A".repeat(4_000) } };
    expect((await estimateOf({ messages: [{ content: [part] }] })).inputTokens).toBeGreaterThan(1_000);
    expect((await estimateOf({ input: [1, 2, 3] }, "https://a.test/v1/embeddings")).inputTokens).toBe(3);
  });

  it("counts by its length what is no JSON, or is compressed", async () => {
    expect((await estimateRequest(post("x".repeat(400)))).estimate).toMatchObject({ inputTokens: 100 });
    const packed = post("x".repeat(400), CHAT, { "Content-Encoding": "gzip" });
    expect((await estimateRequest(packed)).estimate).toMatchObject({ inputTokens: 100 });
    const told = post("x".repeat(400), CHAT, { "Content-Encoding": "gzip", "Content-Length": "400" });
    expect((await estimateRequest(told)).estimate).toMatchObject({ inputTokens: 100 });
  });

  it("reads a long body up to maxBytes, and counts the rest by its length", async () => {
    const body = JSON.stringify({
      model: "m",
      max_tokens: 9,
      messages: [{ role: "user", content: "x".repeat(8_000) }],
    });
    const headers = { "Content-Length": String(body.length) };
    const { estimate } = await estimateRequest(post(body, CHAT, headers), { maxBytes: 1_000 });
    expect(estimate).toMatchObject({ model: "m", outputTokens: 9 });
    expect(estimate.inputTokens).toBeGreaterThan(2_000);
    expect(estimate.inputTokens).toBeLessThan(2_020);
  });

  it("is made of any JSON", async () => {
    const names = fc.constantFrom(
      "messages",
      "input",
      "type",
      "source",
      "content",
      "model",
      "n",
      "max_tokens",
      "tools",
    );
    const body = fc.dictionary(
      names,
      fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(names, fc.jsonValue()), { maxLength: 3 })),
    );
    await fc.assert(
      fc.asyncProperty(body, fc.nat(200), async (value, cut) => {
        const text = JSON.stringify(value);
        for (const one of [text, text.slice(0, cut)]) {
          const { request, estimate } = await estimateRequest(post(one), { maxBytes: 100 });
          expect(Number.isInteger(estimate.inputTokens) && estimate.inputTokens >= 0).toBe(true);
          expect(await request.text()).toBe(one);
        }
      }),
    );
    const deep = "[".repeat(200_000);
    expect((await estimateRequest(post(deep))).estimate.inputTokens).toBe(50_000);
    const closed = `{"input":${deep}${"]".repeat(200_000)}}`;
    expect((await estimateRequest(post(closed))).estimate.inputTokens).toBe(0);
  });
});

describe("the request that goes on", () => {
  const streamOf = (chunks: readonly Uint8Array[], error?: Error) => {
    const left = [...chunks];
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = left.shift();
        if (chunk) controller.enqueue(chunk);
        else if (error) controller.error(error);
        else controller.close();
      },
    });
  };

  it("has the same body, byte for byte, however it arrives and however long it is", async () => {
    const chunks = fc.array(fc.uint8Array({ minLength: 1, maxLength: 90 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(chunks, fc.integer({ min: 0, max: 300 }), async (parts, maxBytes) => {
        const whole = Buffer.concat(parts);
        const { request } = await estimateRequest(post(streamOf(parts)), { maxBytes });
        expect(Buffer.from(await request.arrayBuffer()).equals(whole)).toBe(true);
      }),
    );
  });

  it("keeps its method, fields and address", async () => {
    const given = post("{}", `${CHAT}?a=1`, { Authorization: "Bearer x", "Content-Type": "application/json" });
    const { request } = await estimateRequest(given);
    expect([request.method, request.url]).toEqual(["POST", `${CHAT}?a=1`]);
    expect([...request.headers]).toEqual([
      ["authorization", "Bearer x"],
      ["content-type", "application/json"],
    ]);
  });

  it("fails where the given body fails", async () => {
    const broken = streamOf([new Uint8Array([120])], new Error("gone"));
    const { request, estimate } = await estimateRequest(post(broken));
    expect(estimate.inputTokens).toBe(1);
    await expect(request.text()).rejects.toThrow();
  });

  it("is the given one if there is no body, or somebody has it", async () => {
    const get = new Request(CHAT);
    expect((await estimateRequest(get)).request).toBe(get);
    const used = post("{}");
    await used.text();
    expect((await estimateRequest(used)).request).toBe(used);
  });
});
