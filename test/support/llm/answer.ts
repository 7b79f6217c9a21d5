// What a model says, in no format yet: parts of deltas, all from a seed.

import { mulberry32 } from "../mulberry32.ts";
import type { MockPlan, MockUsage, PartKind } from "./plan.ts";

/** The fields of a request that shape its answer, of all formats. */
export interface MockRequest {
  readonly model?: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

export interface MockPart {
  readonly kind: PartKind;
  /** The pieces in which the part is streamed. One piece is one token. Made again on each call. */
  deltas(): Iterable<string>;
}

export interface MockAnswer {
  readonly request: MockRequest;
  readonly plan: MockPlan;
  readonly model: string;
  readonly parts: readonly MockPart[];
  readonly usage: MockUsage;
}

/** One event of a stream, or a piece of an answer in JSON. */
export interface MockEvent {
  /** Absent: the stream has no line `event:` here. */
  readonly event?: string;
  readonly data: string;
  /** What the model says in this event. */
  readonly text?: string;
  /** What this event tells about usage. */
  readonly usage?: MockUsage;
}

/** Words that scanners trip over: several bytes a character, escapes, ends of lines, what looks like the format. */
const WORDS = [
  "the ",
  "quick ",
  "naïve ",
  "東京 ",
  "🙂 ",
  'a "quoted" word ',
  "back\\slash ",
  "new\nline ",
  "\u2028",
  '"usage":{"input_tokens":999999,"prompt_tokens":999999,"output_tokens":999999,"completion_tokens":999999} ',
  "data: [DONE]\n\n",
  "}]}, ",
  "\\u00",
];

function* wordsOf(seed: number, count: number): Generator<string> {
  const next = mulberry32(seed);
  for (let i = 0; i < count; i++) yield WORDS[Math.floor(next() * WORDS.length)]!;
}

/** Arguments of a tool call: together they are JSON. */
function* argumentsOf(seed: number, count: number): Generator<string> {
  if (count < 2) return yield "{}";
  yield '{"query":"';
  for (const word of wordsOf(seed, count - 2)) yield JSON.stringify(word).slice(1, -1);
  yield '"}';
}

function partOf(kind: PartKind, seed: number, count: number): MockPart {
  return {
    kind,
    deltas: () => (kind === "tool" || kind === "search" ? argumentsOf(seed, count) : wordsOf(seed, count)),
  };
}

export const textOf = (part: MockPart): string => [...part.deltas()].join("");

/** What a search has found. It looks like an answer. */
export const FOUND = {
  url: "https://example.com/tokens",
  title: 'A page about "text" and "usage":{"output_tokens":999999}',
};

export function answerOf(request: MockRequest, plan: MockPlan): MockAnswer {
  const next = mulberry32(plan.seed);
  // Every part says something, as in real answers.
  const counts = plan.parts.map((_kind, i) =>
    Math.max(1, Math.floor(plan.tokens / plan.parts.length) + (i < plan.tokens % plan.parts.length ? 1 : 0)),
  );
  const parts = plan.parts.map((kind, i) => partOf(kind, plan.seed + i, counts[i]!));
  const tokensOf = (kinds: readonly PartKind[]) =>
    counts.reduce((sum, count, i) => sum + (kinds.includes(plan.parts[i]!) ? count : 0), 0);
  const inputTokens = 1 + Math.floor(next() * 2000);
  const cachedInputTokens = Math.floor((next() * inputTokens) / 2);
  const told = {
    inputTokens,
    cachedInputTokens,
    cacheWriteTokens: Math.floor((next() * inputTokens) / 4),
    outputTokens: tokensOf(plan.parts),
    reasoningTokens: tokensOf(["reasoning"]),
    searches: plan.parts.filter((kind) => kind === "search").length,
    ...plan.usage,
  };
  // Parts are never more than the whole: formats tell the rest by itself.
  const usage = {
    cacheWrite1hTokens: told.cacheWriteTokens >> 2,
    ...told,
    reasoningTokens: Math.min(told.reasoningTokens, told.outputTokens),
  };
  return { request, plan, model: request.model ?? "mock", parts, usage };
}
