/**
 * What providers answer, as they document it, and what that costs by hand. Looked up on 2026-11-29; a file of a public
 * repository stands with the date of the version that was read.
 */

import { crc32 } from "node:zlib";
import type { Estimate } from "../../../../src/features/meter/llm/estimate.ts";
import type { Price } from "../../../../src/kernel/core/policy.ts";

export interface Answer {
  readonly name: string;
  readonly source: string;
  readonly type: string;
  readonly body: Uint8Array;
  readonly format: NonNullable<Estimate["format"]>;
  /** Micro-dollars: tokens times dollars per million. */
  readonly micros: number;
  /** Of 10 micro-dollars, rounded up. */
  readonly units: number;
  readonly price: Price;
}

const utf8 = new TextEncoder();
const json = (value: unknown) => ({ type: "application/json", body: utf8.encode(JSON.stringify(value)) });
export const events = (...all: readonly object[]) => ({
  type: "text/event-stream; charset=utf-8",
  body: utf8.encode(`${all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")}data: [DONE]\n\n`),
});
/** As Anthropic, Cohere and OpenAI's responses stream: the type stands before the data too. */
const named = (...all: readonly { readonly type: string }[]) => ({
  type: "text/event-stream",
  body: utf8.encode(all.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("")),
});
const lines = (...all: readonly object[]) => ({
  type: "application/x-ndjson",
  body: utf8.encode(all.map((one) => `${JSON.stringify(one)}\n`).join("")),
});

/** One frame of `application/vnd.amazon.eventstream`, with one header. */
export function frame(payload: string | object, eventType = "chunk"): Buffer {
  const name = Buffer.from(":event-type");
  const value = Buffer.from(eventType);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  const headers = Buffer.concat([Buffer.of(name.length), name, Buffer.of(7), length, value]);
  const body = Buffer.from(typeof payload === "string" ? payload : JSON.stringify(payload));
  const head = Buffer.alloc(12);
  head.writeUInt32BE(12 + headers.length + body.length + 4);
  head.writeUInt32BE(headers.length, 4);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(Buffer.concat([head, headers, body])));
  return Buffer.concat([head, headers, body, end]);
}
export const AMAZON = "application/vnd.amazon.eventstream";
const frames = (...all: readonly Buffer[]) => ({ type: AMAZON, body: new Uint8Array(Buffer.concat(all)) });
export const chunk = (value: object) =>
  frame({ bytes: Buffer.from(JSON.stringify(value)).toString("base64"), p: "abcdefgh" });

const GPT: Price = {
  ...{ input: 1.25, cachedInput: 0.125, output: 10 },
  ...{ tier: { priority: 1.75, flex: 0.5 }, call: { web_search: 0.01 } },
};
const CLAUDE: Price = {
  ...{ input: 3, cachedInput: 0.3, cacheWrite: 3.75, cacheWrite1h: 6, output: 15 },
  ...{ tier: { priority: 1.75 }, call: { web_search: 0.01, web_fetch: 0.001 } },
};
const OPEN: Price = { input: 0.59, cachedInput: 0.07, output: 0.79 };
const COMMAND: Price = { input: 2.5, output: 10 };

const text = "Hello there, this is the answer.";
const choice = (delta: object, more: object = { finish_reason: null }) => ({
  index: 0,
  delta,
  logprobs: null,
  ...more,
});
const chatChunk = (choices: readonly object[], more: object = {}) => ({
  ...{ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_790_000_000, model: "m-2026" },
  ...{ choices, ...more },
});
const chatAnswer = (more: object) => ({
  ...{ id: "chatcmpl-1", object: "chat.completion", created: 1_790_000_000, model: "m-2026" },
  choices: [{ index: 0, message: { role: "assistant", content: text, refusal: null }, finish_reason: "stop" }],
  ...more,
});

