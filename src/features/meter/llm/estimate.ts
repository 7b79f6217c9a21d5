/** What a request to a language model will use, as far as the request tells it. */

import { type JsonObject, MAX_BYTES, type RequestBody, readBody } from "../../../kernel/request/request-body.ts";
import { type Format, formatOf, hasOutput, isOf, LONGEST_NAME, modelInPath } from "./format.ts";
import { inputOf, isObject } from "./input.ts";
import { BYTES_PER_TOKEN, tokensOfBytes } from "./tokens.ts";

/** What a request will use, by its body. */
export interface Estimate {
  /** By the path, see `formatOf`. */
  readonly format?: Format | undefined;
  /** The one in the path, which decides: of Gemini, or a deployment of Azure. Otherwise as the body names it. */
  readonly model?: string | undefined;
  /** Whether the path names the model: no client can have another one answer. */
  readonly isModelInPath?: boolean;
  /** Input tokens, by the length of the text. */
  readonly inputTokens: number;
  /** The most output tokens that the request asks for, over all of its choices. Absent: it does not say. */
  readonly outputTokens?: number | undefined;
  /** The service tier that the body asks for. Absent: none. */
  readonly tier?: string | undefined;
  /** Whether the model may work on when its client has left. If the body was not read, it may. */
  readonly isBackground?: boolean;
  /**
   * Whether nobody knows what the body asks for: it is longer than `maxBytes`, compressed, or not JSON, or servers may
   * read it in two ways. Unless the path names the model, the dearest price counts.
   */
  readonly isUnread?: boolean;
}

/** How a request is read. */
export interface EstimateOptions {
  /** Input tokens that each image, file or sound counts as, 0 or more. Default 1,000. */
  readonly perImage?: number;
  /** A longer body is not read, and counts by its length. Default 1 MiB. */
  readonly maxBytes?: number;
}

/** Members that name the most output tokens, or how many answers are made. */
type Names = Readonly<Partial<Record<Format, readonly string[]>>>;

/** Of the body: the most output tokens. */
const MAXIMA: Names = {
  "openai-chat": ["max_completion_tokens", "max_tokens"],
  "openai-completions": ["max_tokens"],
  "openai-responses": ["max_output_tokens"],
  "anthropic-messages": ["max_tokens"],
  "cohere-chat": ["max_tokens"],
  // Of the models of Anthropic, Mistral and Cohere, and of Llama.
  "bedrock-invoke": ["max_tokens", "max_tokens_to_sample", "max_gen_len"],
};
/** Of its configuration. */
const CONFIG_MAXIMA: Names = {
  "google-gemini": ["maxOutputTokens", "max_output_tokens"],
  // Of Titan and Nova.
  "bedrock-invoke": ["maxTokenCount", "maxTokens"],
  "bedrock-converse": ["maxTokens"],
  "ollama-chat": ["num_predict"],
  "ollama-generate": ["num_predict"],
};
/** How many answers are made, each of at most so many tokens. */
const CHOICES: Names = { "openai-chat": ["n"], "openai-completions": ["n", "best_of"] };
const CONFIG_CHOICES: Names = { "google-gemini": ["candidateCount", "candidate_count"] };

/** A limiter counts at most this many units at once. A larger number is not a number of tokens. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Estimates what a request will use. It never rejects: a body that cannot be read counts by its length, and so does one
 * that takes longer than 10 s for 16 KiB. While 32 bodies are being read in this instance, a further one of more than
 * 16 KiB waits.
 *
 * The input is a token for each 4 bytes of the text in messages, instructions and tools. What the provider keeps of a
 * conversation (`previous_response_id`, `conversation`) is not in the request and not in the estimate.
 *
 * @returns the estimate, and the request to send on: the given one, whose body is still there, byte for byte.
 */
export async function estimateRequest(
  request: Request,
  options: EstimateOptions = {},
): Promise<{ readonly request: Request; readonly estimate: Estimate }> {
  const { perImage = 1_000, maxBytes = MAX_BYTES } = options;
  const estimate = estimateBody(request, await readBody(request, { maxBytes }))(perImage);
  return { request, estimate };
}

/** Keeps a few numbers, and not the body. @returns the estimate by what an image counts as. */
export function estimateBody({ url }: Pick<Request, "url">, body: RequestBody): (perImage: number) => Estimate {
  const format = formatOf({ url });
  const { json, length, isClear } = body;
  const members = isObject(json) && !Array.isArray(json) ? json : {};
  const { textBytes, media, configs } = inputOf(members, format);
  const isUnread = !isClear || members !== json;
  const asked = isUnread ? {} : members;
  // A body may be there and have no byte. No model answers it.
  const isAnswered = length > 0 && (format === undefined || hasOutput(format));
  const inPath = modelInPath(url);
  const model = inPath ?? (typeof asked.model === "string" ? asked.model : undefined);
  const estimate = {
    format,
    model: model?.slice(0, LONGEST_NAME),
    isModelInPath: inPath !== undefined,
    outputTokens: isAnswered ? outputOf(asked, isUnread ? [] : configs, format) : 0,
    tier: tierOf(asked),
    // Some providers take 1 and "true" as true.
    isBackground: isOf(format, "openai-responses") && (isUnread || Boolean(asked.background)),
    isUnread,
  };
  // What servers may read in two ways counts as it was read, and by its length: the other reading may be longer.
  const bytes = textBytes + (isUnread ? length : 0);
  return (perImage) => ({ ...estimate, inputTokens: tokensOfBytes(bytes + media * perImage * BYTES_PER_TOKEN) });
}

/** Gemini's clients write it in their own way, and Anthropic's ask for `speed = "fast"` beside it. */
function tierOf({ service_tier, serviceTier = service_tier, speed }: JsonObject): string | undefined {
  const tier = speed === "fast" ? speed : serviceTier;
  return typeof tier === "string" ? tier.slice(0, LONGEST_NAME) : undefined;
}

/** The largest maximum that the request names, times its choices. Some providers take 0 as no maximum. */
function outputOf(body: JsonObject, configs: readonly JsonObject[], format: Format | undefined): number | undefined {
  const named = (names: Names, members: readonly JsonObject[]) =>
    Object.entries(names)
      .filter(([of]) => isOf(format, of as Format))
      .flatMap(([, all]) => members.flatMap((one) => all.map((name) => one[name])));
  const largest = (inBody: Names, inConfig: Names) =>
    [...named(inBody, [body]), ...named(inConfig, configs)].filter(isCount).reduce((a, b) => Math.max(a, b), 0);
  const most = largest(MAXIMA, CONFIG_MAXIMA);
  const choices = Math.max(1, Math.ceil(largest(CHOICES, CONFIG_CHOICES)));
  return most > 0 ? Math.min(MAX_TOKENS, Math.ceil(most) * choices) : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0;
}
