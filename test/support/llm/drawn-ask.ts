// A request of a real client, and the answer to it: all that may differ, by chance.

import { type Ask, WAYS } from "./clients.ts";
import { MODELS } from "./dollars.ts";
import type { PartKind } from "./plan.ts";

const PARTS: readonly PartKind[][] = [
  ["text"],
  ["reasoning", "text"],
  ["text", "tool"],
  ["refusal"],
  ["search", "text"],
  ["search", "search", "text", "tool"],
];
/** More than any answer here has text. */
const LITTLE = 300;
/** Of them, some are above the steps of the prices. */
const INPUTS = [2_000, 2_000, 2_000, 400_000];

/** @param next 0 … 1. */
export function drawnAsk(next: () => number): Ask {
  const upTo = (most: number) => Math.floor(next() * (most + 1));
  const one = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!;
  const [format, stream] = one(WAYS);
  const inputTokens = 1 + upTo(one(INPUTS));
  const cachedInputTokens = Math.floor((next() * inputTokens) / 2);
  const tier = one([undefined, undefined, "priority", "flex"] as const);
  // Embeddings have no tier. Gemini's answers name none: what a tier costs less is not known there.
  const hasNone = format === "openai-embeddings" || (format === "google-gemini" && tier === "flex");
  const asked = hasNone ? undefined : tier;
  return {
    format,
    stream,
    model: one(MODELS),
    // Without a word, what a model with free output is asked for would reserve nothing.
    prompt: "é🙂 word ".repeat(Math.max(1, upTo(one([3, 300])))),
    ...(next() < 0.5 && { maxTokens: 1 + upTo(8_000) }),
    ...(asked && { tier: asked }),
    plan: {
      seed: upTo(2 ** 31),
      tokens: 1 + upTo(one([4, 4, 40])),
      parts: one(PARTS),
      chunk: one(["event", 300, 1_000] as const),
      newline: one(["\n", "\r\n"] as const),
      end: one(["complete", "incomplete"] as const),
      // Others have no capacity left, at times, and answer as usual.
      ...(asked && (format === "google-gemini" || next() < 0.8) && { tier: asked }),
      usage: {
        inputTokens,
        cachedInputTokens,
        cacheWriteTokens: Math.floor((next() * inputTokens) / 2),
        outputTokens: LITTLE + upTo(12_000),
      },
    },
  };
}
