/** What an answer used, as providers state it. */

/** Tokens of one answer, and what its tools were called. */
export interface Usage {
  /** All input tokens: those that were read from a cache or written to one, too. */
  readonly inputTokens: number;
  /** Input tokens that the provider had in its cache and charges less for. */
  readonly cachedInputTokens: number;
  /** Input tokens that the provider has written to its cache, and keeps for minutes. Absent: 0. */
  readonly cacheWriteTokens?: number;
  /** The same, kept for an hour or longer. Absent: 0. */
  readonly cacheWrite1hTokens?: number;
  /** Output tokens, with those of reasoning that is not shown. */
  readonly outputTokens: number;
  /** The service tier that has answered, or `fast` if Anthropic names that speed. Absent: the answer names none. */
  readonly tier?: string;
  /** How often the provider's own tools were called, by their names. Absent: never. */
  readonly calls?: Readonly<Record<string, number>>;
  /** What other models have used for this answer, as advisors. The numbers above are without it. Absent: nothing. */
  readonly others?: readonly { readonly model: string; readonly usage: Usage }[];
}

/** Numbers of a `usage` object, and of other objects that state usage. Each has one name or more. */
export const FIELD_NAMES = {
  // All input. OpenAI chat completions and embeddings, Gemini, Llama and others on Bedrock, Ollama.
  prompt: "prompt_tokens promptTokenCount prompt_token_count prompt_eval_count inputTextTokenCount",
  // OpenAI responses: all input. Anthropic and Bedrock: what no cache had or got.
  input: "input_tokens inputTokens inputTokenCount",
  total: "total_tokens totalTokenCount totalTokens",
  output:
    "completion_tokens output_tokens candidatesTokenCount generation_token_count eval_count outputTokens outputTokenCount",
  // Anthropic and Bedrock: not part of `input_tokens`.
  created: "cache_creation_input_tokens cacheWriteInputTokens cacheWriteInputTokenCount",
  read: "cache_read_input_tokens cacheReadInputTokens cacheReadInputTokenCount",
  // OpenAI, beside `cached_tokens`: part of the input.
  written: "cache_write_tokens",
  // OpenAI, in `cache_write_tokens_details`: part of `cache_write_tokens`.
  written12h: "ttl_12h_tokens",
  // Anthropic, in `cache_creation`: part of `cache_creation_input_tokens`.
  created5m: "ephemeral_5m_input_tokens",
  created1h: "ephemeral_1h_input_tokens",
  // OpenAI, in `prompt_tokens_details` or `input_tokens_details`, Gemini and DeepSeek: part of the input.
  cached: "cached_tokens cachedContentTokenCount prompt_cache_hit_tokens",
  // Gemini: what its own tools have found is not part of `promptTokenCount`, and costs what other input costs.
  found: "toolUsePromptTokenCount",
  // Gemini: thoughts are not part of `candidatesTokenCount`, and cost what other output costs.
  thoughts: "thoughtsTokenCount",
} as const;

type FieldName = keyof typeof FIELD_NAMES;

export const FIELDS = Object.keys(FIELD_NAMES) as readonly FieldName[];

/** What was stated, by the name of the field. Absent: not stated. */
export type Stated = Readonly<Partial<Record<FieldName, number>>>;

/** Whether the output is stated: as a number, or by a sum. */
export function statesOutput({ total, output, thoughts }: Stated): boolean {
  return (total ?? output ?? thoughts) !== undefined;
}

/** Whether it is stated that there was no input, or no output although there is text. */
export function statesZero({ prompt, input = prompt, output, created, read }: Stated, hasText: boolean): boolean {
  return (input === 0 && !prompt && !created && !read) || (output === 0 && hasText);
}

/**
 * Zero beside text is not stated: providers and proxies write it where they have not counted.
 *
 * @param estimated the input if none was stated. @param streamed the output by its text, if none was stated.
 */
export function usageOf(stated: Stated, estimated: number, streamed: number): Usage {
  const { prompt = 0, input = 0, total = 0, output = 0, created = 0, read = 0, found = 0, thoughts = 0 } = stated;
  const { created5m = 0, created1h = 0, cached = 0, written = 0, written12h = 0 } = stated;
  const added = Math.max(created, created5m + created1h);
  const long = created1h + written12h;
  // Before 2024-12, LiteLLM has stated Claude's prompts without what a cache had or got.
  const whole = prompt < added + read ? prompt + added + read : prompt;
  // Embeddings of some providers tell only the sum.
  const all = Math.max(prompt && whole + found, input + added + read) || Math.max(0, total - output - thoughts);
  // Thoughts may be streamed as text before any answer is counted.
  const answered = output ? output + thoughts : Math.max(streamed, thoughts);
  return {
    inputTokens: all || estimated,
    cachedInputTokens: Math.max(cached, read),
    cacheWriteTokens: Math.max(added, written, long) - long,
    cacheWrite1hTokens: long,
    outputTokens: Math.max(answered, total && all && total - all),
  };
}
