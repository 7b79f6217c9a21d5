/** Reads the body of a request once, for all policies that look at it. The body itself stays whole, byte for byte. */

import { sleep } from "../sleep.ts";

/** An object in JSON, by the names of its members. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** What was read of a body. */
export interface RequestBody {
  /** Bytes; 0 only if it has none. Of a body of unknown length that is not read to its end, 1 MiB or more. */
  readonly length: number;
  /** As `JSON.parse` has it. Absent: the body is longer than what is read, compressed, or not JSON. */
  readonly json?: unknown;
  /** The body as it came. Absent: it is longer than what is read, compressed, or somebody else has read it. */
  readonly bytes?: Uint8Array;
  /** Whether every server reads the same: the bytes are UTF-8, are called nothing else, and name no member twice. */
  readonly isClear: boolean;
  /** Why it was not read although it may be short enough: the client is too slow, or other bodies are being read. */
  readonly failure?: "slow" | "busy";
}

export interface ReadBodyOptions {
  /** A longer body is not read. Default 1 MiB. */
  readonly maxBytes?: number;
  /** Who sends it: each client may have a part of the turns. Absent: nobody knows, and it may have all of them. */
  readonly client?: string | undefined;
  /** How long to wait for a turn. Default: until there is one. */
  readonly waitMs?: number;
}

/** How much of a body is read unless the caller says otherwise. Parsing such a message takes 15 ms at most. */
export const MAX_BYTES = 1_048_576;
/** How many longer bodies this isolate reads at once: an isolate has 128 MB. One client has a quarter of them. */
const TURNS = 32;
const TURNS_OF_ONE = TURNS / 4;
/** A body that says it is this short needs no turn. */
const SHORT_BYTES = 16 * 1024;
/** How often a body that waits looks for a turn. Another request of a Worker cannot wake it. */
const POLL_MS = 20;

/** How long a client may take for each `STEP_BYTES` of its body. */
const SLOW_MS = 10_000;
const STEP_BYTES = 16 * 1024;

let taken = 0;
/** By client. */
const takenBy = new Map<string, number>();

/** Never rejects. */
export async function readBody(request: Request, options: ReadBodyOptions = {}): Promise<RequestBody> {
  const { maxBytes = MAX_BYTES, client, waitMs = Number.POSITIVE_INFINITY } = options;
  const { headers } = request;
  if (request.body === null) return { length: 0, isClear: true };
  const named = Number(headers.get("Content-Length") ?? Number.NaN);
  if (named > maxBytes) return { length: named, isClear: false };
  const leave = named <= SHORT_BYTES ? () => {} : await takeTurn(client, waitMs, request.signal);
  if (!leave) return { length: named || 1, isClear: false, failure: "busy" };
  try {
    const { bytes, ...read } = await begin(request, named, maxBytes);
    if (!bytes || isEncoded(headers)) return { ...read, isClear: false };
    return { ...read, bytes, ...parseBody(bytes, headers) };
  } finally {
    leave();
  }
}

/** @returns gives the turn back. Undefined: there was none in time, or the client has left. */
async function takeTurn(
  client: string | undefined,
  waitMs: number,
  signal: AbortSignal,
): Promise<(() => void) | undefined> {
  const own = () => (client === undefined ? 0 : (takenBy.get(client) ?? 0));
  for (let waited = 0; taken >= TURNS || own() >= TURNS_OF_ONE; waited += POLL_MS) {
    if (waited >= waitMs || signal.aborted) return undefined;
    await sleep(POLL_MS);
  }
  const note = (change: number) => {
    taken += change;
    if (client === undefined) return;
    const left = own() + change;
    if (left > 0) takenBy.set(client, left);
    else takenBy.delete(client);
  };
  note(1);
  return () => note(-1);
}

/** Whether a body is compressed: its text cannot be read. */
export function isEncoded(headers: Pick<Headers, "get">): boolean {
  return !/^(identity)?$/i.test(headers.get("Content-Encoding") ?? "");
}

/** The client sends its body too slowly. */
export class SlowBody extends Error {
  constructor() {
    super(`expected ${STEP_BYTES / 1024} KiB of the body, or its end, within ${SLOW_MS / 1_000} s`);
    this.name = "SlowBody";
  }
}

/**
 * Reads a body for as long as its client sends it: only the time in which a read waits counts.
 *
 * @param into what is read goes there, each time anew, if the body allows that. Absent: each read makes a new array.
 */
export function patientReader(body: ReadableStream<Uint8Array>, into?: ArrayBuffer) {
  const { read, cancel } = readerInto(body, into);
  let [leftMs, bytes] = [SLOW_MS, 0];
  return {
    /** @throws {SlowBody} */
    async read() {
      const sinceMs = Date.now();
      const found = await within(leftMs, read());
      leftMs -= Date.now() - sinceMs;
      bytes += found.value?.length ?? 0;
      if (bytes >= STEP_BYTES) [leftMs, bytes] = [SLOW_MS, 0];
      return found;
    },
    cancel,
  };
}

