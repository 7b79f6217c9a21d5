// Responses as https://platform.openai.com/docs/api-reference/responses and …/responses-streaming document them.

import { FOUND, type MockAnswer, type MockEvent, type MockPart, textOf } from "./answer.ts";
import type { MockUsage } from "./plan.ts";

const ID = "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b";

/** Usage as responses tell it. */
export const responsesUsage = (usage: MockUsage) => ({
  input_tokens: usage.inputTokens,
  input_tokens_details: { cache_write_tokens: usage.cacheWriteTokens, cached_tokens: usage.cachedInputTokens },
  output_tokens: usage.outputTokens,
  output_tokens_details: { reasoning_tokens: usage.reasoningTokens },
  total_tokens: usage.inputTokens + usage.outputTokens,
});

type Status = "in_progress" | "completed" | "incomplete";

const responseOf = (answer: MockAnswer, status: Status, output: object[], more: object = {}) => ({
  id: ID,
  object: "response",
  created_at: 1741476542,
  status,
  error: null,
  incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
  model: answer.model,
  output,
  temperature: 1,
  text: { format: { type: "text" } },
  tools: [],
  // What was asked for, until it is known which one answers.
  service_tier: status === "in_progress" ? "auto" : (answer.plan.tier ?? "default"),
  usage: null,
  metadata: {},
  ...more,
});

const itemId = (index: number) => `item_67ccf18f64008190a39b619f4c8455ef087bb177ab789d5${index}`;

/** The inner part of an item: what the item's deltas build. */
const contentOf = (part: MockPart, text: string): object =>
  part.kind === "reasoning"
    ? { type: "summary_text", text }
    : part.kind === "refusal"
      ? { type: "refusal", refusal: text }
      : { type: "output_text", text, annotations: [], logprobs: [] };

/** An output item; without a text, as it is when it begins. */
function itemOf(part: MockPart, index: number, status: Status, text?: string): object {
  const id = itemId(index);
  if (part.kind === "tool") {
    const call_id = `call_unLAR8MvFNptuiZK6K6HCy5${index}`;
    return { id, type: "function_call", status, arguments: text ?? "", call_id, name: "search" };
  }
  // The query is not streamed. It is in the item when the search is done.
  if (part.kind === "search") {
    const action = text === undefined ? {} : { action: { type: "search", query: text, sources: [FOUND] } };
    return { id, type: "web_search_call", status, ...action };
  }
  const content = text === undefined ? [] : [contentOf(part, text)];
  if (part.kind === "reasoning") return { id, type: "reasoning", summary: content };
  return { id, type: "message", status, content, role: "assistant" };
}

const lastStatus = (answer: MockAnswer): Status => (answer.plan.end === "incomplete" ? "incomplete" : "completed");

const outputOf = (answer: MockAnswer) =>
  answer.parts.map((part, index) => itemOf(part, index, lastStatus(answer), textOf(part)));

const usageOf = (answer: MockAnswer) => (answer.plan.omitUsage ? {} : { usage: responsesUsage(answer.usage) });

export const responsesJson = (answer: MockAnswer): object =>
  responseOf(answer, lastStatus(answer), outputOf(answer), usageOf(answer));

/** The events around the deltas of a part, by its kind. */
const NAMES = {
  text: {
    begins: "content_part.added",
    delta: "output_text.delta",
    done: "output_text.done",
    ends: "content_part.done",
  },
  refusal: { begins: "content_part.added", delta: "refusal.delta", done: "refusal.done", ends: "content_part.done" },
  reasoning: {
    begins: "reasoning_summary_part.added",
    delta: "reasoning_summary_text.delta",
    done: "reasoning_summary_text.done",
    ends: "reasoning_summary_part.done",
  },
  tool: { delta: "function_call_arguments.delta", done: "function_call_arguments.done" },
} as const;

/** The field of a `done` event that repeats the whole text. */
const WHOLE = { text: "text", refusal: "refusal", reasoning: "text", tool: "arguments" } as const;

export function* responsesStream(answer: MockAnswer): Generator<MockEvent> {
  let sequence_number = 0;
  const eventOf = (name: string, fields: object, more: Omit<MockEvent, "event" | "data"> = {}): MockEvent => {
    const event = `response.${name}`;
    return { event, data: JSON.stringify({ type: event, sequence_number: sequence_number++, ...fields }), ...more };
  };
  const hasSearch = answer.parts.some(({ kind }) => kind === "search");
  yield eventOf("created", { response: responseOf(answer, "in_progress", []) });
  yield eventOf("in_progress", { response: responseOf(answer, "in_progress", []) });
  for (const [output_index, part] of answer.parts.entries()) {
    if (part.kind === "search") {
      yield eventOf("output_item.added", { output_index, item: itemOf(part, output_index, "in_progress") });
      for (const name of ["in_progress", "searching", "completed"]) {
        yield eventOf(`web_search_call.${name}`, { output_index, item_id: itemId(output_index) });
      }
      yield eventOf("output_item.done", { output_index, item: itemOf(part, output_index, "completed", textOf(part)) });
      continue;
    }
    const names = NAMES[part.kind];
    const inner = part.kind === "tool" ? {} : part.kind === "reasoning" ? { summary_index: 0 } : { content_index: 0 };
    const at = { item_id: itemId(output_index), output_index, ...inner };
    const logprobs = part.kind === "text" ? { logprobs: [] } : {};
    yield eventOf("output_item.added", { output_index, item: itemOf(part, output_index, "in_progress") });
    if ("begins" in names) yield eventOf(names.begins, { ...at, part: contentOf(part, "") });
    let text = "";
    for (const delta of part.deltas()) {
      text += delta;
      yield eventOf(names.delta, { ...at, delta, ...logprobs, obfuscation: "x".repeat(8) }, { text: delta });
    }
    if (part.kind === "text" && hasSearch) {
      const annotation = { type: "url_citation", start_index: 0, end_index: 1, ...FOUND };
      yield eventOf("output_text.annotation.added", { ...at, annotation_index: 0, annotation });
    }
    yield eventOf(names.done, { ...at, [WHOLE[part.kind]]: text, ...logprobs });
    if ("ends" in names) yield eventOf(names.ends, { ...at, part: contentOf(part, text) });
    yield eventOf("output_item.done", { output_index, item: itemOf(part, output_index, lastStatus(answer), text) });
  }
  yield eventOf(
    lastStatus(answer),
    { response: responseOf(answer, lastStatus(answer), outputOf(answer), usageOf(answer)) },
    answer.plan.omitUsage ? {} : { usage: answer.usage },
  );
}
