// The mock provider of test/support/llm, driven by real clients: they must understand every format, and read the usage
// that the provider has recorded.

import Anthropic, { APIError as AnthropicError } from "@anthropic-ai/sdk";
import { ApiError as GoogleError, GoogleGenAI } from "@google/genai";
import OpenAI, { APIError } from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type MockAnswer, saidOf } from "../support/llm/answer.ts";
import { type MockExchange, type MockProvider, startMockProvider } from "../support/llm/mock-provider.ts";
import { type MockPlan, type MockUsage, mockPlan } from "../support/llm/plan.ts";
import { mulberry32 } from "../support/mulberry32.ts";

let provider: MockProvider;
let openai: OpenAI;
let anthropic: Anthropic;
let google: GoogleGenAI;

beforeAll(async () => {
  provider = await startMockProvider();
  openai = new OpenAI({ apiKey: "key", baseURL: `${provider.url}/v1`, maxRetries: 0 });
  anthropic = new Anthropic({ apiKey: "key", baseURL: provider.url, maxRetries: 0 });
  google = new GoogleGenAI({ apiKey: "key", httpOptions: { baseUrl: provider.url } });
});
afterAll(() => provider.close());

const last = (): MockExchange => provider.exchanges.at(-1)!;

/** What a client has understood, in words of our own. */
interface Understood {
  readonly usage: Pick<MockUsage, "inputTokens" | "cachedInputTokens" | "outputTokens">;
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  readonly tool: string;
  readonly search: string;
  readonly finish: string | null | undefined;
}

const USER = [{ role: "user" as const, content: "Say something." }];
const headersOf = (plan: Partial<MockPlan>) => ({ headers: mockPlan(plan) });

async function chat(plan: Partial<MockPlan>, stream: boolean): Promise<Understood> {
  let streamedReasoning = "";
  const streamed = () =>
    openai.chat.completions
      .stream({ model: "gpt-5", messages: USER, stream_options: { include_usage: true } }, headersOf(plan))
      // The client does not put together what OpenAI does not document.
      .on("chunk", ({ choices }) => {
        const delta = choices[0]?.delta as { reasoning_content?: string } | undefined;
        streamedReasoning += delta?.reasoning_content ?? "";
      })
      .finalChatCompletion();
  const completion = stream
    ? await streamed()
    : await openai.chat.completions.create({ model: "gpt-5", messages: USER }, headersOf(plan));
  const [choice] = completion.choices;
  const { content, refusal, tool_calls = [] } = choice!.message;
  const [call] = tool_calls;
  const usage = completion.usage!;
  return {
    usage: {
      inputTokens: usage.prompt_tokens,
      cachedInputTokens: usage.prompt_tokens_details!.cached_tokens!,
      outputTokens: usage.completion_tokens,
    },
    text: content ?? "",
    refusal: refusal ?? "",
    reasoning: stream
      ? streamedReasoning
      : ((choice!.message as { reasoning_content?: string }).reasoning_content ?? ""),
    tool: call?.type === "function" ? call.function.arguments : "",
    search: "",
    finish: choice!.finish_reason,
  };
}

async function responses(plan: Partial<MockPlan>, stream: boolean): Promise<Understood> {
  const response = stream
    ? await openai.responses.stream({ model: "gpt-5", input: "Say something." }, headersOf(plan)).finalResponse()
    : await openai.responses.create({ model: "gpt-5", input: "Say something." }, headersOf(plan));
  const usage = response.usage!;
  const messages = response.output.flatMap((item) => (item.type === "message" ? item.content : []));
  return {
    usage: {
      inputTokens: usage.input_tokens,
      cachedInputTokens: usage.input_tokens_details.cached_tokens,
      outputTokens: usage.output_tokens,
    },
    text: response.output_text,
    refusal: messages.map((part) => (part.type === "refusal" ? part.refusal : "")).join(""),
    reasoning: response.output
      .flatMap((item) => (item.type === "reasoning" ? item.summary : []))
      .map(({ text }) => text)
      .join(""),
    tool: response.output.map((item) => (item.type === "function_call" ? item.arguments : "")).join(""),
    search: response.output
      .map((item) => (item.type === "web_search_call" && item.action?.type === "search" ? item.action.query : ""))
      .join(""),
    finish: response.status,
  };
}

