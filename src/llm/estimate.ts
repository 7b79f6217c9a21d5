/** What a request to a language model will use, as far as the request tells it. */

import { closeJson } from "./close-json.ts";
import { type Format, formatOf } from "./format.ts";
import { readBody } from "./read-body.ts";
import { BYTES_PER_TOKEN, bytesOfText, tokensOfBytes } from "./tokens.ts";

/** What a request will use, by its body. */
export interface Estimate {
  /** By the path, see `formatOf`. */
  readonly format?: Format | undefined;
  /** The deployment in the path of an Azure request, which decides. Otherwise as the body names it. */
  readonly model?: string | undefined;
  /** Input tokens, by the length of the text. */
  readonly inputTokens: number;
  /** The most output tokens that the request asks for, over all of its choices. Absent: it does not say. */
  readonly outputTokens?: number | undefined;
  /** Whether the model works on when the client has left: its output can be fetched later. */
  readonly isBackground?: boolean;
}

/** How a request is read. */
export interface EstimateOptions {
  /** Input tokens that each image, file or sound counts as, 0 or more. Default 1,000. */
  readonly perImage?: number;
  /** Bytes of the body that are read at most. What follows counts by its length. Default 1 MiB. */
  readonly maxBytes?: number;
}

/** The members of a body that reach the model. */
const INPUTS = "messages input instructions system prompt tools functions response_format text output_config".split(
  " ",
);

/** Parts that are not text, by their `type`: `image_url`, `input_image`, `document`, `file` … */
const MEDIA = /^(input_)?((image|video)(_url)?|audio|file|document)$/;
/** The source of an Anthropic document that is text: it counts as text. */
const TEXT_SOURCES: readonly unknown[] = ["text", "content"];
/** A file as a text, wherever it stands. */
const BASE64 = /^data:[^,\s]*;base64,[\w+/=-]*$/;

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
  const { perImage = 1_000, maxBytes = 1_048_576 } = options;
  const format = formatOf(request);
  const { text, isCut, restBytes } = await readBody(request, maxBytes);
  const { body, unreadBytes } = parse(text, isCut);
  return {
    request,
    estimate: {
      format,
      model: deploymentOf(request.url) ?? (typeof body.model === "string" ? body.model : undefined),
      inputTokens: tokensOfBytes(inputOf(body, perImage) + unreadBytes + restBytes),
      outputTokens: format === "openai-embeddings" ? 0 : outputOf(body),
      isBackground: body.background === true,
    },
  };
}

type Body = Readonly<Record<string, unknown>>;

/** @returns the body as far as it is JSON, and the bytes of the text after that. */
function parse(text: string, isCut: boolean): { body: Body; unreadBytes: number } {
  const { json, length } = isCut ? closeJson(text) : { json: text, length: text.length };
  try {
    const body: unknown = JSON.parse(json);
    if (isObject(body) && !Array.isArray(body)) return { body, unreadBytes: bytesOfText(text.slice(length)) };
  } catch {
    // It is not JSON.
  }
  return { body: {}, unreadBytes: bytesOfText(text) };
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null;
}

/**
 * Bytes of text that reach the model, names of members included. An image, file or sound counts as `perImage` tokens.
 */
function inputOf(body: Body, perImage: number): number {
  const bytesOfImage = perImage * BYTES_PER_TOKEN;
  let bytes = 0;
  // A list instead of recursion: a body may be nested deeper than the stack.
  const open: unknown[] = INPUTS.map((name) => body[name]);
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") {
      bytes += BASE64.test(value) ? bytesOfImage : bytesOfText(value);
    } else if (typeof value === "number") {
      // Embeddings take text as numbers of tokens. A number is a token elsewhere, too.
      bytes += BYTES_PER_TOKEN;
    } else if (isObject(value)) {
      const { type, source } = value as { type?: unknown; source?: { type?: unknown } | null };
      if (typeof type === "string" && MEDIA.test(type) && !TEXT_SOURCES.includes(source?.type)) {
        bytes += bytesOfImage;
      } else {
        if (!Array.isArray(value)) bytes += bytesOfText(Object.keys(value).join(""));
        for (const item of Object.values(value)) open.push(item);
      }
    }
  }
  return bytes;
}

/** The largest maximum that the request names, times its choices. */
function outputOf({ max_completion_tokens, max_tokens, max_output_tokens, n }: Body): number | undefined {
  const asked = Math.max(...[max_completion_tokens, max_tokens, max_output_tokens].filter(isCount));
  return asked < 0 ? undefined : Math.min(MAX_TOKENS, Math.ceil(asked) * Math.max(1, isCount(n) ? Math.ceil(n) : 1));
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0;
}

/** Azure names the model in the path: `/openai/deployments/<name>/chat/completions`. */
function deploymentOf(url: string): string | undefined {
  return /\/deployments\/+([^/]+)\//i.exec(new URL(url).pathname)?.[1];
}