/** @param into what is read goes there, each time anew, if the body allows that. Undefined: reads make new arrays. */
export function readerInto(body: ReadableStream<Uint8Array>, into: ArrayBuffer | undefined) {
  const bytesReader = into && bytesReaderOf(body);
  const reader = bytesReader ?? body.getReader();
  let buffer = into;
  return {
    async read() {
      if (!bytesReader) return await (reader as ReadableStreamDefaultReader<Uint8Array>).read();
      const read = await bytesReader.read(new Uint8Array(buffer!));
      if (read.value) buffer = read.value.buffer as ArrayBuffer;
      return read;
    },
    /** Nobody waits for it: the promise may be fulfilled only when a copy of the body has been read too. */
    cancel: (reason?: unknown) => void reader.cancel(reason).catch(() => {}),
  };
}

/** Not all bodies are streams of bytes. */
function bytesReaderOf(body: ReadableStream<Uint8Array>): ReadableStreamBYOBReader | undefined {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new SlowBody()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    if (timer !== undefined) clearTimeout(timer);
  }
}

/**
 * It reads a clone: the runtime keeps what the clone has read for the one that reads the request, and sends it on with
 * its `Content-Length`.
 *
 * @returns no bytes if the body is longer, or cannot be read.
 */
async function begin(
  request: Request,
  named: number,
  maxBytes: number,
): Promise<Pick<RequestBody, "length" | "failure"> & { readonly bytes?: Uint8Array }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const reader = patientReader(request.clone().body!);
    try {
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        length += read.value.length;
        if (length > maxBytes) {
          reader.cancel();
          // A body of unknown length is not cheaper than one that tells its length.
          return { length: Math.max(length, MAX_BYTES) };
        }
        chunks.push(read.value);
      }
    } catch (error) {
      reader.cancel(error);
      throw error;
    }
  } catch (error) {
    // There is no body, or somebody else has it, or it fails: it fails in the same way when the request is sent on.
    return { length: named || length || 1, ...(error instanceof SlowBody && { failure: "slow" }) };
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { bytes, length };
}

/** The JSON in the bytes of a body. */
export function parseBody(bytes: Uint8Array, headers: Headers): Pick<RequestBody, "json" | "isClear"> {
  const names = namesIn(bytes);
  if (names === undefined) return { isClear: false };
  let [text, isUtf8] = ["", isNamedUtf8(headers)];
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    // A server may drop these bytes, and find another name than one with U+FFFD in their place.
    text = new TextDecoder().decode(bytes);
    isUtf8 = false;
  }
  try {
    const json: unknown = JSON.parse(text);
    return { json, isClear: isUtf8 && membersIn(json) === names };
  } catch {
    return { isClear: false };
  }
}

/** A charset such as UTF-7 gives the bytes another text: `+AGQ-elete` is `delete`. */
export function isNamedUtf8(headers: Pick<Headers, "get">): boolean {
  // Of two charsets some servers take the first, some the last.
  const charsets = (headers.get("Content-Type") ?? "").match(/charset[^;,]*/gi) ?? [];
  return charsets.length === 0 || (charsets.length === 1 && /^charset\s*=\s*("?)utf-?8\1\s*$/i.test(charsets[0]));
}

/** How many members all objects in a value have. No recursion: a body may be nested deeper than the stack. */
function membersIn(json: unknown): number {
  let members = 0;
  const open = [json];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const items: unknown[] = Array.isArray(value) ? value : Object.values(value);
    if (items !== value) members += items.length;
    for (const item of items) if (typeof item === "object") open.push(item);
  }
  return members;
}

/** Objects and lists within each other. `JSON.parse` takes 200 ms for 1 MiB of brackets. */
const MAX_DEPTH = 200;
/** Objects and lists in all: so many, and one more for each 32 bytes. Names: twice as many. A message has far fewer. */
const [FEW, BYTES_OF_ONE] = [10_000, 32];

const QUOTE = 0x22;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN = 0x7b;
const CLOSE = 0x7d;

/**
 * How many names of members a text has, if it is JSON: outside of strings a colon stands behind a name only. Undefined:
 * the text is nested too deeply, or has too many members, to be parsed.
 */
function namesIn(bytes: Uint8Array): number | undefined {
  const most = FEW + bytes.length / BYTES_OF_ONE;
  let [names, opened, depth] = [0, 0, 0];
  for (let i = 0; i < bytes.length; i++) {
    const c = bytes[i];
    if (c === QUOTE) {
      i = endOfString(bytes, i + 1);
    } else if (c === COLON) {
      names++;
    } else if (c === OPEN || c === OPEN_LIST) {
      opened++;
      if (++depth > MAX_DEPTH) return undefined;
    } else if (c === CLOSE || c === CLOSE_LIST) {
      depth--;
    }
  }
  return opened > most || names > 2 * most ? undefined : names;
}

/** Strings up to this long are searched here: a call of the runtime's search takes as long as some 30 bytes. */
const SHORT_STRING = 32;

/** Where the quote stands that ends a string. The runtime's search is several times as fast over long texts. */
function endOfString(bytes: Uint8Array, from: number): number {
  let i = from;
  for (const near = Math.min(bytes.length, from + SHORT_STRING); i < near; i++) {
    const c = bytes[i];
    if (c === BACKSLASH) i++;
    else if (c === QUOTE) return i;
  }
  const rest = i;
  for (let at = bytes.indexOf(QUOTE, rest); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) {
    let begin = at;
    while (begin > rest && bytes[begin - 1] === BACKSLASH) begin--;
    if ((at - begin) % 2 === 0) return at;
  }
  return bytes.length;
}