async function messages(plan: Partial<MockPlan>, stream: boolean): Promise<Understood> {
  const body = { model: "claude-opus-5-5", max_tokens: 1024, messages: USER };
  const message = stream
    ? await anthropic.messages.stream(body, headersOf(plan)).finalMessage()
    : await anthropic.messages.create(body, headersOf(plan));
  const { usage, content } = message;
  const cachedInputTokens = usage.cache_read_input_tokens!;
  const calls = content.map((block) => (block.type === "tool_use" ? JSON.stringify(block.input) : ""));
  return {
    usage: {
      inputTokens: usage.input_tokens + usage.cache_creation_input_tokens! + cachedInputTokens,
      cachedInputTokens,
      outputTokens: usage.output_tokens,
    },
    text: content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    refusal: "",
    reasoning: content.map((block) => (block.type === "thinking" ? block.thinking : "")).join(""),
    tool: calls.join(""),
    search: content.map((block) => (block.type === "server_tool_use" ? JSON.stringify(block.input) : "")).join(""),
    finish: message.stop_reason,
  };
}

async function content(plan: Partial<MockPlan>, stream: boolean): Promise<Understood> {
  const body = { model: "gemini-2.5-flash", contents: "Say something.", config: { httpOptions: headersOf(plan) } };
  const answers = [];
  if (stream) for await (const one of await google.models.generateContentStream(body)) answers.push(one);
  else answers.push(await google.models.generateContent(body));
  const { usageMetadata = {}, candidates } = answers.at(-1)!;
  const { promptTokenCount = 0, toolUsePromptTokenCount = 0, cachedContentTokenCount = 0 } = usageMetadata;
  const parts = answers.flatMap((one) => one.candidates![0]!.content!.parts!);
  const textOf = (isThought: boolean) =>
    parts.map(({ text = "", thought = false }) => (thought === isThought ? text : "")).join("");
  return {
    usage: {
      inputTokens: promptTokenCount + toolUsePromptTokenCount,
      cachedInputTokens: cachedContentTokenCount,
      outputTokens: (usageMetadata.candidatesTokenCount ?? 0) + (usageMetadata.thoughtsTokenCount ?? 0),
    },
    text: textOf(false),
    refusal: "",
    reasoning: textOf(true),
    tool: parts.map(({ functionCall }) => (functionCall ? JSON.stringify(functionCall.args) : "")).join(""),
    search: "",
    finish: candidates![0]!.finishReason,
  };
}

const FORMATS = {
  "openai-chat": chat,
  "openai-responses": responses,
  "anthropic-messages": messages,
  "google-gemini": content,
};
const ERRORS = { "anthropic-messages": AnthropicError, "google-gemini": GoogleError } as Readonly<
  Record<string, typeof APIError | typeof AnthropicError | typeof GoogleError>
>;

const PLANS: Record<string, Partial<MockPlan>> = {
  text: {},
  "a tool call after text": { parts: ["text", "tool"], seed: 2 },
  "reasoning before text": { parts: ["reasoning", "text"], seed: 3, tokens: 41 },
  "a search before text": { parts: ["search", "text"], seed: 10, tokens: 30 },
  "a refusal": { parts: ["refusal"], seed: 4 },
  "an answer at its maximum": { end: "incomplete", seed: 5 },
  "one byte a write": { chunk: 1, seed: 6, parts: ["reasoning", "text", "tool"] },
  "writes of any size, CRLF and comments": { chunk: "random", newline: "\r\n", comments: true, seed: 7, tokens: 200 },
  "lines that end in CR": { chunk: 7, newline: "\r", seed: 8 },
  "numbers of its own": { usage: { inputTokens: 5, cachedInputTokens: 3, cacheWriteTokens: 1, outputTokens: 77 } },
  gzip: { gzip: true, seed: 9 },
};

/**
 * Chat completions have no searches: what the model says of them is text. Messages have no refusals of their own kind,
 * their text is text; and their client parses what tools are given.
 */
