/** What providers answer, as they document it, and what it costs by hand. */

import { crc32 } from "node:zlib";
import type { Estimate } from "../../../../src/features/meter/llm/estimate.ts";
import type { Price } from "../../../../src/kernel/core/policy.ts";

export interface Answer {
  readonly name: string;
  readonly format: NonNullable<Estimate["format"]>;
  /** The service tier that the request asks for. */
  readonly tier: string | undefined;
  readonly price: Price;
  /** Micro-dollars: tokens times dollars per million. */
  readonly micros: number;
  /** Of 10 micro-dollars, rounded up. */
  readonly units: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

/** Of what another model does for an answer. */
export const OPUS: Price = { input: 5, output: 25 };

const call = { web_search: 0.01, web_fetch: 0.001 };
const PRICES: Readonly<Record<string, Price>> = {
  gpt: { input: 1.25, cachedInput: 0.125, output: 10, tier: { priority: 1.75, flex: 0.5 }, call },
  claude: {
    input: 3,
    cachedInput: 0.3,
    cacheWrite: 3.75,
    cacheWrite1h: 6,
    output: 15,
    tier: { priority: 1.75, fast: 2 },
    call,
  },
  llama: { input: 0.59, cachedInput: 0.07, output: 0.79 },
  command: { input: 2.5, output: 10 },
};

/** One frame of Amazon's event streams, with one header. */
export function frame(payload: string, eventType = "chunk"): Buffer {
  const name = ":event-type";
  const headers = Buffer.from(
    `${String.fromCharCode(name.length)}${name}\x07\0${String.fromCharCode(eventType.length)}${eventType}`,
  );
  const body = Buffer.from(payload);
  const head = Buffer.alloc(12);
  head.writeUInt32BE(12 + headers.length + body.length + 4);
  head.writeUInt32BE(headers.length, 4);
  head.writeUInt32BE(crc32(head.subarray(0, 8)), 8);
  const end = Buffer.alloc(4);
  end.writeUInt32BE(crc32(Buffer.concat([head, headers, body])));
  return Buffer.concat([head, headers, body, end]);
}

/** A frame of `invoke`. */
export const chunk = (json: string) => frame(`{"bytes":"${Buffer.from(json).toString("base64")}","p":"abcdefgh"}`);

export const AMAZON = "application/vnd.amazon.eventstream";
/** Forms of an answer, by what stands in each line. */
export const FORMS: Readonly<Record<string, readonly [type: string, bytesOf: (line: string) => string | Buffer]>> = {
  json: ["application/json", (line) => line],
  events: ["text/event-stream; charset=utf-8", (line) => `data: ${line}\n\n`],
  named: ["text/event-stream", (line) => `event: ${/"type":"([^"]+)/.exec(line)![1]}\ndata: ${line}\n\n`],
  lines: ["application/x-ndjson", (line) => `${line}\n`],
  chunks: [AMAZON, chunk],
  frames: [AMAZON, (line) => frame(line.slice(line.indexOf("{")), line.slice(0, line.indexOf(" ")))],
};

/**
 * Looked up on 2026-11-29; a file of a repository stands with the date of the version that was read. In each: its name,
 * format, form and price, a tier that was asked for, and fields of its header section; the source; what it costs. Its
 * lines are those of its form, and go on behind a space.
 */
const TEXT = `
== OpenAI chat | openai-chat json gpt
github.com/openai/openai-node src/resources/completions.ts (2026-08-21)
6365.625 micro-dollars, 637 units: 1.75 × (200 × 1.25 + 600 × 0.125 + 200 × 1.25 × 1.25 + 300 × 10)
{"object":"chat.completion","model":"gpt-5.6","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"}}],
 "usage":{"prompt_tokens":1000,"completion_tokens":300,"total_tokens":1300,"prompt_tokens_details":{"cached_tokens":600,
 "cache_write_tokens":200,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":250}},"service_tier":"priority"}
== OpenAI chat, stream | openai-chat events gpt
platform.openai.com/docs/api-reference/chat-streaming
119.25 micro-dollars, 12 units: 15 × 1.25 + 4 × 0.125 + 10 × 10
{"model":"gpt-5.6","service_tier":"default","choices":[{"index":0,"delta":{"content":"Hello"}}],"usage":null}
{"model":"gpt-5.6","service_tier":"default","choices":[],"usage":{"prompt_tokens":19,"completion_tokens":10,
 "total_tokens":29,"prompt_tokens_details":{"cached_tokens":4}}}
== OpenAI responses | openai-responses json gpt
github.com/openai/openai-node src/resources/responses/responses.ts (2026-08-21)
26468.75 micro-dollars, 2647 units: 0.5 × (3000 × 1.25 + 5000 × 0.125 + 1000 × 1.5625 + 700 × 10) + 2 × 10000
{"object":"response","model":"gpt-5.6","output":[{"type":"reasoning","summary":[]},
 {"type":"web_search_call","id":"ws_1","action":{"type":"search"}},{"type":"web_search_call","id":"ws_2"},
 {"type":"message","content":[{"type":"output_text","text":"Hello"}]}],"service_tier":"flex",
 "usage":{"input_tokens":9000,"input_tokens_details":{"cached_tokens":5000,"cache_write_tokens":1000},
 "output_tokens":700,"output_tokens_details":{"reasoning_tokens":512},"total_tokens":9700}}
== OpenAI responses, kept in a cache for 12 hours | openai-responses json gpt
github.com/openai/openai-node src/resources/responses/responses.ts (7.57.0)
13312.5 micro-dollars, 1332 units: 3000 × 1.25 + 5000 × 0.125 + 600 × 1.5625 + 400 × 2.5 + 700 × 10
{"object":"response","model":"gpt-5.6","output":[{"type":"message","content":[{"type":"output_text","text":"Hello"}]}],
 "usage":{"input_tokens":9000,"input_tokens_details":{"cached_tokens":5000,"cache_write_tokens":1000,
 "cache_write_tokens_details":{"ttl_12h_tokens":400,"ttl_30m_tokens":600}},"output_tokens":700,"total_tokens":9700}}
== OpenAI responses, stream | openai-responses named gpt
platform.openai.com/docs/api-reference/responses-streaming
10930 micro-dollars, 1093 units: 328 × 1.25 + 52 × 10 + 10000
{"type":"response.created","response":{"model":"gpt-5.6","service_tier":"auto","output":[],"usage":null}}
{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":"ws_1"}}
{"type":"response.web_search_call.completed","item_id":"ws_1","output_index":0}
{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws_1"}}
{"type":"response.output_text.delta","item_id":"msg_1","delta":"Hello"}
{"type":"response.completed","response":{"model":"gpt-5.6","service_tier":"default","output":[
 {"type":"web_search_call","id":"ws_1"},{"type":"message","content":[{"type":"output_text","text":"Hello"}]}],
 "usage":{"input_tokens":328,"input_tokens_details":{"cached_tokens":0},"output_tokens":52,"total_tokens":380}}}
== OpenAI completions | openai-completions json gpt
platform.openai.com/docs/api-reference/completions/object
76.25 micro-dollars, 8 units: 5 × 1.25 + 7 × 10
{"object":"text_completion","choices":[{"text":"Hello"}],"usage":{"prompt_tokens":5,"completion_tokens":7,"total_tokens":12}}
== OpenAI embeddings | openai-embeddings json gpt
platform.openai.com/docs/api-reference/embeddings/create
10 micro-dollars, 1 units: 8 × 1.25
{"object":"list","data":[{"embedding":[0.0023064255,-0.009327292],"index":0}],"usage":{"prompt_tokens":8,"total_tokens":8}}
== Anthropic messages | anthropic-messages json claude
platform.claude.com/docs/en/build-with-claude/prompt-caching
36384 micro-dollars, 3639 units: 2048 × 3 + 1800 × 0.3 + 148 × 3.75 + 100 × 6 + 503 × 15 + 2 × 10000 + 1000
{"type":"message","model":"claude-x","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":2048,
 "cache_read_input_tokens":1800,"cache_creation_input_tokens":248,"cache_creation":{"ephemeral_5m_input_tokens":148,
 "ephemeral_1h_input_tokens":100},"output_tokens":503,"service_tier":"standard",
 "server_tool_use":{"web_search_requests":2,"web_fetch_requests":1}}}
== Anthropic messages, stream | anthropic-messages named claude
platform.claude.com/docs/en/build-with-claude/streaming
49696 micro-dollars, 4970 units: 10682 × 3 + 510 × 15 + 10000
{"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":2679,"output_tokens":3}}}
{"type":"ping"}
{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hello"}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":10682,"output_tokens":510,
 "server_tool_use":{"web_search_requests":1}}}
== Anthropic messages that were compacted, stream | anthropic-messages named claude
platform.claude.com/docs/en/build-with-claude/compaction-threshold
676740 micro-dollars, 67674 units: 203000 × 3 + 40 × 6 + 4500 × 15
{"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":23000,"output_tokens":1}}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}
{"type":"message_delta","delta":{},"usage":{"input_tokens":23000,"output_tokens":1000,"iterations":[
 {"type":"compaction","input_tokens":180000,"output_tokens":3500,"cache_creation":null},
 {"type":"message","input_tokens":23000,"output_tokens":1000,"cache_creation_input_tokens":40,
 "cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":40}}]}}
== Anthropic messages in fast mode, stream | anthropic-messages named claude
platform.claude.com/docs/en/build-with-claude/fast-mode, and github.com/anthropics/anthropic-sdk-typescript (1.12.0)
2700 micro-dollars, 270 units: 2 × (100 × 3 + 1000 × 0.3 + 50 × 15)
{"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":100,
 "cache_read_input_tokens":1000,"output_tokens":1,"speed":"fast","service_tier":"standard"}}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}
{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":50}}
== Anthropic messages with an advisor | anthropic-messages json claude
platform.claude.com/docs/en/agents-and-tools/tool-use/advisor-tool
57783.6 micro-dollars, 5779 units: 1760 × 3 + 412 × 0.3 + 531 × 15 + 823 × 5 + 1612 × 25
{"type":"message","model":"claude-x","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":412,
 "cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":531,"iterations":[
 {"type":"message","input_tokens":412,"output_tokens":89},
 {"type":"advisor_message","model":"claude-opus-x","input_tokens":823,"cache_creation":null,"output_tokens":1612},
 {"type":"message","input_tokens":1348,"cache_read_input_tokens":412,"output_tokens":442}]}}
== Anthropic messages of a fallback, stream | anthropic-messages named claude
github.com/anthropics/anthropic-sdk-typescript src/resources/beta/messages/messages.ts (1.12.0)
6000 micro-dollars, 600 units: 500 × 3 + 100 × 15 + 500 × 5 + 20 × 25
{"type":"message_start","message":{"model":"claude-x-20250929","content":[],"usage":{"input_tokens":500,"output_tokens":1}}}
{"type":"message_delta","delta":{},"usage":{"input_tokens":500,"output_tokens":100,"iterations":[
 {"type":"message","model":"claude-opus-x","input_tokens":500,"output_tokens":20},
 {"output_tokens":100,"input_tokens":500,"model":"claude-x","type":"fallback_message"}]}}
== Gemini | google-gemini json gpt
ai.google.dev/api/generate-content#UsageMetadata
6750 micro-dollars, 675 units: (200 + 300) × 1.25 + 1000 × 0.125 + (150 + 450) × 10
{"candidates":[{"content":{"parts":[{"text":"Hello"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":1200,
 "cachedContentTokenCount":1000,"candidatesTokenCount":150,"toolUsePromptTokenCount":300,"thoughtsTokenCount":450,
 "totalTokenCount":2100,"promptTokensDetails":[{"modality":"TEXT","tokenCount":1200}]},"modelVersion":"gemini-2.5-pro"}
== Gemini, stream of events | google-gemini events gpt
ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
6437.5 micro-dollars, 644 units: (50 + 300) × 1.25 + 600 × 10
{"candidates":[{"content":{"parts":[{"text":"Hm","thought":true}]}}],"usageMetadata":{"promptTokenCount":50,
 "thoughtsTokenCount":30,"totalTokenCount":80}}
{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":50,
 "toolUsePromptTokenCount":300,"candidatesTokenCount":150,"thoughtsTokenCount":450,"totalTokenCount":950}}
== Gemini, stream in a list | google-gemini json gpt
ai.google.dev/api/generate-content#method:-models.streamgeneratecontent
4562.5 micro-dollars, 457 units: 50 × 1.25 + 450 × 10
[{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":50}},
 {"candidates":[{"content":{"parts":[{"text":"lo"}]}}],"usageMetadata":{"promptTokenCount":50,"totalTokenCount":500}}]
== Gemini that was too busy for a tier | google-gemini json gpt asked:priority x-gemini-service-tier:standard
ai.google.dev/gemini-api/docs/priority-inference
2250 micro-dollars, 225 units: 1000 × 1.25 + 100 × 10
{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100}}
== Gemini in a tier, stream of events | google-gemini events gpt x-gemini-service-tier:priority
ai.google.dev/gemini-api/docs/priority-inference
3937.5 micro-dollars, 394 units: 1.75 × (1000 × 1.25 + 100 × 10)
{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100}}
== Gemini on Google Cloud, in a tier | google-gemini json gpt
docs.cloud.google.com/vertex-ai/generative-ai/docs/priority-paygo
3937.5 micro-dollars, 394 units: 1.75 × (1000 × 1.25 + 100 × 10)
{"candidates":[{"content":{"parts":[{"text":"Hello"}]}}],"usageMetadata":{"promptTokenCount":1000,"candidatesTokenCount":100,
 "trafficType":"ON_DEMAND_PRIORITY"}}
== Cohere chat | cohere-chat json command
docs.cohere.com/reference/chat
4192.5 micro-dollars, 420 units: 5 × 2.5 + 418 × 10
{"id":"c","finish_reason":"COMPLETE","message":{"role":"assistant","content":[{"type":"text","text":"Hello"}]},"usage":
 {"billed_units":{"input_tokens":5,"output_tokens":418},"tokens":{"input_tokens":71,"output_tokens":418}}}
== Cohere chat, stream | cohere-chat named command
docs.cohere.com/reference/chat-stream
1292.5 micro-dollars, 130 units: 21 × 2.5 + 124 × 10
{"type":"message-start","id":"m","delta":{"message":{"role":"assistant","content":[]}}}
{"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hello"}}}}
{"type":"message-end","delta":{"finish_reason":"COMPLETE","usage":{"tokens":{"input_tokens":186,"output_tokens":130},
 "billed_units":{"input_tokens":21,"output_tokens":124}}}}
== Cohere embed | cohere-embed json command
docs.cohere.com/reference/embed
7.5 micro-dollars, 1 units: 3 × 2.5
{"id":"e","embeddings":{"float":[[0.016,-0.008]]},"texts":["hello"],"meta":{"api_version":{"version":"2"},
 "billed_units":{"input_tokens":3}}}
== Bedrock invoke, Claude | bedrock-invoke json claude
docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages-request-response.html
1635 micro-dollars, 164 units: 10 × 3 + 100 × 0.3 + 20 × 3.75 + 100 × 15
{"type":"message","model":"claude-x","content":[{"type":"text","text":"Hello"}],"usage":{"input_tokens":10,
 "cache_read_input_tokens":100,"cache_creation_input_tokens":20,"output_tokens":100}}
== Bedrock invoke, Claude, stream | bedrock-invoke chunks claude
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
25571.4 micro-dollars, 2558 units: 13 × 3 + 21408 × 0.3 + 4384 × 3.75 + 178 × 15
{"type":"message_start","message":{"model":"claude-x","content":[],"usage":{"input_tokens":13,"output_tokens":1}}}
{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}
{"type":"message_stop","amazon-bedrock-invocationMetrics":{"cacheReadInputTokenCount":21408,
 "cacheWriteInputTokenCount":4384,"inputTokenCount":13,"invocationLatency":2714,"outputTokenCount":178}}
== Bedrock invoke, Llama | bedrock-invoke json llama
docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html
71 micro-dollars, 8 units: 40 × 0.59 + 60 × 0.79
{"generation":"Hello","prompt_token_count":40,"generation_token_count":60,"stop_reason":"stop"}
== Bedrock invoke, Mistral | bedrock-invoke json llama x-amzn-bedrock-input-token-count:26 x-amzn-bedrock-output-token-count:49
docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-mistral-text-completion.html, and
 github.com/DataDog/dd-trace-js packages/datadog-plugin-aws-sdk/src/services/bedrockruntime/tracing.js
54.05 micro-dollars, 6 units: 26 × 0.59 + 49 × 0.79
{"outputs":[{"text":"Hello","stop_reason":"stop"}]}
== Bedrock invoke, with caches and a tier that only fields state | bedrock-invoke json claude\
 x-amzn-bedrock-input-token-count:10 x-amzn-bedrock-output-token-count:40 x-amzn-bedrock-service-tier:priority\
 x-amzn-bedrock-cache-read-input-token-count:100 x-amzn-bedrock-cache-write-input-token-count:20
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html, and as above
1286.25 micro-dollars, 129 units: 1.75 × (10 × 3 + 100 × 0.3 + 20 × 3.75 + 40 × 15)
{"outputs":[{"text":"Hello","stop_reason":"stop"}]}
== Bedrock invoke, embeddings of Titan | bedrock-invoke json command x-amzn-bedrock-input-token-count:8
docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html
20 micro-dollars, 2 units: 8 × 2.5
{"embedding":[0.1,-0.2],"inputTextTokenCount":8}
== Bedrock invoke, Llama, stream | bedrock-invoke chunks llama
docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html
71 micro-dollars, 8 units: 40 × 0.59 + 60 × 0.79
{"generation":"Hel","prompt_token_count":40,"generation_token_count":1,"stop_reason":null}
{"generation":"lo","prompt_token_count":null,"generation_token_count":60,"stop_reason":"stop"}
== Bedrock converse | bedrock-converse json claude
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_TokenUsage.html, and API_runtime_CacheDetail.html
6084.75 micro-dollars, 609 units: 1.75 × (9 × 3 + 1000 × 0.3 + 200 × 3.75 + 300 × 6 + 40 × 15)
{"output":{"message":{"role":"assistant","content":[{"text":"Hello"}]}},"stopReason":"end_turn","usage":{"inputTokens":9,
 "outputTokens":40,"totalTokens":1549,"cacheReadInputTokens":1000,"cacheWriteInputTokens":500,"cacheDetails":[
 {"inputTokens":300,"ttl":"1h"},{"ttl":"5m","inputTokens":200}]},"serviceTier":{"type":"priority"}}
== Bedrock converse, stream | bedrock-converse frames claude
docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
1752 micro-dollars, 176 units: 9 × 3 + 500 × 0.3 + 100 × 3.75 + 100 × 6 + 40 × 15
messageStart {"role":"assistant","p":"abc"}
contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"Hello"},"p":"abcd"}
contentBlockStop {"contentBlockIndex":0,"p":"ab"}
messageStop {"stopReason":"end_turn","p":"abcdef"}
metadata {"metrics":{"latencyMs":551},"usage":{"inputTokens":9,"outputTokens":40,"totalTokens":749,
 "cacheReadInputTokens":500,"cacheWriteInputTokens":200,"cacheDetails":[{"ttl":"1h","inputTokens":100}]}}
== Ollama chat | ollama-chat json llama
docs.ollama.com/api/chat
250.76 micro-dollars, 26 units: 26 × 0.59 + 298 × 0.79
{"model":"llama3.2","message":{"role":"assistant","content":"Hello"},"done":true,"total_duration":4883583458,
 "prompt_eval_count":26,"prompt_eval_duration":342546000,"eval_count":298,"eval_duration":4535599000}
== Ollama chat, lines | ollama-chat lines llama
docs.ollama.com/api/chat
250.76 micro-dollars, 26 units: 26 × 0.59 + 298 × 0.79
{"model":"llama3.2","message":{"role":"assistant","content":"Hello"},"done":false}
{"model":"llama3.2","message":{"role":"assistant","content":""},"done":true,"prompt_eval_count":26,"eval_count":298}
== Ollama generate, lines | ollama-generate lines llama
docs.ollama.com/api/generate
250.76 micro-dollars, 26 units: 26 × 0.59 + 298 × 0.79
{"model":"llama3.2","response":"Hello","done":false}
{"model":"llama3.2","response":"","done":true,"context":[1,2,3],"prompt_eval_count":26,"eval_count":298}
== Groq | openai-chat json llama
console.groq.com/docs/api-reference#chat-create
357.43 micro-dollars, 36 units: 18 × 0.59 + 439 × 0.79
{"choices":[{"message":{"content":"Hello"}}],"usage":{"queue_time":0.061348671,"prompt_tokens":18,"prompt_time":0.0002,
 "completion_tokens":439,"total_tokens":457},"x_groq":{"id":"req_1","seed":120908243},"service_tier":"on_demand"}
== Groq, stream | openai-chat events llama
github.com/vercel/ai packages/groq/src/__fixtures__/groq-text.chunks.txt (2026-02-11)
357.43 micro-dollars, 36 units: 18 × 0.59 + 439 × 0.79
{"choices":[{"index":0,"delta":{"content":"Hello"}}],"x_groq":{"id":"req_1","queue_length":1}}
{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"req_1","usage":{"queue_time":0.061348671,
 "prompt_tokens":18,"prompt_time":0.000211569,"completion_tokens":439,"total_tokens":457}}}
== DeepSeek, stream | openai-chat events llama
api-docs.deepseek.com/api/create-chat-completion
230.14 micro-dollars, 24 units: 232 × 0.59 + 768 × 0.07 + 50 × 0.79
{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"Hello"}}],"usage":null}
{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"prompt_tokens":1000,"completion_tokens":50,
 "total_tokens":1050,"prompt_cache_hit_tokens":768,"prompt_cache_miss_tokens":232}}
== Kimi, stream | openai-chat events llama
platform.kimi.ai/docs/guide/utilize-the-streaming-output-feature-of-kimi-api
186.06 micro-dollars, 19 units: 32 × 0.59 + 7 × 0.07 + 211 × 0.79
{"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":39,"completion_tokens":211,
 "total_tokens":250,"cached_tokens":7}}]}
== OpenRouter, stream | openai-chat events claude
openrouter.ai/docs/use-cases/usage-accounting
687 micro-dollars, 69 units: 94 × 3 + 100 × 3.75 + 2 × 15
{"choices":[{"index":0,"delta":{"content":"Hi"}}]}
{"choices":[],"usage":{"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":0},"cost":0.95,
 "cost_details":{"upstream_inference_cost":19},"prompt_tokens":194,"prompt_tokens_details":{"cached_tokens":0,
 "cache_write_tokens":100,"audio_tokens":0},"total_tokens":196}}
== LiteLLM, of Claude | openai-chat json claude
docs.litellm.ai/docs/completion/prompt_caching
1177.5 micro-dollars, 118 units: 100 × 3 + 50 × 0.3 + 150 × 3.75 + 20 × 15
{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":300,"completion_tokens":20,"total_tokens":320,
 "prompt_tokens_details":{"cached_tokens":50},"cache_creation_input_tokens":150,"cache_read_input_tokens":50}}
== LiteLLM, of Claude, before it counted caches as part of the prompt | openai-chat json claude
github.com/BerriAI/litellm litellm/llms/anthropic/chat.py (01a17b9)
711295.5 micro-dollars, 71130 units: 21 × 3 + 50 × 0.3 + 188086 × 3.75 + 393 × 15
{"choices":[{"message":{"content":"Hello"}}],"usage":{"prompt_tokens":21,"completion_tokens":393,"total_tokens":414,
 "cache_creation_input_tokens":188086,"cache_read_input_tokens":50}}
`;

export const ANSWERS: readonly Answer[] = TEXT.split("\n== ")
  .slice(1)
  .map((text) => {
    const [head, , cost, ...lines] = text.trimEnd().replaceAll("\n ", "").split("\n");
    const [name, about] = head!.split(" | ") as [string, string];
    const [format, form, price, ...more] = about.split(" ") as [Answer["format"], string, string, ...string[]];
    const { asked: tier, ...fields } = Object.fromEntries(more.map((one) => one.split(":")));
    const [, micros, units] = /^([\d.]+) micro-dollars, (\d+) units: /.exec(cost!)!.map(Number) as [
      number,
      number,
      number,
    ];
    const [type, bytesOf] = FORMS[form]!;
    const headers = new Headers({ "Content-Type": type, ...fields });
    const body = new Uint8Array(Buffer.concat(lines.map((line) => Buffer.from(bytesOf(line)))));
    return { name, format, tier, price: PRICES[price]!, micros, units, headers, body };
  });