const OPENAI_TYPES = "github.com/openai/openai-node/blob/master/src/resources/completions.ts (2026-08-21)";
const RESPONSES = "github.com/openai/openai-node/blob/master/src/resources/responses/responses.ts (2026-08-21)";
const searched = (id: string) => ({
  ...{ type: "web_search_call", id, status: "completed", action: { type: "search", query: "usage" } },
});
const said = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text }] };
const response = (more: object) => ({ id: "resp_1", object: "response", model: "m-2026", ...more });
const openai: readonly Answer[] = [
  {
    ...{ name: "OpenAI chat", source: OPENAI_TYPES, format: "openai-chat", price: GPT },
    ...json(
      chatAnswer({
        usage: {
          ...{ prompt_tokens: 1_000, completion_tokens: 300, total_tokens: 1_300 },
          prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 200, audio_tokens: 0 },
          completion_tokens_details: { reasoning_tokens: 250, accepted_prediction_tokens: 0 },
        },
        service_tier: "priority",
      }),
    ),
    // 200 × 1.25 = 250, 600 × 0.125 = 75, 200 × 1.25 × 1.25 = 312.5, 300 × 10 = 3,000. 3,637.5 × 1.75 = 6,365.625.
    ...{ micros: 6_365.625, units: 637 },
  },
  {
    ...{ name: "OpenAI chat, stream", format: "openai-chat", price: GPT },
    source: "platform.openai.com/docs/api-reference/chat-streaming",
    ...events(
      chatChunk([choice({ role: "assistant", content: "" })], { service_tier: "default", usage: null }),
      chatChunk([choice({ content: text })], { service_tier: "default", usage: null }),
      chatChunk([], {
        usage: { prompt_tokens: 19, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 4 } },
      }),
    ),
    // 15 × 1.25 + 4 × 0.125 + 10 × 10.
    ...{ micros: 119.25, units: 12 },
  },
  {
    ...{ name: "OpenAI responses", source: RESPONSES, format: "openai-responses", price: GPT },
    ...json(
      response({
        output: [{ type: "reasoning", id: "rs_1", summary: [] }, searched("ws_1"), searched("ws_2"), said],
        service_tier: "flex",
        usage: {
          ...{ input_tokens: 9_000, output_tokens: 700, total_tokens: 9_700 },
          input_tokens_details: { cached_tokens: 5_000, cache_write_tokens: 1_000 },
          output_tokens_details: { reasoning_tokens: 512 },
        },
      }),
    ),
    // Half of 3,000 × 1.25 + 5,000 × 0.125 + 1,000 × 1.5625 + 700 × 10 = 12,937.5, and two calls of a cent.
    ...{ micros: 6_468.75 + 20_000, units: 2_647 },
  },
  {
    ...{ name: "OpenAI responses, stream", format: "openai-responses", price: GPT },
    source: "platform.openai.com/docs/api-reference/responses-streaming",
    ...named(
      { type: "response.created", response: response({ output: [], service_tier: "auto", usage: null }) },
      { type: "response.output_item.added", output_index: 0, item: { type: "web_search_call", id: "ws_1" } },
      { type: "response.web_search_call.completed", item_id: "ws_1", output_index: 0 },
      { type: "response.output_item.done", output_index: 0, item: searched("ws_1") },
      { type: "response.output_text.delta", item_id: "msg_1", delta: text },
      { type: "response.output_text.done", item_id: "msg_1", text },
      {
        type: "response.completed",
        response: response({
          ...{ output: [searched("ws_1"), said], service_tier: "default" },
          usage: {
            input_tokens: 328,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: 52,
            total_tokens: 380,
          },
        }),
      },
    ),
    // 328 × 1.25 + 52 × 10, and a cent.
    ...{ micros: 930 + 10_000, units: 1_093 },
  },
  {
    ...{ name: "OpenAI completions", format: "openai-completions", price: GPT },
    source: "platform.openai.com/docs/api-reference/completions/object",
    ...json({
      ...{ object: "text_completion", model: "gpt-3.5-turbo-instruct", choices: [{ text, index: 0 }] },
      usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
    }),
    // 5 × 1.25 + 7 × 10.
    ...{ micros: 76.25, units: 8 },
  },
  {
    ...{ name: "OpenAI embeddings", format: "openai-embeddings", price: { input: 0.02, output: 0 } },
    source: "platform.openai.com/docs/api-reference/embeddings/create",
    ...json({
      ...{ object: "list", data: [{ object: "embedding", embedding: [0.0023064255, -0.009327292], index: 0 }] },
      ...{ model: "text-embedding-3-small", usage: { prompt_tokens: 8, total_tokens: 8 } },
    }),
    // 8 × 0.02.
    ...{ micros: 0.16, units: 1 },
  },
];

