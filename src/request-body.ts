/** Reads the body of a request once, for all policies that look at it. The body itself stays whole, byte for byte. */

/** What was read of a body. */
export interface RequestBody {
  /** Bytes; 0 only if it has none. Of a body of unknown length that is not read to its end, 1 MiB or more. */
  readonly length: number;
  /** As `JSON.parse` has it. Absent: the body is longer than what is read, compressed, or not JSON. */
  readonly json?: unknown;
  /** Whether every server reads the same: the bytes are UTF-8, are called nothing else, and name no member twice. */
  readonly isClear: boolean;
}

/** How much of a body is read unless the caller says otherwise. Parsing such a message takes 15 ms at most. */
export const MAX_BYTES = 1_048_576;
/**
 * How many bodies this isolate reads at once. Further ones are read up to 16 KiB: clients that send slowly must not
 * fill the 128 MB of an isolate before any limit is asked.
 */
const MAX_LONG_READS = 32;
const SHORT_READ_BYTES = 16 * 1024;

let longReads = 0;

/** Never rejects. @param maxBytes a longer body is not read. */
export async function readBody(request: Request, maxBytes = MAX_BYTES): Promise<RequestBody> {
  const { headers } = request;
  if (request.body === null) return { length: 0, isClear: true };
  const most = longReads < MAX_LONG_READS ? maxBytes : Math.min(maxBytes, SHORT_READ_BYTES);
  const named = Number(headers.get("Content-Length") ?? Number.NaN);
  const isCompressed = isEncoded(headers);
  if (named > most || (isCompressed && named >= 0)) return { length: named, isClear: false };
  longReads++;
  try {
    const { bytes, length } = await begin(request, named, most);
    if (bytes && !isCompressed) return { length, ...parseBody(bytes, headers) };
    return { length, isClear: false };
  } finally {
    longReads--;
  }
}

/** Whether a body is compressed: its text cannot be read. */
export function isEncoded(headers: Pick<Headers, "get">): boolean {
  return !/^(identity)?$/i.test(headers.get("Content-Encoding") ?? "");
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
): Promise<{ readonly bytes?: Uint8Array; readonly length: number }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    const copy = request.clone();
    if (named <= maxBytes) {
      // One read by the runtime: reading 1 MB chunk by chunk takes 3 ms more (`npm run bench:meter`).
      const bytes = new Uint8Array(await copy.arrayBuffer());
      return { bytes, length: bytes.length };
    }
    const reader = copy.body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.length;
      if (length > maxBytes) {
        // This promise is fulfilled only when the request itself has been read too.
        reader.cancel().catch(() => {});
        // A body of unknown length is not cheaper than one that tells its length.
        return { length: Math.max(length, MAX_BYTES) };
      }
      chunks.push(read.value);
    }
  } catch {
    // There is no body, or somebody else has it, or it fails: it fails in the same way when the request is sent on.
    return { length: named || length || 1 };
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
    return { json, isClear: isUtf8 && membersIn(json) === namesIn(text) };
  } catch {
    return { isClear: false };
  }
}

/** A charset such as UTF-7 gives the bytes another text: `+AGQ-elete` is `delete`. */
function isNamedUtf8(headers: Headers): boolean {
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

/** How many names of members a text has. It is known to be JSON: a name is a string with a colon behind it. */
function namesIn(json: string): number {
  let names = 0;
  for (let at = json.indexOf('"'); at >= 0; at = json.indexOf('"', at + 1)) {
    do at = json.indexOf('"', at + 1);
    while (isEscaped(json, at));
    let next = at + 1;
    while (json.charCodeAt(next) <= 0x20) next++;
    if (json[next] === ":") names++;
  }
  return names;
}

/** Whether the backslashes in front of a quote are an odd number. */
function isEscaped(json: string, at: number): boolean {
  let first = at;
  while (json[first - 1] === "\\") first--;
  return (at - first) % 2 === 1;
}
