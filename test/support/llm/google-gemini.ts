// Answers of `generateContent` and `streamGenerateContent`, as https://ai.google.dev/api/generate-content documents
// them.

import { type MockAnswer, type MockEvent, type MockPart, type MockRequest, textOf } from "./answer.ts";
import type { MockUsage, PartKind } from "./plan.ts";

const ID = "mAitaLmkHPPlz7IPvtfUqQ4";

/** The model is in the path. */
export function contentRequest(path: string): MockRequest {
  const [, model = "mock", method] = /\/models\/([^/:]+):(\w+)$/.exec(path) ?? [];
  return { model, stream: method === "streamGenerateContent" };
}

export function contentUsage(usage: MockUsage): object {
  // What the provider's own tools have found is input, and is told apart.
  const found = (usage.inputTokens - usage.cachedInputTokens) >> 2;
  const prompt = usage.inputTokens - found;
  const more = {
    cachedContentTokenCount: usage.cachedInputTokens,
    toolUsePromptTokenCount: found,
    thoughtsTokenCount: usage.reasoningTokens,
  };
  return {
    promptTokenCount: prompt,
    candidatesTokenCount: usage.outputTokens - usage.reasoningTokens,
    totalTokenCount: usage.inputTokens + usage.outputTokens,
    // Zeros are left out, as always in JSON of protocol buffers.
    ...Object.fromEntries(Object.entries(more).filter(([, count]) => count > 0)),
    promptTokensDetails: [{ modality: "TEXT", tokenCount: prompt }],
  };
}

/** There are no parts for refusals, and what a search has found is not said by the model: both are text here. */
function partOf(kind: PartKind, text: string): object {
  if (kind === "tool") return { functionCall: { name: "search", args: JSON.parse(text) } };
  return kind === "reasoning" ? { text, thought: true } : { text };
}

const finishReason = (answer: MockAnswer) => (answer.plan.end === "incomplete" ? "MAX_TOKENS" : "STOP");

const responseOf = (answer: MockAnswer, candidates: object[], usage: MockUsage) => ({
  candidates,
  ...(answer.plan.omitUsage ? {} : { usageMetadata: contentUsage(usage) }),
  modelVersion: `${answer.model}-001`,
  responseId: ID,
});

const candidate = (parts: object[], more: object = {}) => [{ content: { parts, role: "model" }, ...more, index: 0 }];

export function contentJson(answer: MockAnswer): object {
  const parts = answer.parts.map((part) => partOf(part.kind, textOf(part)));
  return responseOf(answer, candidate(parts, { finishReason: finishReason(answer) }), answer.usage);
}

/** A tool call is not divided. */
function* piecesOf(part: MockPart): Generator<{ text: string; tokens: number }> {
  if (part.kind === "tool") yield { text: textOf(part), tokens: [...part.deltas()].length };
  else for (const text of part.deltas()) yield { text, tokens: 1 };
}

/** Every response tells what was used by then. */
export function* contentStream(answer: MockAnswer): Generator<MockEvent> {
  const tells = !answer.plan.omitUsage;
  let used = { ...answer.usage, outputTokens: 0, reasoningTokens: 0 };
  for (const part of answer.parts) {
    for (const { text, tokens } of piecesOf(part)) {
      const reasoning = part.kind === "reasoning" ? tokens : 0;
      const { outputTokens, reasoningTokens } = used;
      used = { ...used, outputTokens: outputTokens + tokens, reasoningTokens: reasoningTokens + reasoning };
      const data = JSON.stringify(responseOf(answer, candidate([partOf(part.kind, text)]), used));
      yield { data, text, ...(tells && { usage: used }) };
    }
  }
  const end = candidate([{ text: "" }], { finishReason: finishReason(answer) });
  yield { data: JSON.stringify(responseOf(answer, end, answer.usage)), ...(tells && { usage: answer.usage }) };
}
