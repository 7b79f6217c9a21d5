/** What a request to a language model will use, as far as the request tells it. */

import { normalizePath } from "../pattern/text.ts";
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

/** The members of a body that reach the model. */
const INPUTS = "messages input instructions system prompt tools functions response_format text output_config".split(
  " ",
);

/**
 * What the members of a body are, by the name of the member and what it is a member of. A list is what its items are.
 * Everything else is text, whatever its name: the schema of a tool, the arguments of a call.
 */
const ROLES = new Map([
  ["body.messages", "message"],
  ["body.input", "message"],
  ["body.prompt", "prompt"],
  ["prompt.variables", "variables"],
  ["message.content", "part"],
  ["message.output", "part"],
  // The result of a tool, and a document that is a list of parts.
  ["part.content", "part"],
  ["part.source", "source"],
  ["source.content", "part"],
]);

/** Parts that are not text: the format, the type, and the members that hold the data or a reference. */
const MEDIA: readonly (readonly [Format, type: string, members: string])[] = [
  ["openai-chat", "image_url", "image_url image_url.url"],
  ["openai-chat", "video_url", "video_url.url"],
  ["openai-chat", "input_audio", "input_audio.data"],
  ["openai-chat", "file", "file.file_data file.file_id"],
  ["openai-responses", "input_image", "image_url file_id"],
  ["openai-responses", "input_audio", "input_audio.data"],
  ["openai-responses", "input_file", "file_data file_id file_url"],
  ["openai-responses", "computer_screenshot", "image_url file_id"],
  ["anthropic-messages", "image", "source.data source.url source.file_id"],
  ["anthropic-messages", "document", "source.data source.url source.file_id"],
];
/** What an Anthropic source is. One of text is text. */
const SOURCES: readonly unknown[] = [undefined, "base64", "url", "file"];
/** Data in base64, a URL, or the name of a file. A data URL must say that it is no text. */
const DATA =
  /^(?:data:(?:(?:image|audio|video)\/|application\/(?:pdf|msword|vnd\.))[^,\s]*;base64,[\w+/=-]+|(?:https?|gs|s3):\/\/\S+|[\w+/=.-]+)$/i;

/** The members that name the most output tokens. */
const MAXIMA: Readonly<Record<Format, readonly string[]>> = {
  "openai-chat": ["max_completion_tokens", "max_tokens"],
  "openai-responses": ["max_output_tokens"],
  "openai-embeddings": [],
  "anthropic-messages": ["max_tokens"],
};

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
  const { body, unreadBytes, isWhole } = parse(text, isCut);
  // A body may be there and have no byte. No model answers it.
  const isEmpty = !isCut && text === "" && restBytes === 0;
  return {
    request,
    estimate: {
      format,
      model: deploymentOf(request.url) ?? (typeof body.model === "string" ? body.model : undefined),
      inputTokens: tokensOfBytes(inputOf(body, format, perImage) + unreadBytes + restBytes),
      outputTokens: format === "openai-embeddings" || isEmpty ? 0 : outputOf(body, format),
      // Some providers take 1 and "true" as true.
      isBackground: has(format, "openai-responses") && (!isWhole || Boolean(body.background)),
    },
  };
}

type Body = Readonly<Record<string, unknown>>;

/** @returns the body as far as it is JSON, the bytes of the text after that, and whether this is the whole body. */
function parse(text: string, isCut: boolean): { body: Body; unreadBytes: number; isWhole: boolean } {
  const { json, length } = isCut ? closeJson(text) : { json: text, length: text.length };
  try {
    const body: unknown = JSON.parse(json);
    if (isObject(body) && !Array.isArray(body)) {
      return { body, unreadBytes: bytesOfText(text.slice(length)), isWhole: !isCut };
    }
  } catch {
    // It is not JSON.
  }
  return { body: {}, unreadBytes: bytesOfText(text), isWhole: false };
}

/**
 * JSON that was cut off, made whole: cuts behind the last value that is complete, and closes what is open there.
 *
 * @returns the JSON, and how many characters of the text are in it.
 */
