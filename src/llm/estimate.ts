/** What a request to a language model will use, as far as the request tells it. */

import { type Format, formatOf, isOf, modelInPath } from "./format.ts";
import { readBody } from "./read-body.ts";
import { type RequestBody, readRequest } from "./read-request.ts";
import { BYTES_PER_TOKEN, tokensOfBytes } from "./tokens.ts";

/** What a request will use, by its body. */
export interface Estimate {
  /** By the path, see `formatOf`. */
  readonly format?: Format | undefined;
  /** The one in the path, which decides: of Gemini, or a deployment of Azure. Otherwise as the body names it. */
  readonly model?: string | undefined;
  /** Input tokens, by the length of the text. */
  readonly inputTokens: number;
  /** The most output tokens that the request asks for, over all of its choices. Absent: it does not say. */
  readonly outputTokens?: number | undefined;
  /** Whether the model may work on when its client has left. If the body was not read whole, it may. */
  readonly isBackground?: boolean;
}

/** How a request is read. */
export interface EstimateOptions {
  /** Input tokens that each image, file or sound counts as, 0 or more. Default 1,000. */
  readonly perImage?: number;
  /** Bytes of the body that are read at most. What follows counts by its length. Default 1 MiB. */
  readonly maxBytes?: number;
}

/** The members that name the most output tokens. */
const MAXIMA: Readonly<Partial<Record<Format, readonly string[]>>> = {
  "openai-chat": ["max_completion_tokens", "max_tokens"],
  "openai-responses": ["max_output_tokens"],
  "anthropic-messages": ["max_tokens"],
  "google-gemini": ["config.maxOutputTokens", "config.max_output_tokens"],
};
/** The members that name how many answers are made, each of at most so many tokens. */
const CHOICES: typeof MAXIMA = {
  "openai-chat": ["n"],
  "google-gemini": ["config.candidateCount", "config.candidate_count"],
};

/** How much of a body is read unless the caller says otherwise. */
export const LONG_READ_BYTES = 1_048_576;

/** A limiter counts at most this many units at once. A larger number is not a number of tokens. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Estimates what a request will use. It never rejects: a body that is not JSON, or is compressed, counts by its length.
 *
 * The input is a token for each 4 bytes of the text in messages, instructions and tools. What the provider keeps of a
 * conversation (`previous_response_id`, `conversation`) is not in the request and not in the estimate.
 *
 * @returns the estimate, and the request to send on: the given one, whose body is still there, byte for byte. A body
 * that is longer than `maxBytes` and of unknown length counts by what was read.
 */
export async function estimateRequest(
  request: Request,
  options: EstimateOptions = {},
): Promise<{ readonly request: Request; readonly estimate: Estimate }> {
  const { perImage = 1_000, maxBytes = LONG_READ_BYTES } = options;
  const estimateOf = await readEstimate(request, maxBytes);
  return { request, estimate: estimateOf(perImage) };
}

/** Reads a request once. @returns the estimate by what an image counts as. */
export async function readEstimate(request: Request, maxBytes: number): Promise<(perImage: number) => Estimate> {
  const format = formatOf(request);
  const { bytes, isCut, restBytes } = await readBody(request, maxBytes);
  const { fields, textBytes, media, unreadBytes, isWhole } = readRequest(bytes, isCut, format);
  // A body may be there and have no byte. No model answers it.
  const isEmpty = !isCut && bytes.length === 0 && restBytes === 0;
  const estimate = {
    format,
    model: modelInPath(request.url) ?? (typeof fields.model === "string" ? fields.model : undefined),
    outputTokens: format === "openai-embeddings" || isEmpty ? 0 : outputOf(fields, format),
    // Some providers take 1 and "true" as true.
    isBackground: isOf(format, "openai-responses") && (!isWhole || Boolean(fields.background)),
  };
  return (perImage) => {
    const mediaBytes = media * perImage * BYTES_PER_TOKEN;
    return { ...estimate, inputTokens: tokensOfBytes(textBytes + mediaBytes + unreadBytes + restBytes) };
  };
}

/** The largest maximum that the request names, times its choices. Some providers take 0 as no maximum. */
function outputOf(fields: RequestBody["fields"], format: Format | undefined): number | undefined {
  const largest = (all: Readonly<Partial<Record<Format, readonly string[]>>>) =>
    Math.max(
      ...Object.entries(all)
        .flatMap(([of, names]) => (isOf(format, of as Format) ? names : []))
        .map((name) => fields[name])
        .filter(isCount),
    );
  const asked = largest(MAXIMA);
  return asked > 0 ? Math.min(MAX_TOKENS, Math.ceil(asked) * Math.max(1, Math.ceil(largest(CHOICES)))) : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0;
}