const MESSAGES = "github.com/anthropics/anthropic-sdk-typescript/blob/main/src/resources/beta/messages (2026-08-19)";
const cached = {
  ...{ input_tokens: 2_048, cache_read_input_tokens: 1_800, cache_creation_input_tokens: 248, output_tokens: 503 },
  cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
};
const message = (more: object) => ({ id: "msg_1", type: "message", role: "assistant", model: "claude-x", ...more });
const thought = { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: text } };
const anthropic: readonly Answer[] = [
  {
    ...{ name: "Anthropic messages", format: "anthropic-messages", price: CLAUDE },
    source: "platform.claude.com/docs/en/build-with-claude/prompt-caching",
    ...json(
      message({
        content: [{ type: "text", text }],
        usage: {
          ...cached,
          ...{ server_tool_use: { web_search_requests: 2, web_fetch_requests: 1 }, service_tier: "standard" },
        },
      }),
    ),
    // 2,048 × 3 + 1,800 × 0.3 + 148 × 3.75 + 100 × 6 + 503 × 15 = 15,384; two cents and a tenth.
    ...{ micros: 15_384 + 21_000, units: 3_639 },
  },
  {
    ...{ name: "Anthropic messages, stream", format: "anthropic-messages", price: CLAUDE },
    source: "platform.claude.com/docs/en/build-with-claude/streaming",
    ...named(
      { type: "message_start", message: message({ content: [], usage: { input_tokens: 2_679, output_tokens: 3 } }) },
      { type: "ping" },
      thought,
      {
        ...{ type: "message_delta", delta: { stop_reason: "end_turn" } },
        usage: { input_tokens: 10_682, output_tokens: 510, server_tool_use: { web_search_requests: 1 } },
      },
      { type: "message_stop" },
    ),
    // 10,682 × 3 + 510 × 15, and a cent.
    ...{ micros: 39_696 + 10_000, units: 4_970 },
  },
  {
    ...{ name: "Anthropic messages that were compacted, stream", source: MESSAGES, format: "anthropic-messages" },
    price: CLAUDE,
    ...named(
      { type: "message_start", message: message({ content: [], usage: { input_tokens: 23_000, output_tokens: 1 } }) },
      thought,
      {
        ...{ type: "message_delta", delta: {} },
        usage: {
          ...{ input_tokens: 23_000, output_tokens: 1_000, cache_read_input_tokens: 0 },
          iterations: [
            { type: "compaction", input_tokens: 180_000, output_tokens: 3_500, cache_creation: null },
            {
              ...{ type: "message", input_tokens: 23_000, output_tokens: 1_000, cache_creation_input_tokens: 40 },
              cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 40 },
            },
          ],
        },
      },
    ),
    // 203,000 × 3 + 40 × 6 + 4,500 × 15.
    ...{ micros: 676_740, units: 67_674 },
  },
];

