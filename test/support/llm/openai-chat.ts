// Chat completions as https://platform.openai.com/docs/api-reference/chat documents them. `reasoning_content` is what
// https://api-docs.deepseek.com/guides/reasoning_model documents.

import { type MockAnswer, type MockEvent, type MockPart, textOf } from "./answer.ts";
import type { MockUsage } from "./plan.ts";

const ID = "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT";
const CREATED = 1741569952;

/** Usage as chat completions tell it. */
export const chatUsage = (usage: MockUsage) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.inputTokens + usage.outputTokens,
  prompt_tokens_details: {
    cached_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    audio_tokens: 0,
  },
  completion_tokens_details: {
    reasoning_tokens: usage.reasoningTokens,
    audio_tokens: 0,
    accepted_prediction_tokens: 0,
    rejected_prediction_tokens: 0,
  },
});

const finishReason = ({ plan, parts }: MockAnswer) =>
  plan.end === "incomplete" ? "length" : parts.some(({ kind }) => kind === "tool") ? "tool_calls" : "stop";

function joined(parts: readonly MockPart[], ...kinds: MockPart["kind"][]): string | null {
  const found = parts.filter(({ kind }) => kinds.includes(kind));
  return found.length === 0 ? null : found.map(textOf).join("");
}

const callId = (index: number) => `call_DdmO9pD3xa9XTPNJ32zg2hc${index}`;

function messageOf(parts: readonly MockPart[]) {
  const reasoning = joined(parts, "reasoning");
  const tools = parts.filter(({ kind }) => kind === "tool");
  return {
    role: "assistant",
    content: joined(parts, "text", "search"),
    refusal: joined(parts, "refusal"),
    annotations: [],
    ...(reasoning === null ? {} : { reasoning_content: reasoning }),
    ...(tools.length === 0
      ? {}
      : {
          tool_calls: tools.map((part, index) => ({
            id: callId(index),
            type: "function",
            function: { name: "search", arguments: textOf(part) },
          })),
        }),
  };
}

export function chatJson(answer: MockAnswer): object {
  return {
    id: ID,
    object: "chat.completion",
    created: CREATED,
    model: answer.model,
    choices: [{ index: 0, message: messageOf(answer.parts), logprobs: null, finish_reason: finishReason(answer) }],
    ...(answer.plan.omitUsage ? {} : { usage: chatUsage(answer.usage) }),
    service_tier: answer.plan.tier ?? "default",
    system_fingerprint: "fp_44709d6fcb",
  };
}

/** There is no search in this format: what the model says about it is text. */
const FIELDS = { text: "content", search: "content", refusal: "refusal", reasoning: "reasoning_content" } as const;

/** The deltas, each with the text it carries. */
function* deltasOf(parts: readonly MockPart[]): Generator<{ delta: object; text: string }> {
  let tool = -1;
  for (const part of parts) {
    if (part.kind === "tool") {
      tool += 1;
      const call = { index: tool, id: callId(tool), type: "function", function: { name: "search", arguments: "" } };
      yield { delta: { tool_calls: [call] }, text: "" };
    }
    for (const text of part.deltas()) {
      const delta =
        part.kind === "tool"
          ? { tool_calls: [{ index: tool, function: { arguments: text } }] }
          : { [FIELDS[part.kind]]: text };
      yield { delta, text };
    }
  }
}

/** With `include_usage` every chunk has `usage: null`, and one more chunk without choices tells it. */
export function* chatStream(answer: MockAnswer): Generator<MockEvent> {
  const tellsUsage = answer.request.stream_options?.include_usage === true && !answer.plan.omitUsage;
  const chunkOf = (choices: object[], more: object = {}) =>
    JSON.stringify({
      id: ID,
      object: "chat.completion.chunk",
      created: CREATED,
      model: answer.model,
      service_tier: answer.plan.tier ?? "default",
      system_fingerprint: "fp_44709d6fcb",
      choices,
      ...(tellsUsage ? { usage: null } : {}),
      ...more,
    });
  const choice = (delta: object, finish: string | null = null) => [
    { index: 0, delta, logprobs: null, finish_reason: finish },
  ];
  yield { data: chunkOf(choice({ role: "assistant", content: "", refusal: null })) };
  for (const { delta, text } of deltasOf(answer.parts)) {
    // Padding of random length, documented as `include_obfuscation`.
    yield { data: chunkOf(choice(delta), { obfuscation: "x".repeat(8) }), text };
  }
  yield { data: chunkOf(choice({}, finishReason(answer))) };
  if (tellsUsage) yield { data: chunkOf([], { usage: chatUsage(answer.usage) }), usage: answer.usage };
  yield { data: "[DONE]" };
}
