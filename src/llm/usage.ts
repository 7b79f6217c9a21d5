/** What an answer used, as providers tell it. */

/** Tokens of one answer. */
export interface Usage {
  /** All input tokens, the cached ones too. */
  readonly inputTokens: number;
  /** Input tokens that the provider had in its cache and charges less for. */
  readonly cachedInputTokens: number;
  /** Output tokens, with those of reasoning that is not shown. */
  readonly outputTokens: number;
}

/** Numbers that a `usage` object may hold. Absent: not told. */
export interface UsageFields {
  // OpenAI chat completions and embeddings.
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  // OpenAI responses and Anthropic messages.
  input_tokens?: number;
  output_tokens?: number;
  // Anthropic: not part of `input_tokens`.
  cache_creation_input_tokens?: number;
  cache_read_input_tokens?: number;
  // OpenAI, in `prompt_tokens_details` or `input_tokens_details`: part of the input.
  cached_tokens?: number;
}

/** @returns the input tokens that were told: all of them, and the cached part. `undefined`: none were told. */
export function inputOf(told: UsageFields): Pick<Usage, "inputTokens" | "cachedInputTokens"> | undefined {
  const { prompt_tokens, input_tokens, total_tokens, cache_creation_input_tokens = 0 } = told;
  const { cache_read_input_tokens: read = 0, cached_tokens: cached = read } = told;
  if (prompt_tokens !== undefined) return { inputTokens: prompt_tokens, cachedInputTokens: cached };
  if (input_tokens !== undefined) {
    return { inputTokens: input_tokens + cache_creation_input_tokens + read, cachedInputTokens: cached };
  }
  // Embeddings of some providers tell only the sum.
  return total_tokens === undefined
    ? undefined
    : { inputTokens: Math.max(0, total_tokens - outputOf(told)), cachedInputTokens: cached };
}

export function outputOf({ completion_tokens, output_tokens }: UsageFields): number {
  return completion_tokens ?? output_tokens ?? 0;
}
