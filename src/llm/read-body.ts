/** Reads the begin of a body, and makes the same request again. */

/** What was read of a body. */
export interface BegunBody {
  /** The request to send on, with the same body. */
  readonly request: Request;
  /** The begin of the body. Empty if it is compressed. */
  readonly text: string;
  /** The length of what is not in the text, as far as it is known. */
  readonly restBytes: number;
}

/** workerd sends a body of known length with `Content-Length` only from its own kind of stream. */
const { FixedLengthStream: Fixed } = globalThis as {
  FixedLengthStream?: new (length: number) => TransformStream<Uint8Array, Uint8Array>;
};

/** Never rejects: where a body fails, the body of the returned request fails in the same way. */
export async function readBody(request: Request, maxBytes: number): Promise<BegunBody> {
  const { body, headers } = request;
  const told = headers.get("Content-Length");
  const length = told !== null && /^\d{1,15}$/.test(told) ? Number(told) : undefined;
  const isEncoded = !/^(?:identity)?$/i.test(headers.get("Content-Encoding") ?? "");
  if (body === null || request.bodyUsed || body.locked || (isEncoded && length !== undefined)) {
    return { request, text: "", restBytes: body === null ? 0 : (length ?? 0) };
  }
  const reader = body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const { chunks, bytes, end } = await readChunks(reader, maxBytes);
  const begin = join(chunks, bytes);
  const same = (body: BodyInit) => new Request(request, { body, duplex: "half" } as RequestInit);
  const text = isEncoded ? "" : new TextDecoder().decode(begin.subarray(0, maxBytes));
  const known = end === "reached" ? bytes : Math.max(bytes, length ?? 0);
  return {
    request: same(end === "reached" ? begin : withLength(restOf(begin, reader, end), length)),
    text,
    restBytes: isEncoded ? known : known - Math.min(bytes, maxBytes),
  };
}

/** How reading ended: at the end of the body, at the most bytes, or with an error. */
type End = "reached" | "not reached" | { readonly error: unknown };

async function readChunks(reader: ReadableStreamDefaultReader<Uint8Array>, maxBytes: number) {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let end: End = "not reached";
  try {
    // One byte more is asked for, so that the end of a body of just as many bytes is seen.
    while (bytes <= maxBytes) {
      const { done, value } = await reader.read();
      if (done) {
        end = "reached";
        break;
      }
      chunks.push(value);
      bytes += value.length;
    }
  } catch (error) {
    end = { error };
  }
  return { chunks, bytes, end };
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

/** The begin again, then the rest of the body. */
function restOf(begin: Uint8Array, reader: ReadableStreamDefaultReader<Uint8Array>, end: End): ReadableStream {
  return new ReadableStream({
    start: (controller) => controller.enqueue(begin),
    async pull(controller) {
      if (typeof end === "object") throw end.error;
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function withLength(body: ReadableStream, length: number | undefined): ReadableStream {
  if (length === undefined || !Fixed) return body;
  const { readable, writable } = new Fixed(length);
  // An error reaches whoever reads.
  body.pipeTo(writable).catch(() => {});
  return readable;
}
