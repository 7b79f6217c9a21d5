/** Reads the calls of a request. The body stays whole, byte for byte, for whoever answers. */

import { callsIn, type RpcCalls, UNREAD } from "./calls.ts";

/** A longer body is not read. */
const MAX_BYTES = 1_048_576;
/**
 * How many bodies this isolate reads at once up to 1 MiB. Further ones are read up to 16 KiB: clients that send slowly
 * must not fill the 128 MB of an isolate before any limit is asked.
 */
const MAX_LONG_READS = 32;
const SHORT_READ_BYTES = 16 * 1024;

let longReads = 0;

/** A body that is read piece by piece. */
export interface BodyReading {
  /** @returns whether more is wanted. If not, the body cannot be read. */
  add(bytes: Uint8Array): boolean;
  /** After the last piece. `undefined`: the body is empty. `UNREAD`: it is no text, or no JSON. */
  end(): RpcCalls | undefined;
}

/** Calls `read` with what takes the pieces. @returns `UNREAD` for a body that cannot be read, and if `read` rejects. */
export async function readingCalls(
  headers: Pick<Headers, "get">,
  read: (reading: BodyReading) => Promise<RpcCalls | undefined>,
): Promise<RpcCalls | undefined> {
  const maxBytes = longReads < MAX_LONG_READS ? MAX_BYTES : SHORT_READ_BYTES;
  if (!isPlain(headers) || Number(headers.get("Content-Length")) > maxBytes) return UNREAD;
  longReads++;
  try {
    return await read(bodyReading(maxBytes));
  } catch {
    return UNREAD;
  } finally {
    longReads--;
  }
}

/** The calls of a request with a body. `undefined`: there are none. It never rejects. */
export async function callsOf(request: Request): Promise<RpcCalls | undefined> {
  if (request.body === null) return undefined;
  return await readingCalls(request.headers, async (reading) => {
    // The runtime keeps what the clone has read for whoever reads the request, which keeps its `Content-Length`.
    const reader = request.clone().body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return reading.end();
        if (!reading.add(value)) return UNREAD;
      }
    } finally {
      // This promise is fulfilled only when the request itself has been read too.
      reader.cancel().catch(() => {});
    }
  });
}

/** A charset such as UTF-7 gives the bytes another text: `+AGQ-elete` is `delete`. Compressed bytes are no text. */
function isPlain(headers: Pick<Headers, "get">): boolean {
  const type = headers.get("Content-Type") ?? "";
  // Of two charsets some servers take the first, some the last.
  const charsets = type.match(/charset[^;,]*/gi) ?? [];
  const isUtf8 =
    charsets.length === 0 || (charsets.length === 1 && /^charset\s*=\s*("?)utf-?8\1\s*$/i.test(charsets[0]));
  return isUtf8 && /^(identity)?$/i.test(headers.get("Content-Encoding") ?? "");
}

/** The calls of a whole body. `UNREAD`: it cannot be read. */
export function callsInBytes(bytes: Uint8Array): RpcCalls | undefined {
  const reading = bodyReading(Number.POSITIVE_INFINITY);
  return reading.add(bytes) ? reading.end() : UNREAD;
}

function bodyReading(maxBytes: number): BodyReading {
  // A server may drop the bytes that are no UTF-8, and find another name than one with U+FFFD in their place.
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  let [text, bytes] = ["", 0];
  const decode = (piece?: Uint8Array) => {
    try {
      text += decoder.decode(piece, { stream: piece !== undefined });
      return true;
    } catch {
      return false;
    }
  };
  return {
    add(piece) {
      bytes += piece.length;
      return bytes <= maxBytes && decode(piece);
    },
    end() {
      if (!decode()) return UNREAD;
      return text === "" ? undefined : callsIn(text);
    },
  };
}
