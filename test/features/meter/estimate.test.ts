// What a request will use, and that it goes on as it came.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { estimateRequest, formatOf } from "../../../src/features/meter/llm/index.ts";
import { draws } from "../../support/cases/draws.ts";

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
  ["/v1/chat//%63ompletions", "openai-chat"],
  ["/v1/%6Dessage%73/", "anthropic-messages"],
  ["/v1beta/models/gemini-2.5-flash:generateContent", "google-gemini"],
  ["/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "google-gemini"],
  ["/V1/tunedModels//mine%3AgenerateContent/", "google-gemini"],
  ["/v1/projects/p/locations/l/publishers/google/models/g:streamGenerateContent", "google-gemini"],
  ["/v1beta/models/gemini-2.5-flash:countTokens", undefined],
  ["/v1beta/models/gemini-embedding-001:batchEmbedContents", undefined],
  ["/v1beta/models/:generateContent", undefined],
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
    expect(await estimateOf({ model: "m", messages })).toEqual({
      ...{ ...expected, isBackground: false, isModelInPath: false, isUnread: false },
    });
    expect(await estimateOf({ model: "m", messages, metadata: { a: "x".repeat(400) } })).toMatchObject(expected);
    const more = await estimateOf({ model: "m", messages, tools: [{ name: "x".repeat(400) }] });
    expect(more.inputTokens).toBe(Math.ceil((bytes + 404) / 4));
  });

  it.each(["service_tier", "serviceTier"])("names the tier that %s asks for", async (name) => {
    expect(await estimateOf({ [name]: "priority" })).toMatchObject({ tier: "priority" });
  });

  it.each<[string, object, number | undefined]>([
    ["chat/completions", { max_tokens: 10, max_completion_tokens: 20, n: 3, stream: true }, 60],
    ["chat/completions", { max_tokens: "10" }, undefined],
    ["chat/completions", { max_tokens: 9, max_output_tokens: 70 }, 9],
    ["responses", { max_output_tokens: 7, max_tokens: 9, n: 3 }, 7],
    ["messages", { max_tokens: 9, max_output_tokens: 7, n: 3 }, 9],
    ["embeddings", { input: "abcd", max_tokens: 9 }, 0],
    ["elsewhere", { max_tokens: 9, max_output_tokens: 7, n: 3 }, 27],
    // Some providers take 0 as no maximum.
    ["chat/completions", { max_tokens: 0 }, undefined],
    ["models/g:generateContent", { generationConfig: { maxOutputTokens: 7, candidateCount: 3 }, n: 9 }, 21],
    // JSON of protocol buffers has both spellings.
    ["models/g:streamGenerateContent", { generation_config: { max_output_tokens: 7, candidate_count: 2 } }, 14],
    ["models/g:generateContent", { maxOutputTokens: 7, max_output_tokens: 7 }, undefined],
    ["elsewhere", { generationConfig: { maxOutputTokens: 99 }, max_tokens: 9 }, 99],
  ])("on /v1/%s takes the largest maximum that the format has, times its choices: %o", async (end, body, tokens) => {
    expect((await estimateOf(body, `https://a.test/v1/${end}`)).outputTokens).toBe(tokens);
  });

  it.each([
    ["chat/completions", false],
    ["messages", false],
    ["responses", true],
    ["elsewhere", true],
  ])("on /v1/%s a model in the background is %s", async (end, isBackground) => {
    expect(await estimateOf({ background: true }, `https://a.test/v1/${end}`)).toMatchObject({ isBackground });
  });

  it.each<[boolean, string, BodyInit, Record<string, string>?]>([
    [false, "false", '{"background":false}'],
    [true, "1", '{"background":1}'],
    [true, "a text", '{"background":"true"}'],
    [true, "behind what only some parsers read", '{"top_p":NaN,"background":true}'],
    [true, "compressed", "\x1f\x8b", { "Content-Encoding": "gzip" }],
    [true, "behind the bytes that are read", `{"user":"${"x".repeat(200)}","background":true}`],
  ])("may work in the background: %s, if the body says so by %s", async (isBackground, _, body, headers) => {
    for (const [end, may] of Object.entries({ responses: isBackground, "chat/completions": false })) {
      const request = post(body, `https://a.test/v1/${end}`, headers);
      expect((await estimateRequest(request, { maxBytes: 100 })).estimate.isBackground).toBe(may);
    }
  });

  it("takes the deployment of an Azure path as the model", async () => {
    const url = "https://a.test/openai/deployments/gpt-5/chat/completions";
    expect(await estimateOf({ messages: [] }, url)).toMatchObject({ model: "gpt-5" });
    // The path says which model answers: a client does not choose its price.
    expect(await estimateOf({ messages: [], model: "cheap" }, url)).toMatchObject({ model: "gpt-5" });
    for (const path of ["Deployments//gpt-5/chat/completions", "%64eployments/gpt%2D5/chat%2fx/%63hat/completions/"]) {
      const spelled = await estimateOf({ messages: [], model: "cheap" }, `https://a.test/openai/${path}`);
      expect(spelled).toMatchObject({ model: "gpt-5", format: "openai-chat" });
    }
  });

  it("takes the model of a Gemini path, whatever the body says", async () => {
    for (const path of [
      "v1beta/models/gemini-2.5-flash:generateContent",
      "v1//models/gemini-2%2E5-flash%3AgenerateContent/",
    ]) {
      expect(await estimateOf({ contents: [], model: "cheap" }, `https://a.test/${path}`)).toMatchObject({
        model: "gemini-2.5-flash",
        format: "google-gemini",
      });
    }
  });

  it("counts Gemini's contents, instructions, tools and schemas", async () => {
    const body = {
      contents: [{ role: "user", parts: [{ text: "Hello" }, { functionCall: { name: "f", args: { a: 1 } } }] }],
      systemInstruction: { parts: [{ text: "Be brief." }] },
      tools: [{ functionDeclarations: [{ name: "f" }] }],
      generationConfig: { temperature: 1, stopSequences: ["x".repeat(40)], responseSchema: { type: "STRING" } },
      safetySettings: [{ category: "x".repeat(40) }],
    };
    const text = [
      "role user parts text Hello functionCall name f args a",
      "parts text Be_brief.",
      "functionDeclarations name f",
    ];
    const bytes = [...text, "type STRING"].join("").replaceAll(" ", "").length + 4;
    const { inputTokens } = await estimateOf(body, "https://a.test/v1/models/g:generateContent");
    expect(inputTokens).toBe(Math.ceil(bytes / 4));
  });

  it.each<[number, string, object]>([
    [1, "data in base64", { inlineData: { mimeType: "image/png", data: "A".repeat(9_000) } }],
    [1, "the other spelling", { inline_data: { mime_type: "audio/wav", data: "A".repeat(9_000) } }],
    [1, "a file", { fileData: { mimeType: "video/mp4", fileUri: "https://a.test/files/abc" } }],
    [
      1,
      "a result with data",
      { functionResponse: { name: "f", parts: [{ inlineData: { mimeType: "image/png", data: "AA" } }] } },
    ],
    [0, "data that is text", { inlineData: { mimeType: "text/plain", data: "A".repeat(9_000) } }],
    [0, "data of no type", { inlineData: { data: "A".repeat(9_000) } }],
    [0, "data that is not base64", { inlineData: { mimeType: "image/png", data: "A ".repeat(4_500) } }],
    [
      0,
      "the arguments of a call",
      { functionCall: { args: { inlineData: { mimeType: "image/png", data: "A".repeat(9_000) } } } },
    ],
  ])("counts %i media in a part of Gemini: %s", async (media, _, part) => {
    const url = "https://a.test/v1/models/g:generateContent";
    const of = async (perImage: number) =>
      (await estimateRequest(post(JSON.stringify({ contents: [{ parts: [part] }] }), url), { perImage })).estimate
        .inputTokens;
    expect((await of(10_000)) - (await of(0))).toBe(media * 10_000);
    expect((await of(0)) > 2_000).toBe(media === 0);
  });

  const IMAGE = `data:image/png;base64,${"A".repeat(9_000)}`;
  const RAW = "A".repeat(9_000);

  it.each<[string, object]>([
    ["chat/completions", { type: "image_url", image_url: { url: IMAGE } }],
    ["chat/completions", { type: "image_url", image_url: { url: "https://a.test/a.png" } }],
    ["chat/completions", { type: "input_audio", input_audio: { data: RAW } }],
    ["chat/completions", { type: "file", file: { file_data: RAW } }],
    ["chat/completions", { type: "file", file: { file_id: "file-abc" } }],
    ["responses", { type: "input_image", image_url: IMAGE }],
    ["responses", { type: "input_file", file_data: IMAGE.replace("image/png", "application/pdf") }],
    ["responses", { type: "input_file", file_url: "https://a.test/a.pdf" }],
    ["messages", { type: "image", source: { type: "base64", data: RAW } }],
    ["messages", { type: "image", source: { type: "url", url: "https://a.test/a.png" } }],
    ["messages", { type: "document", source: { type: "base64", data: RAW } }],
    ["elsewhere", { type: "image_url", image_url: { url: IMAGE } }],
    ["elsewhere", { type: "document", source: { type: "file", file_id: "file_abc" } }],
  ])("counts media by a number, on /v1/%s: %o", async (end, part) => {
    const of = async (content: object[]) => {
      const members = end === "responses" ? { input: [{ content }] } : { messages: [{ content }] };
      return (await estimateRequest(post(JSON.stringify(members), `https://a.test/v1/${end}`), { perImage: 50 }))
        .estimate.inputTokens;
    };
    expect((await of([part])) - (await of([]))).toBe(50);
    // Other members of a part are text.
    expect((await of([{ ...part, title: "x".repeat(400) }])) - (await of([]))).toBe(50 + 101);
  });

  it.each<[string, object]>([
    ["the output of a function", { input: [{ output: [{ type: "input_image", image_url: IMAGE }] }] }],
    ["the output of a computer", { input: [{ output: { type: "computer_screenshot", image_url: IMAGE } }] }],
    ["a variable of a prompt", { prompt: { variables: { content: { type: "input_image", image_url: IMAGE } } } }],
    [
      "the result of a tool",
      { messages: [{ content: [{ type: "tool_result", content: [{ type: "image", source: { data: RAW } }] }] }] },
    ],
    [
      "a document of parts",
      {
        messages: [
          {
            content: [
              { type: "document", source: { type: "content", content: [{ type: "image", source: { data: RAW } }] } },
            ],
          },
        ],
      },
    ],
  ])("counts media by a number in %s", async (_, body) => {
    const url = `https://a.test/v1/${JSON.stringify(body).includes("source") ? "messages" : "responses"}`;
    const { estimate } = await estimateRequest(post(JSON.stringify(body), url), { perImage: 50 });
    expect(estimate.inputTokens).toBeGreaterThanOrEqual(50);
    expect(estimate.inputTokens).toBeLessThan(50 + 30);
  });

  const WORDS = "hello+world/".repeat(1_000);
  const asPart = (part: object) => ({ messages: [{ role: "user", content: [part] }] });
  it.each<[string, object, string?]>([
    ["of a message, as a data URL", { messages: [{ role: "user", content: `data:;base64,${WORDS}` }] }],
    ["of a message, as an image", { messages: [{ role: "user", content: `data:image/png;base64,${WORDS}` }] }],
    ["of a message that is called image", { messages: [{ type: "image", role: "user", content: WORDS }] }],
    ["of a part that is called image", asPart({ type: "image", text: WORDS })],
    ["of a part of another format", asPart({ type: "image", source: { type: "base64", data: WORDS } })],
    ["beside an image", asPart({ type: "image_url", image_url: { url: "https://a.test", title: WORDS } })],
    ["beside a file, under a name", asPart({ type: "file", filename: WORDS, file: { file_id: "f", filename: "x" } })],
    ["as a type", asPart({ type: WORDS, file: { file_id: "f" } })],
    ["as data that is not base64", asPart({ type: "input_audio", input_audio: { data: WORDS.replaceAll("/", " ") } })],
    ["of a file that says no type", asPart({ type: "file", file: { file_data: `data:;base64,${WORDS}` } })],
    ["of a file of text", asPart({ type: "file", file: { file_data: `data:text/plain;base64,${WORDS}` } })],
    ["of the schema of a tool", { tools: [{ type: "file", file: { file_data: WORDS } }] }],
    ["of a schema in a tool", { tools: [{ parameters: { content: [{ type: "file", file: { file_data: WORDS } }] } }] }],
    [
      "of the arguments of a call",
      asPart({ type: "tool_use", input: { content: [{ type: "image", source: { type: "base64", data: WORDS } }] } }),
      "messages",
    ],
    ["of a document of text", asPart({ type: "document", source: { type: "text", data: WORDS } }), "messages"],
    ["of a source of another type", asPart({ type: "image", source: { type: WORDS, data: "A" } }), "messages"],
    ["of an embedding", { input: [{ content: [{ type: "input_image", image_url: WORDS }] }] }, "embeddings"],
    [
      "of Bedrock's text in base64",
      asPart({ document: { format: "txt", source: { bytes: WORDS } } }),
      "model/m/converse",
    ],
    ["beside a document of Bedrock", asPart({ document: { context: WORDS } }), "model/m/converse"],
  ])("counts text as text: %s", async (_, body, end = "chat/completions") => {
    const { estimate } = await estimateRequest(post(JSON.stringify(body), `https://a.test/v1/${end}`), { perImage: 0 });
    const { inputTokens } = estimate;
    expect(inputTokens).toBeGreaterThanOrEqual(WORDS.length / 4);
    expect(inputTokens).toBeLessThan(WORDS.length / 4 + 100);
  });

  it.each<object>([
    { type: "file" },
    { type: "file", file: {} },
    { type: "file", file: { file_id: "" } },
    { type: "input_audio", input_audio: { data: null } },
    { type: "image_url", image_url: { url: ["https://a.test"] } },
  ])("counts a part without data as its text: %o", async (part) => {
    expect((await estimateOf({ messages: [part, { content: [part] }] })).inputTokens).toBeLessThan(40);
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
      draws(100),
    );
  });

  it("is made of any depth", async () => {
    const deep = "[".repeat(200_000);
    expect((await estimateRequest(post(deep))).estimate.inputTokens).toBe(50_000);
    const closed = `{"input":${deep}${"]".repeat(200_000)}}`;
    expect((await estimateRequest(post(closed))).estimate.inputTokens).toBe(100_003);
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
      draws(100),
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
