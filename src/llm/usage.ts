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

/** Numbers of a `usage` object. Each has one name or two. */
export const FIELD_NAMES = [
  // OpenAI chat completions and embeddings.
  "prompt_tokens",
  // OpenAI responses and Anthropic messages.
  "input_tokens",
  "total_tokens",
  "completion_tokens output_tokens",
  // Anthropic: not part of `input_tokens`.
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
  // OpenAI, in `prompt_tokens_details` or `input_tokens_details`: part of the input.
  "cached_tokens",
];

/** In the order of `FIELD_NAMES`. Absent: not stated. */
export type UsageFields = (number | undefined)[];

/** @param estimated the input if none was stated. */
export function usageOf(stated: UsageFields, estimated: number, output: number): Usage {
  const [prompt, input, total, statedOutput = 0, created = 0, read = 0, cached = read] = stated;
  return {
    // Embeddings of some providers tell only the sum.
    inputTokens:
      prompt ??
      (input !== undefined
        ? input + created + read
        : total !== undefined
          ? Math.max(0, total - statedOutput)
          : estimated),
    cachedInputTokens: cached,
    outputTokens: output,
  };
}
