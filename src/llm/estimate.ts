/** What a request to a language model will use, as far as the request tells it. */

import { closeJson } from "./close-json.ts";
import { type Format, formatOf } from "./format.ts";
import { readBody } from "./read-body.ts";
import { bytesOfText, tokensOfBytes } from "./tokens.ts";

/** What a request will use, by its body. */
export interface Estimate {
  /** By the path, see `formatOf`. */
  readonly format?: Format;
  /** As the request names it, or the deployment in the path of an Azure request. */
  readonly model?: string;
  /** Input tokens, by the length of the text. */
  readonly inputTokens: number;
  /** The most output tokens that the request asks for, over all of its choices. Absent: it does not say. */
  readonly outputTokens?: number;
  /** Whether the request asks for an event stream. */
  readonly isStream: boolean;
}

/** How a request is read. */
export interface EstimateOptions {
  /** Input tokens that each image, file or sound counts as, 0 or more. Default 1,000. */
  readonly perImage?: number;
  /** Bytes of the body that are read at most. What follows counts by its length. Default 1 MiB. */
  readonly maxBytes?: number;
}

const DEFAULT_PER_IMAGE = 1_000;
const DEFAULT_MAX_BYTES = 1_048_576;

/** The members of a body that reach the model. */
const INPUTS = "messages input instructions system prompt tools functions response_format text output_config".split(
  " ",
);

/** Parts that are not text, by their `type`: `image_url`, `input_image`, `document`, `file` … */
const MEDIA = /^(?:input_)?(?:image|image_url|audio|video|video_url|file|document)$/;
/** The source of an Anthropic document that is text: it counts as text. */
const TEXT_SOURCES: readonly unknown[] = ["text", "content"];
/** A file as a text, wherever it stands. */
const BASE64 = /^data:[^,]{0,200};base64,/;

/** A limiter counts at most this many units at once. Larger numbers are no numbers of tokens. */
const MAX_TOKENS = 1_000_000_000;

/**
 * Estimates what a request will use. It never rejects: a body that is not JSON, or is compressed, counts by its length.
 *
 * The input is a token for each 4 bytes of the text in messages, instructions and tools. What the provider keeps of a
 * conversation (`previous_response_id`, `conversation`) is not in the request and not in the estimate.
 *
 * @returns the estimate, and the request to send on: its body is the same byte for byte, and keeps its
 * `Content-Length`. The given request's body is used. A body that is longer than `maxBytes` and of unknown length
 * counts by what was read.
 */
export async function estimateRequest(
  request: Request,
  options: EstimateOptions = {},
): Promise<{ readonly request: Request; readonly estimate: Estimate }> {
  const { perImage = DEFAULT_PER_IMAGE, maxBytes = DEFAULT_MAX_BYTES } = options;
  const format = formatOf(request);
  const { request: same, text, restBytes } = await readBody(request, maxBytes);
  const { body, unreadBytes } = parse(text);
  const { images, bytes } = inputOf(body);
  const outputTokens = format === "openai-embeddings" ? 0 : outputOf(body);
  const model = typeof body.model === "string" ? body.model : deploymentOf(request.url);
  return {
    request: same,
    estimate: {
      ...(format && { format }),
      ...(model !== undefined && { model }),
      inputTokens: tokensOfBytes(bytes + unreadBytes + restBytes) + images * perImage,
      ...(outputTokens !== undefined && { outputTokens }),
      isStream: body.stream === true,
    },
  };
}

type Body = Readonly<Record<string, unknown>>;

/** @returns the body as far as it is JSON, and the bytes of the text after that. */
function parse(text: string): { body: Body; unreadBytes: number } {
  try {
    return { body: asObject(JSON.parse(text)), unreadBytes: 0 };
  } catch {
    const { json, length } = closeJson(text);
    try {
      return { body: asObject(JSON.parse(json)), unreadBytes: bytesOfText(text.slice(length)) };
    } catch {
      return { body: {}, unreadBytes: bytesOfText(text) };
    }
  }
}

function asObject(value: unknown): Body {
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new TypeError();
  return value as Body;
}

/** Bytes of text that reach the model, names of members included, and how many images, files and sounds do. */
function inputOf(body: Body): { images: number; bytes: number } {
  let [images, bytes] = [0, 0];
  // A list instead of recursion: a body may be nested deeper than the stack.
  const open: unknown[] = INPUTS.map((name) => body[name]);
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value === "string") {
      if (BASE64.test(value)) images++;
      else bytes += bytesOfText(value);
    } else if (typeof value === "number") {
      // Embeddings take text as numbers of tokens. A number is a token elsewhere, too.
      bytes += 4;
    } else if (Array.isArray(value)) {
      for (const item of value) open.push(item);
    } else if (typeof value === "object" && value !== null) {
      const { type, source } = value as { type?: unknown; source?: { type?: unknown } | null };
      if (typeof type === "string" && MEDIA.test(type) && !TEXT_SOURCES.includes(source?.type)) {
        images++;
      } else {
        for (const [name, member] of Object.entries(value)) {
          bytes += bytesOfText(name);
          open.push(member);
        }
      }
    }
  }
  return { images, bytes };
}

/** The largest maximum that the request names, times its choices. */
function outputOf({ max_completion_tokens, max_tokens, max_output_tokens, n }: Body): number | undefined {
  const asked = [max_completion_tokens, max_tokens, max_output_tokens].filter(isCount);
  if (asked.length === 0) return undefined;
  return Math.min(MAX_TOKENS, Math.ceil(Math.max(...asked)) * (isCount(n) ? Math.max(1, Math.ceil(n)) : 1));
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && value >= 0 && value < Infinity;
}

/** Azure names the model in the path: `/openai/deployments/<name>/chat/completions`. */
function deploymentOf(url: string): string | undefined {
  return /\/deployments\/([^/]+)\//.exec(new URL(url).pathname)?.[1];
}