function expected(answer: MockAnswer, format: string) {
  const [text, refusal, reasoning, tool, search] = (["text", "refusal", "reasoning", "tool", "search"] as const).map(
    (kind) => saidOf(answer, kind),
  ) as [string, string, string, string, string];
  if (format === "openai-chat") return { text: search + text, refusal, reasoning, tool, search: "" };
  if (format === "openai-responses") return { text, refusal, reasoning, tool, search };
  if (format === "google-gemini") return { text: search + text + refusal, refusal: "", reasoning, tool, search: "" };
  const parsed = (said: string) => (said === "" ? "" : JSON.stringify(JSON.parse(said)));
  return { text: text + refusal, refusal: "", reasoning, tool: parsed(tool), search: parsed(search) };
}

/** Formats whose streams tell usage before their end. */
const TELLS_EARLY = new Set(["anthropic-messages", "google-gemini"]);

describe.each(Object.entries(FORMATS))("%s", (format, ask) => {
  describe.each([false, true])("stream: %s", (stream) => {
    it.each(Object.entries(PLANS))("its client understands %s", async (_name, plan) => {
      const understood = await ask(plan, stream);
      const { answer, usage, ...exchange } = last();
      const { inputTokens, cachedInputTokens, outputTokens } = usage!;
      expect(understood).toMatchObject({
        usage: { inputTokens, cachedInputTokens, outputTokens },
        ...expected(answer!, format),
      });
      expect(usage).toMatchObject(
        plan.usage ? { inputTokens: 5, outputTokens: 77 } : { outputTokens: plan.tokens ?? 16 },
      );
      if (plan.end === "incomplete") expect(understood.finish).toMatch(/^(?:length|incomplete|max_tokens)$/i);
      expect(exchange).toMatchObject({ format, status: 200, clientGone: false });
      const isAsked = JSON.parse(exchange.body.toString()).stream ?? exchange.url.includes(":stream");
      expect(isAsked).toBe(stream);
      expect(exchange.headers).toHaveProperty("accept-encoding");
    });
  });

  it("its client throws the error of a status", async () => {
    for (const status of [400, 401, 429, 500, 529]) {
      for (const stream of [false, true]) {
        const error = await ask({ status, headers: { "retry-after-ms": "5" } }, stream).catch((thrown) => thrown);
        expect(error).toBeInstanceOf(ERRORS[format] ?? APIError);
        expect(error.status).toBe(status);
        expect(last()).toMatchObject({ status, text: "" });
        expect(last()).not.toHaveProperty("usage");
        // Google's error has the body as its message, and no fields.
        if (format === "google-gemini") continue;
        expect(error).toMatchObject({
          message: expect.stringMatching(/^\d{3} [^s]/),
          requestID: expect.any(String),
        });
        expect(error.headers.get("retry-after-ms")).toBe("5");
      }
    }
  });

  it("its client throws when a stream ends with an error", async () => {
    const thrown = await ask({ end: "error", after: 6 }, true).catch((error) => error);
    expect(thrown).toBeInstanceOf(ERRORS[format] ?? APIError);
    expect(last().text).not.toBe("");
  });

  it("its client throws when the connection breaks, and what was told by then is recorded", async () => {
    for (const stream of [false, true]) {
      await expect(ask({ end: "broken", after: stream ? 4 : 1 }, stream)).rejects.toThrow();
      expect(last()).toMatchObject({ clientGone: false });
      expect(last().writtenBytes).toBeGreaterThan(0);
      expect(last().usage === undefined).toBe(!(stream && TELLS_EARLY.has(format)));
    }
  });
});

it("a response that failed says so without usage", async () => {
  const stream = openai.responses.stream({ model: "gpt-5", input: "Hi" }, headersOf({ end: "failed", after: 6 }));
  expect(await stream.finalResponse()).toMatchObject({
    status: "failed",
    error: { code: "server_error" },
    usage: null,
  });
});

