// Messages as https://platform.claude.com/docs/en/api/messages and …/en/build-with-claude/streaming document them.

import { FOUND, type MockAnswer, type MockEvent, type MockPart, textOf } from "./answer.ts";
import type { MockUsage } from "./plan.ts";

const ID = "msg_01XFDUDYJgAACzvnptvVoYEL";
const SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds";

/** Usage as messages tell it: `input_tokens` is only what was neither read from a cache nor written to one. */
export const messagesUsage = (usage: MockUsage, tier = "standard") => ({
  input_tokens: usage.inputTokens - usage.cachedInputTokens - usage.cacheWriteTokens,
  cache_creation_input_tokens: usage.cacheWriteTokens,
  cache_read_input_tokens: usage.cachedInputTokens,
  cache_creation: {
    ephemeral_5m_input_tokens: usage.cacheWriteTokens - usage.cacheWrite1hTokens,
    ephemeral_1h_input_tokens: usage.cacheWrite1hTokens,
  },
  output_tokens: usage.outputTokens,
  ...(usage.searches > 0 && { server_tool_use: { web_search_requests: usage.searches, web_fetch_requests: 0 } }),
  service_tier: tier,
});

const toolId = (index: number) => `toolu_01T1x1fJ34qAmk2tNTrN7Up${index}`;
const searchId = (index: number) => `srvtoolu_014hJH82Qum7Td6UV8gDXT${index}`;

/** A content block; without a text, as it is when it begins. */
function blockOf(part: MockPart, index: number, text?: string): object {
  if (part.kind === "tool" || part.kind === "search") {
    const input = text === undefined ? {} : JSON.parse(text);
    return part.kind === "tool"
      ? { type: "tool_use", id: toolId(index), name: "search", input }
      : { type: "server_tool_use", id: searchId(index), name: "web_search", input };
  }
  if (part.kind === "reasoning") {
    return { type: "thinking", thinking: text ?? "", signature: text === undefined ? "" : SIGNATURE };
  }
  return { type: "text", text: text ?? "" };
}

/** What a search has found is a block of its own, whole in its first event. */
const resultOf = (index: number): object => ({
  type: "web_search_tool_result",
  tool_use_id: searchId(index),
  content: [{ type: "web_search_result", ...FOUND, encrypted_content: "EqgfCioIARgBIiQ3YTAwMjY1", page_age: null }],
});

/** There is no block for a refusal: its text is text, and the reason to stop says it. */
function stopReason(answer: MockAnswer): string {
  if (answer.plan.end === "incomplete") return "max_tokens";
  const has = (kind: MockPart["kind"]) => answer.parts.some((part) => part.kind === kind);
  return has("refusal") ? "refusal" : has("tool") ? "tool_use" : "end_turn";
}

const messageOf = (answer: MockAnswer, content: object[], stop_reason: string | null, usage: object) => ({
  id: ID,
  type: "message",
  role: "assistant",
  model: answer.model,
  content,
  stop_reason,
  stop_sequence: null,
  ...usage,
});

export const messagesJson = (answer: MockAnswer): object =>
  messageOf(
    answer,
    answer.parts.flatMap((part, index) => [
      blockOf(part, index, textOf(part)),
      ...(part.kind === "search" ? [resultOf(index)] : []),
    ]),
    stopReason(answer),
    answer.plan.omitUsage ? {} : { usage: messagesUsage(answer.usage, answer.plan.tier) },
  );

const DELTAS = {
  text: (text: string) => ({ type: "text_delta", text }),
  refusal: (text: string) => ({ type: "text_delta", text }),
  reasoning: (thinking: string) => ({ type: "thinking_delta", thinking }),
  tool: (partial_json: string) => ({ type: "input_json_delta", partial_json }),
  search: (partial_json: string) => ({ type: "input_json_delta", partial_json }),
} as const;

const eventOf = (event: string, fields: object = {}, more: Omit<MockEvent, "event" | "data"> = {}): MockEvent => ({
  event,
  data: JSON.stringify({ type: event, ...fields }),
  ...more,
});

export function* messagesStream(answer: MockAnswer): Generator<MockEvent> {
  const { plan } = answer;
  // The first event knows the input, and says that the first token is there.
  const first = { ...answer.usage, outputTokens: Math.min(1, answer.usage.outputTokens), searches: 0 };
  const told = plan.omitUsage ? {} : { usage: messagesUsage(first, plan.tier) };
  yield eventOf(
    "message_start",
    { message: messageOf(answer, [], null, told) },
    plan.omitUsage ? {} : { usage: first },
  );
  let index = 0;
  for (const part of answer.parts) {
    yield eventOf("content_block_start", { index, content_block: blockOf(part, index) });
    if (index === 0) yield eventOf("ping");
    for (const text of part.deltas()) {
      yield eventOf("content_block_delta", { index, delta: DELTAS[part.kind](text) }, { text });
    }
    if (part.kind === "reasoning") {
      yield eventOf("content_block_delta", { index, delta: { type: "signature_delta", signature: SIGNATURE } });
    }
    yield eventOf("content_block_stop", { index });
    if (part.kind === "search") {
      yield eventOf("content_block_start", { index: index + 1, content_block: resultOf(index) });
      index += 1;
      yield eventOf("content_block_stop", { index });
    }
    index += 1;
  }
  // Documented are both: only the output, and all counts again. They are of the whole answer.
  const { cache_creation: _, service_tier: __, ...all } = messagesUsage(answer.usage);
  const { output_tokens, server_tool_use } = all;
  const usage = plan.seed % 2 === 0 ? all : { output_tokens, server_tool_use };
  const delta = { stop_reason: stopReason(answer), stop_sequence: null };
  yield eventOf(
    "message_delta",
    { delta, ...(plan.omitUsage ? {} : { usage }) },
    plan.omitUsage ? {} : { usage: answer.usage },
  );
  yield eventOf("message_stop");
}
