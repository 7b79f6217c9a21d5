// The formats, found by the end of the path.

import type { MockAnswer, MockEvent } from "./answer.ts";
import { messagesJson, messagesStream } from "./anthropic-messages.ts";
import { contentJson, contentStream } from "./google-gemini.ts";
import { groqJson, groqStream } from "./groq-chat.ts";
import { chatJson, chatStream } from "./openai-chat.ts";
import { embeddingsJson } from "./openai-embeddings.ts";
import { responsesJson, responsesStream } from "./openai-responses.ts";
import type { MockFormat, MockUsage } from "./plan.ts";

const ENDS: readonly (readonly [end: string, format: MockFormat])[] = [
  ["/openai/v1/chat/completions", "groq-chat"],
  ["/chat/completions", "openai-chat"],
  ["/responses", "openai-responses"],
  ["/embeddings", "openai-embeddings"],
  ["/messages", "anthropic-messages"],
  [":generateContent", "google-gemini"],
  [":streamGenerateContent", "google-gemini"],
];

export const formatOfPath = (path: string): MockFormat | undefined => ENDS.find(([end]) => path.endsWith(end))?.[1];

/** Usage without what the format has no field for. */
export function usageOf(format: MockFormat, usage: MockUsage): MockUsage {
  const inOneWay = { ...usage, cacheWrite1hTokens: 0 };
  if (format === "openai-responses") return inOneWay;
  if (format === "openai-chat") return { ...inOneWay, searches: 0 };
  if (format === "groq-chat" || format === "google-gemini") return { ...inOneWay, cacheWriteTokens: 0, searches: 0 };
  if (format === "anthropic-messages") return { ...usage, reasoningTokens: 0 };
  const none = { cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 0, reasoningTokens: 0, searches: 0 };
  return { ...inOneWay, ...none };
}

const JSON_OF: Record<MockFormat, (answer: MockAnswer) => object> = {
  "openai-chat": chatJson,
  "groq-chat": groqJson,
  "openai-responses": responsesJson,
  "openai-embeddings": embeddingsJson,
  "anthropic-messages": messagesJson,
  "google-gemini": contentJson,
};

/** An answer in JSON as two pieces: a test can hold it or break it in the middle. The second one tells usage. */
export function jsonPieces(format: MockFormat, answer: MockAnswer): MockEvent[] {
  const json = JSON.stringify(JSON_OF[format](answer));
  const half = json.length >> 1;
  return [
    { data: json.slice(0, half) },
    { data: json.slice(half), ...(answer.plan.omitUsage ? {} : { usage: answer.usage }) },
  ];
}

export function streamEvents(format: MockFormat, answer: MockAnswer): Iterable<MockEvent> {
  if (format === "openai-responses") return responsesStream(answer);
  if (format === "groq-chat") return groqStream(answer);
  if (format === "anthropic-messages") return messagesStream(answer);
  if (format === "google-gemini") return contentStream(answer);
  return chatStream(answer);
}
