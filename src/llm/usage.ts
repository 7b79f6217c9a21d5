/** What an answer used, as providers state it. */

/** Tokens of one answer. */
export interface Usage {
  /** All input tokens, the cached ones too. */
  readonly inputTokens: number;
  /** Input tokens that the provider had in its cache and charges less for. */
  readonly cachedInputTokens: number;
  /** Output tokens, with those of reasoning that is not shown. */
  readonly outputTokens: number;
}

/** Numbers of a `usage` or `usageMetadata` object. Each has one name or more. */
export const FIELD_NAMES = [
  // OpenAI chat completions and embeddings, Gemini.
  "prompt_tokens promptTokenCount",
  // OpenAI responses and Anthropic messages.
  "input_tokens",
  "total_tokens totalTokenCount",
  "completion_tokens output_tokens candidatesTokenCount",
  // Anthropic: not part of `input_tokens`.
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  // OpenAI, in `prompt_tokens_details` or `input_tokens_details`, and Gemini: part of the input.
  "cached_tokens cachedContentTokenCount",
  // Gemini: what its own tools have found is not part of `promptTokenCount`, and costs what other input costs.
  "toolUsePromptTokenCount",
  // Gemini: thoughts are not part of `candidatesTokenCount`, and cost what other output costs.
  "thoughtsTokenCount",
];

/** In the order of `FIELD_NAMES`. Absent: not stated. */
export type UsageFields = (number | undefined)[];

/**
 * @param estimated the input if none was stated.
 * @param output absent: as stated.
 * @param streamed the output by its text. Gemini's first events state the input only.
 */
export function usageOf(
  stated: UsageFields,
  estimated: number,
  streamed: number,
  output = statedOutput(stated, streamed),
): Usage {
  const [prompt, input, total, answered = 0, created = 0, read = 0, cached = read, found = 0] = stated;
  return {
    // Embeddings of some providers tell only the sum.
    inputTokens:
      prompt !== undefined
        ? prompt + found
        : input !== undefined
          ? input + created + read
          : total !== undefined
            ? Math.max(0, total - answered)
            : estimated,
    cachedInputTokens: cached,
    outputTokens: output,
  };
}

/** Thoughts may be streamed as text before any answer is counted. */
function statedOutput(stated: UsageFields, streamed: number): number {
  const [answered, thoughts = 0] = [stated[3], stated[8]];
  return answered === undefined ? Math.max(streamed, thoughts) : answered + thoughts;
}
