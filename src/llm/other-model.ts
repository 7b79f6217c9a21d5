/**
 * Makes a request ask for another model. In the body only the values of the top-level member `model` change: every
 * other byte stays, escapes, white space and repeated members included.
 */

import { isEncoded } from "../request-body.ts";
import { modelInPath } from "./format.ts";

/** Asks for a model in place of the request's own. */
export type AskFor = (model: string) => Request;

/** A name that no path has: whether it can be put into a path is asked before the model is known. */
const SOME_MODEL = "-some-model-";

/** Fields that tell a body apart from every other one. */
const DIGESTS = ["Content-MD5", "Content-Digest", "Digest"];

/**
 * Reads the body for it, at most `maxBytes`. The request itself can still be sent on, until the function that is
 * returned has been called.
 *
 * @returns undefined: the model cannot be changed. The body is longer, or compressed, or not an object in JSON; or the
 * path names the model in a spelling that cannot be replaced.
 */
export async function changeableModel(request: Request, maxBytes: number): Promise<AskFor | undefined> {
  const inPath = modelInPath(request.url) !== undefined;
  if (inPath && withModelInPath(request.url, SOME_MODEL) === undefined) return undefined;
  const body = isEncoded(request.headers) ? undefined : await wholeBody(request, maxBytes);
  const places = body && placesOfModel(body);
  // Where the path names the model, the body need not be one that can be read.
  if (!places && !inPath) return undefined;

  return (model) => {
    const url = inPath ? withModelInPath(request.url, model)! : request.url;
    const moved = url === request.url ? request : new Request(url, request);
    if (!body || !places || (inPath && places.values.length === 0)) return moved;
    const bytes = replaced(body, places, model);
    const changed = new Request(moved, { body: bytes });
    moved.body?.cancel().catch(() => {});
    if (request.headers.has("Content-Length")) changed.headers.set("Content-Length", String(bytes.length));
    for (const name of DIGESTS) changed.headers.delete(name);
    return changed;
  };
}

/**
 * The URL with another model, where the path names the model: `/openai/deployments/<name>/…` (Azure), and
 * `/v1beta/models/<name>:generateContent` (Gemini). Undefined: the name is spelled in a way that cannot be replaced.
 */
function withModelInPath(url: string, model: string): string | undefined {
  const changed = new URL(url);
  changed.pathname = changed.pathname.replace(
    /(\/deployments\/)[^/]+(?=\/)|\/[^/]+(?=:(?:stream)?generateContent\/?$)/i,
    (_, deployments = "/") => deployments + encodeURIComponent(model),
  );
  return modelInPath(changed.href)?.toLowerCase() === modelInPath(deploymentUrl(model))?.toLowerCase()
    ? changed.href
    : undefined;
}

/** How a path with this model is read. */
function deploymentUrl(model: string): string {
  return `https://model.invalid/deployments/${encodeURIComponent(model)}/chat/completions`;
}

/** The bytes of a body that is not longer. Undefined: it is longer, or nobody can read it. */
async function wholeBody(request: Request, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const reader = request.clone().body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.length;
      if (length > maxBytes) {
        // This promise is fulfilled only when the request itself has been read too.
        reader.cancel().catch(() => {});
        return undefined;
      }
      chunks.push(read.value);
    }
  } catch {
    return undefined;
  }
  const body = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    body.set(chunk, at);
    at += chunk.length;
  }
  return body;
}

/** Where the model is in a body. */
interface Places {
  /** Behind the brace that opens the object. */
  readonly inside: number;
  readonly isEmpty: boolean;
  /** The values of each member `model`: where they begin and end. Readers take the first, or the last. */
  readonly values: readonly (readonly [from: number, to: number])[];
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c];
const [BRACE, BRACE_END, BRACKET, BRACKET_END] = [0x7b, 0x7d, 0x5b, 0x5d];
const BOM = [0xef, 0xbb, 0xbf];

/** Undefined: the body is not one object in JSON, in UTF-8. */
function placesOfModel(body: Uint8Array): Places | undefined {
  const values: [number, number][] = [];
  let at = afterSpace(body, BOM.every((byte, i) => body[i] === byte) ? BOM.length : 0);
  if (body[at] !== BRACE) return undefined;
  const inside = ++at;
  at = afterSpace(body, at);
  const isEmpty = body[at] === BRACE_END;
  if (isEmpty) return isEnd(body, at + 1) ? { inside, isEmpty, values } : undefined;
  for (;;) {
    if (body[at] !== QUOTE) return undefined;
    const nameEnd = afterText(body, at);
    const from = afterSpace(body, afterSpace(body, nameEnd) + 1);
    if (body[afterSpace(body, nameEnd)] !== COLON) return undefined;
    const to = afterValue(body, from);
    if (to <= from || to > body.length) return undefined;
    if (isModel(body.subarray(at, nameEnd))) values.push([from, to]);
    at = afterSpace(body, to);
    if (body[at] === BRACE_END) return isEnd(body, at + 1) ? { inside, isEmpty, values } : undefined;
    if (body[at] !== COMMA) return undefined;
    at = afterSpace(body, at + 1);
  }
}

function isEnd(body: Uint8Array, at: number): boolean {
  return afterSpace(body, at) >= body.length;
}

function afterSpace(body: Uint8Array, from: number): number {
  let at = from;
  while (body[at] === 0x20 || body[at] === 0x0a || body[at] === 0x0d || body[at] === 0x09) at++;
  return at;
}

/** Behind the text that begins here. */
function afterText(body: Uint8Array, from: number): number {
  let at = from + 1;
  for (; at < body.length && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) at++;
  return at + 1;
}

/** Behind the value that begins here. Lists and objects are not checked: the provider reads them. */
function afterValue(body: Uint8Array, from: number): number {
  let depth = 0;
  let at = from;
  while (at < body.length) {
    const byte = body[at];
    if (byte === QUOTE) {
      at = afterText(body, at);
      if (depth === 0) return at;
      continue;
    }
    if (byte === BRACE || byte === BRACKET) depth++;
    else if (byte === BRACE_END || byte === BRACKET_END) {
      // Of a number or a word, this is the end of the object around it.
      if (depth === 0) return at;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === COMMA || afterSpace(body, at) > at)) return at;
    at++;
  }
  return at;
}

/** Some providers read names in any case. @param name as it is written, with its quotes. */
function isModel(name: Uint8Array): boolean {
  // The longest spelling has an escape of 6 bytes for each letter.
  if (name.length > 2 + 6 * "model".length) return false;
  try {
    return String(JSON.parse(new TextDecoder().decode(name))).toLowerCase() === "model";
  } catch {
    return false;
  }
}

function replaced(body: Uint8Array, { inside, isEmpty, values }: Places, model: string): Uint8Array<ArrayBuffer> {
  const value = JSON.stringify(model);
  const parts: (Uint8Array | string)[] = [];
  let at = 0;
  for (const [from, to] of values) {
    parts.push(body.subarray(at, from), value);
    at = to;
  }
  // A request that names no model would get one by default.
  if (values.length === 0) {
    parts.push(body.subarray(0, inside), `"model":${value}${isEmpty ? "" : ","}`);
    at = inside;
  }
  parts.push(body.subarray(at));
  const encoder = new TextEncoder();
  const bytes = parts.map((part) => (typeof part === "string" ? encoder.encode(part) : part));
  const whole = new Uint8Array(bytes.reduce((sum, { length }) => sum + length, 0));
  let to = 0;
  for (const part of bytes) {
    whole.set(part, to);
    to += part.length;
  }
  return whole;
}
