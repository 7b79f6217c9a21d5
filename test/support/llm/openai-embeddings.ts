// Embeddings as https://platform.openai.com/docs/api-reference/embeddings documents them.

import { mulberry32 } from "../mulberry32.ts";
import type { MockAnswer } from "./answer.ts";

/** As many vectors as there are inputs, of `dimensions` numbers, or else of as many as the plan has tokens. */
export function embeddingsJson(answer: MockAnswer): object {
  const { input, dimensions = answer.plan.tokens, encoding_format } = answer.request;
  // Tokens as numbers are one input, as a text is.
  const count = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
  const next = mulberry32(answer.plan.seed);
  const vectorOf = () => Array.from({ length: dimensions }, () => Math.fround(next() * 2 - 1));
  const data = Array.from({ length: count }, (_, index) => {
    const vector = vectorOf();
    // The client asks for base64 and decodes it.
    const embedding =
      encoding_format === "base64" ? Buffer.from(Float32Array.from(vector).buffer).toString("base64") : vector;
    return { object: "embedding", index, embedding };
  });
  const { inputTokens } = answer.usage;
  return {
    object: "list",
    data,
    model: answer.model,
    ...(answer.plan.omitUsage ? {} : { usage: { prompt_tokens: inputTokens, total_tokens: inputTokens } }),
  };
}