it("embeddings tell what they were given, also in base64", async () => {
  for (const encoding_format of [undefined, "float"] as const) {
    const { data, usage } = await openai.embeddings.create(
      { model: "text-embedding-3-small", input: ["one", "two"], ...(encoding_format ? { encoding_format } : {}) },
      headersOf({ tokens: 6, seed: 3 }),
    );
    expect(data.map(({ embedding }) => embedding.length)).toEqual([6, 6]);
    expect(data[0]!.embedding[0]).toBeCloseTo(mulberry32(3)() * 2 - 1, 6);
    expect(last().usage).toMatchObject({ inputTokens: usage.prompt_tokens, outputTokens: 0 });
  }
});

it("a chat stream tells usage only if it is asked to, and with several choices once for all", async () => {
  const read = async (body: object, plan: Partial<MockPlan> = {}) => {
    const params = { model: "gpt-5", messages: USER, stream: true as const, ...body };
    const chunks = [];
    for await (const chunk of await openai.chat.completions.create(params, headersOf(plan))) chunks.push(chunk);
    return chunks;
  };
  const silent = await read({});
  expect(silent.some((chunk) => "usage" in chunk)).toBe(false);
  expect(last().usage).toBeUndefined();
  const asked = await read({ n: 3, stream_options: { include_usage: true } });
  expect(asked.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
  expect(asked.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 48 } });
  expect(asked.flatMap(({ choices }) => choices).filter(({ finish_reason }) => finish_reason)).toHaveLength(3);
  const omitted = await read({ stream_options: { include_usage: true } }, { omitUsage: true });
  expect(omitted.some((chunk) => "usage" in chunk)).toBe(false);
});

it("the body is recorded byte for byte", async () => {
  const body = Buffer.from('{ "model":"gpt-5",\n"messages":[], "user":"\\u00e9é" }');
  await fetch(`${provider.url}/openai/deployments/mine/chat/completions?api-version=1`, { method: "POST", body });
  expect(last().body.equals(body)).toBe(true);
  expect(last()).toMatchObject({ format: "openai-chat", url: expect.stringContaining("?api-version=1") });
});

it("an answer waits where the plan says, and goes on when the test says", async () => {
  const running = ["openai-chat", "anthropic-messages"].map((name) =>
    FORMATS[name as "openai-chat"]({ holdAfter: 4 }, true),
  );
  await expect.poll(() => provider.exchanges.slice(-2).map(({ text }) => text !== "")).toEqual([true, true]);
  expect(provider.inFlight).toBe(2);
  provider.resume();
  await Promise.all(running);
  await expect.poll(() => provider.inFlight).toBe(0);
});

it("an answer that waits before its status may be an error, and may be of another type", async () => {
  const refused = chat({ holdAfter: 0, status: 500 }, false).catch((error) => error);
  const page = fetch(`${provider.url}/v1/embeddings`, {
    method: "POST",
    body: "{}",
    headers: mockPlan({ holdAfter: 0, headers: { "content-type": "text/html" } }),
  });
  await expect.poll(() => provider.inFlight).toBe(2);
  expect(provider.exchanges.slice(-2).map(({ writtenBytes }) => writtenBytes)).toEqual([0, 0]);
  provider.resume();
  expect(await refused).toMatchObject({ status: 500 });
  expect((await page).headers.get("content-type")).toBe("text/html");
});

it("a client that leaves a stream without end is seen, with what had been written by then", async () => {
  const stream = await openai.chat.completions.create(
    { model: "gpt-5", messages: USER, stream: true },
    headersOf({ tokens: 1e9, chunk: "random" }),
  );
  let read = "";
  for await (const chunk of stream) {
    read += chunk.choices[0]?.delta.content ?? "";
    if (read.length > 10_000) break;
  }
  const exchange = last();
  await exchange.closed;
  expect(exchange.clientGone).toBe(true);
  expect(exchange.text.startsWith(read)).toBe(true);
  expect(exchange.writtenBytes).toBeGreaterThan(exchange.text.length);
});

it("what all answers told is added up", () => {
  const sum = provider.exchanges.reduce((all, { usage }) => all + (usage?.outputTokens ?? 0), 0);
  expect(provider.told().outputTokens).toBe(sum);
});
