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

/** Whether the output is stated: as a number, or by a sum. */
export function statesOutput([, , total, answered, , , , , thoughts]: UsageFields): boolean {
  return (total ?? answered ?? thoughts) !== undefined;
}

/** Whether it is stated that there was no input, or no output although there is text. */
export function statesZero(
  [prompt, input = prompt, , answered, created, read]: UsageFields,
  hasText: boolean,
): boolean {
  return (input === 0 && !prompt && !created && !read) || (answered === 0 && hasText);
}

/**
 * Zero beside text is not stated: providers and proxies write it where they have not counted.
 *
 * @param estimated the input if none was stated. @param streamed the output by its text, if none was stated.
 */
export function usageOf(stated: UsageFields, estimated: number, streamed: number): Usage {
  const [
    prompt = 0,
    input = 0,
    total = 0,
    answered = 0,
    created = 0,
    read = 0,
    cached = read,
    found = 0,
    thoughts = 0,
  ] = stated;
  // Embeddings of some providers tell only the sum.
  const all = Math.max(prompt && prompt + found, input + created + read) || Math.max(0, total - answered - thoughts);
  const inputTokens = all || estimated;
  // Thoughts may be streamed as text before any answer is counted.
  const output = answered ? answered + thoughts : Math.max(streamed, thoughts);
  return { inputTokens, cachedInputTokens: cached, outputTokens: Math.max(output, total && all && total - all) };
}