const gemini = (parts: readonly object[], usageMetadata: object) => ({
  candidates: [{ content: { parts, role: "model" }, index: 0 }],
  ...{ usageMetadata, modelVersion: "gemini-2.5-pro", responseId: "r" },
});
const GEMINI_USAGE = {
  ...{ promptTokenCount: 1_200, cachedContentTokenCount: 1_000, toolUsePromptTokenCount: 300 },
  ...{ candidatesTokenCount: 150, thoughtsTokenCount: 450, totalTokenCount: 2_100 },
  promptTokensDetails: [{ modality: "TEXT", tokenCount: 1_200 }],
};
const GEMINI_EVENTS = [
  gemini([{ text: "I think", thought: true }], {
    promptTokenCount: 1_200,
    totalTokenCount: 1_230,
    thoughtsTokenCount: 30,
  }),
  gemini([{ text }], GEMINI_USAGE),
];
const google = (
  [
    ["Gemini", json(gemini([{ text }], GEMINI_USAGE))],
    ["Gemini, stream of events", events(...GEMINI_EVENTS)],
    ["Gemini, stream in a list", json(GEMINI_EVENTS)],
  ] as const
).map(([name, answer]): Answer => {
  const source = "ai.google.dev/api/generate-content#UsageMetadata";
  // (200 + 300) × 1.25 + 1,000 × 0.125 + (150 + 450) × 10.
  return { name, source, format: "google-gemini", price: GPT, ...answer, micros: 6_750, units: 675 };
});

const cohere: readonly Answer[] = [
  {
    ...{ name: "Cohere chat", source: "docs.cohere.com/reference/chat", format: "cohere-chat", price: COMMAND },
    ...json({
      ...{ id: "c", finish_reason: "COMPLETE", message: { role: "assistant", content: [{ type: "text", text }] } },
      usage: {
        billed_units: { input_tokens: 5, output_tokens: 418 },
        tokens: { input_tokens: 71, output_tokens: 418 },
      },
    }),
    // 5 × 2.5 + 418 × 10.
    ...{ micros: 4_192.5, units: 420 },
  },
  {
    ...{ name: "Cohere chat, stream", format: "cohere-chat", price: COMMAND },
    source: "docs.cohere.com/reference/chat-stream",
    ...named(
      { type: "message-start", id: "m", delta: { message: { role: "assistant", content: [] } } } as { type: string },
      { type: "content-delta", index: 0, delta: { message: { content: { text } } } } as { type: string },
      {
        type: "message-end",
        delta: {
          finish_reason: "COMPLETE",
          usage: {
            tokens: { input_tokens: 186, output_tokens: 124 },
            billed_units: { input_tokens: 21, output_tokens: 124 },
          },
        },
      } as { type: string },
    ),
    // 21 × 2.5 + 124 × 10.
    ...{ micros: 1_292.5, units: 130 },
  },
  {
    ...{ name: "Cohere embed", source: "docs.cohere.com/reference/embed", format: "cohere-embed", price: COMMAND },
    ...json({
      ...{ id: "e", embeddings: { float: [[0.016, -0.008]] }, texts: ["hello"] },
      meta: { api_version: { version: "2" }, billed_units: { input_tokens: 3 } },
    }),
    // 3 × 2.5.
    ...{ micros: 7.5, units: 1 },
  },
];