function closeJson(text: string): { readonly json: string; readonly length: number } {
  const open: string[] = [];
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') {
      for (i++; i < text.length && text[i] !== '"'; i++) if (text[i] === "\\") i++;
      continue;
    }
    const kind = "{[,]}".indexOf(text[i]!);
    if (kind < 0) continue;
    if (kind < 2) open.push("}]"[kind]!);
    if (kind > 2) open.pop();
    length = kind === 2 ? i : i + 1;
  }
  return { json: text.slice(0, length) + open.reverse().join(""), length };
}

function isObject(value: unknown): value is Body {
  return typeof value === "object" && value !== null;
}

/** Bytes of text that reach the model, names of members included. Media count as `perImage` tokens. */
function inputOf(body: Body, format: Format | undefined, perImage: number): number {
  let bytes = 0;
  // Lists instead of recursion: a body may be nested deeper than the stack.
  const open: Body[] = [];
  const roles: (string | undefined)[] = [];
  const add = (value: unknown, role: string | undefined) => {
    if (typeof value === "string") {
      bytes += bytesOfText(value);
    } else if (isObject(value)) {
      open.push(value);
      roles.push(role);
    } else {
      // Embeddings take text as numbers of tokens. Elsewhere a number is a token, too, and so is true, false or null.
      bytes += BYTES_PER_TOKEN;
    }
  };
  for (const name of INPUTS) add(body[name] ?? "", ROLES.get(`body.${name}`));
  while (open.length > 0) {
    const value = open.pop()!;
    const role = roles.pop();
    if (Array.isArray(value)) {
      for (const item of value) add(item, role);
      continue;
    }
    const { texts, media } = role === "part" ? splitPart(value, format) : { texts: [value], media: 0 };
    bytes += media * perImage * BYTES_PER_TOKEN;
    for (const text of texts) {
      bytes += bytesOfText(Object.keys(text).join(""));
      for (const [name, item] of Object.entries(text)) {
        add(item, role === "variables" ? "part" : ROLES.get(`${role}.${name}`));
      }
    }
  }
  return bytes;
}

/** @returns how many data or references a part holds, and what else it holds: this is text. */
function splitPart(part: Body, format: Format | undefined): { texts: Body[]; media: number } {
  const found = MEDIA.filter(([of, type]) => has(format, of) && type === part.type);
  const members = found.flatMap(([, , names]) => names.split(" "));
  const inner: Body[] = [];
  let rest = part;
  let media = 0;
  for (const member of members) {
    const [name, innerName] = member.split(".") as [string, string?];
    const { [name]: held, type: _, ...others } = rest;
    if (innerName === undefined ? !isData(held) : !isSource(held) || !isData(held[innerName])) continue;
    if (isObject(held)) {
      const { [innerName!]: __, type: ___, ...more } = held;
      inner.push(more);
    }
    rest = others;
    media++;
  }
  return { texts: [rest, ...inner], media };
}

function isSource(value: unknown): value is Body {
  return isObject(value) && SOURCES.includes(value.type);
}

function isData(value: unknown): boolean {
  return typeof value === "string" && DATA.test(value);
}

/** Whether a member of one format is read: in that format, and on paths that name none. */
function has(format: Format | undefined, of: Format): boolean {
  return format === undefined || format === of;
}

/** The largest maximum that the request names, times its choices. Some providers take 0 as no maximum. */
function outputOf(body: Body, format: Format | undefined): number | undefined {
  const names = format ? MAXIMA[format] : Object.values(MAXIMA).flat();
  const asked = Math.max(...names.map((name) => body[name]).filter(isCount));
  const choices = has(format, "openai-chat") && isCount(body.n) ? Math.ceil(body.n) : 1;
  return asked > 0 ? Math.min(MAX_TOKENS, Math.ceil(asked) * Math.max(1, choices)) : undefined;
}

function isCount(value: unknown): value is number {
  return Number.isFinite(value) && (value as number) >= 0;
}

/** Azure names the model in the path: `/openai/deployments/<name>/chat/completions`. */
export function deploymentOf(url: string): string | undefined {
  return /\/deployments\/([^/]+)\//i.exec(normalizePath(new URL(url).pathname))?.[1];
}
