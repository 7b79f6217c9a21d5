// Embeddings as https://platform.openai.com/docs/api-reference/embeddings documents them.

import { mulberry32 } from "../mulberry32.ts";
import type { MockAnswer } from "./answer.ts";

/** A vector of as many numbers as the plan has tokens. */
export function embeddingsJson(answer: MockAnswer): object {
  const next = mulberry32(answer.plan.seed);
  const vector = Float32Array.from({ length: answer.plan.tokens }, () => next() * 2 - 1);
  // The client asks for base64 and decodes it.
  const embedding = Buffer.from(vector.buffer).toString("base64");
  const { inputTokens } = answer.usage;
  return {
    object: "list",
    data: [{ object: "embedding", index: 0, embedding }],
    model: answer.model,
    ...(answer.plan.omitUsage ? {} : { usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } }),
  };
}