const METRICS = "amazon-bedrock-invocationMetrics";
const CLAUDE_METRICS = {
  ...{ inputTokenCount: 13, outputTokenCount: 178, cacheReadInputTokenCount: 21_408, cacheWriteInputTokenCount: 4_384 },
  ...{ invocationLatency: 2_714, firstByteLatency: 366 },
};
const CONVERSE_USAGE = {
  ...{ inputTokens: 9, outputTokens: 40, totalTokens: 1_549, cacheReadInputTokens: 1_000, cacheWriteInputTokens: 500 },
  cacheDetails: [
    { inputTokens: 300, ttl: "1h" },
    { ttl: "5m", inputTokens: 200 },
  ],
};
const converse = { output: { message: { role: "assistant", content: [{ text }] } }, stopReason: "end_turn" };
const TOKEN_USAGE = "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html";
const LLAMA = "docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html";
const llama = (generation: string, prompt_token_count: number | null, generation_token_count: number) => ({
  ...{ generation, prompt_token_count, generation_token_count, stop_reason: null },
});
const bedrock: readonly Answer[] = [
  {
    ...{ name: "Bedrock invoke, Claude", format: "bedrock-invoke", price: CLAUDE },
    source: "docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html",
    ...json(message({ content: [{ type: "text", text }], usage: cached })),
    ...{ micros: 15_384, units: 1_539 },
  },
  {
    ...{ name: "Bedrock invoke, Claude, stream", format: "bedrock-invoke", price: CLAUDE },
    source: "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html",
    ...frames(
      chunk({ type: "message_start", message: message({ usage: { input_tokens: 13, output_tokens: 1 } }) }),
      chunk({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
      chunk({ type: "message_stop", [METRICS]: CLAUDE_METRICS }),
    ),
    // 13 × 3 + 21,408 × 0.3 + 4,384 × 3.75 + 178 × 15.
    ...{ micros: 25_571.4, units: 2_558 },
  },
  {
    ...{ name: "Bedrock invoke, Llama", source: LLAMA, format: "bedrock-invoke", price: OPEN },
    ...json(llama(text, 40, 60)),
    // 40 × 0.59 + 60 × 0.79.
    ...{ micros: 71, units: 8 },
  },
  {
    ...{ name: "Bedrock invoke, Llama, stream", source: LLAMA, format: "bedrock-invoke", price: OPEN },
    ...frames(chunk(llama("Hel", 40, 1)), chunk(llama("lo", null, 60))),
    ...{ micros: 71, units: 8 },
  },
  {
    ...{ name: "Bedrock converse", source: TOKEN_USAGE, format: "bedrock-converse", price: CLAUDE },
    ...json({ ...converse, usage: CONVERSE_USAGE, metrics: { latencyMs: 551 }, serviceTier: { type: "priority" } }),
    // 9 × 3 + 1,000 × 0.3 + 200 × 3.75 + 300 × 6 + 40 × 15 = 3,477. × 1.75.
    ...{ micros: 6_084.75, units: 609 },
  },
  {
    ...{ name: "Bedrock converse, stream", source: TOKEN_USAGE, format: "bedrock-converse", price: CLAUDE },
    ...frames(
      frame({ role: "assistant", p: "abc" }, "messageStart"),
      frame({ contentBlockIndex: 0, delta: { text }, p: "abcd" }, "contentBlockDelta"),
      frame({ contentBlockIndex: 0, p: "ab" }, "contentBlockStop"),
      frame({ stopReason: "end_turn", p: "abcdef" }, "messageStop"),
      frame({ metrics: { latencyMs: 551 }, usage: CONVERSE_USAGE, p: "a" }, "metadata"),
    ),
    ...{ micros: 3_477, units: 348 },
  },
];

const OLLAMA_END = { done: true, done_reason: "stop", total_duration: 4_883_583_458, eval_duration: 4_535_599_000 };
const ollamaCounts = { ...OLLAMA_END, prompt_eval_count: 26, eval_count: 298 };
const spoken = { model: "llama3.2", message: { role: "assistant", content: text } };
const generated = { model: "llama3.2", response: text };
const ollama = (
  [
    ["Ollama chat", "chat", json({ ...spoken, ...ollamaCounts })],
    ["Ollama chat, lines", "chat", lines({ ...spoken, done: false }, { ...spoken, ...ollamaCounts })],
    ["Ollama generate", "generate", json({ ...generated, context: [1, 2, 3], ...ollamaCounts })],
    ["Ollama generate, lines", "generate", lines({ ...generated, done: false }, { response: "", ...ollamaCounts })],
  ] as const
).map(([name, path, answer]): Answer => {
  const source = `docs.ollama.com/api/${path}`;
  // 26 × 0.59 + 298 × 0.79.
  return { name, source, format: `ollama-${path}`, price: OPEN, ...answer, micros: 250.76, units: 26 };
});

const groqUsage = {
  queue_time: 0.061348671,
  prompt_tokens: 18,
  prompt_time: 0.0002,
  completion_tokens: 439,
  total_tokens: 457,
};
const deepseekUsage = {
  ...{ prompt_tokens: 1_000, completion_tokens: 50, total_tokens: 1_050 },
  ...{ prompt_cache_hit_tokens: 768, prompt_cache_miss_tokens: 232, prompt_tokens_details: { cached_tokens: 768 } },
};
const kimiUsage = { prompt_tokens: 39, completion_tokens: 211, total_tokens: 250, cached_tokens: 7 };
const LIKE_OPENAI: readonly [
  name: string,
  source: string,
  answer: object,
  micros: number,
  units: number,
  price?: Price,
][] = [
  // 18 × 0.59 + 439 × 0.79.
  ["Groq", "console.groq.com/docs/api-reference#chat", json(chatAnswer({ usage: groqUsage })), 357.43, 36],
  [
    "Groq, stream",
    "github.com/vercel/ai/blob/main/packages/groq/src/groq-chat-language-model.test.ts",
    events(
      chatChunk([choice({ content: text })], { x_groq: { id: "req_1", queue_length: 1 } }),
      chatChunk([choice({}, { finish_reason: "stop" })], { x_groq: { id: "req_1", usage: groqUsage } }),
    ),
    ...([357.43, 36] as const),
  ],
  // 232 × 0.59 + 768 × 0.07 + 50 × 0.79.
  [
    "DeepSeek",
    "api-docs.deepseek.com/api/create-chat-completion",
    json(chatAnswer({ usage: deepseekUsage })),
    ...([230.14, 24] as const),
  ],
  [
    "DeepSeek, stream",
    "api-docs.deepseek.com/guides/kv_cache",
    events(
      chatChunk([choice({ content: null, reasoning_content: text })], { usage: null }),
      chatChunk([choice({ content: "" }, { finish_reason: "stop" })], { usage: deepseekUsage }),
    ),
    ...([230.14, 24] as const),
  ],
  // 32 × 0.59 + 7 × 0.07 + 211 × 0.79.
  [
    "Kimi, stream",
    "platform.kimi.ai/docs/guide/utilize-the-streaming-output-feature-of-kimi-api",
    events(
      chatChunk([choice({ content: text })]),
      chatChunk([choice({}, { finish_reason: "stop", usage: kimiUsage })]),
    ),
    ...([186.06, 19] as const),
  ],
  // 94 × 3 + 100 × 3.75 + 2 × 15.
  [
    "OpenRouter, stream",
    "openrouter.ai/docs/use-cases/usage-accounting",
    events(
      chatChunk([choice({ content: "Hi" })]),
      chatChunk([], {
        usage: {
          ...{ completion_tokens: 2, completion_tokens_details: { reasoning_tokens: 0 }, cost: 0.95 },
          ...{ cost_details: { upstream_inference_cost: 19 }, prompt_tokens: 194, total_tokens: 196 },
          prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100, audio_tokens: 0 },
        },
      }),
    ),
    ...([687, 69, CLAUDE] as const),
  ],
  // 100 × 3 + 50 × 0.3 + 150 × 3.75 + 20 × 15.
  [
    "LiteLLM, of Claude",
    "docs.litellm.ai/docs/completion/prompt_caching",
    json(
      chatAnswer({
        usage: {
          ...{ prompt_tokens: 300, completion_tokens: 20, total_tokens: 320, cache_creation_input_tokens: 150 },
          ...{ cache_read_input_tokens: 50, prompt_tokens_details: { cached_tokens: 50, cache_creation_tokens: 150 } },
        },
      }),
    ),
    ...([1_177.5, 118, CLAUDE] as const),
  ],
];
const others = LIKE_OPENAI.map(([name, source, answer, micros, units, price = OPEN]): Answer => {
  return { ...{ name, source, format: "openai-chat", price, micros, units }, ...(answer as ReturnType<typeof json>) };
});

export const ANSWERS = [...openai, ...anthropic, ...google, ...cohere, ...bedrock, ...ollama, ...others];
