/** Reads the beginning of a body. The body itself stays whole. */

/** Whether a body is compressed: its text cannot be read. */
export function isEncoded(headers: Headers): boolean {
  return !/^(identity)?$/i.test(headers.get("Content-Encoding") ?? "");
}

/** What was read of a body. */
interface BegunBody {
  /** The beginning of the body. Empty if it is compressed. */
  readonly text: string;
  /** Whether the text is not the whole body. */
  readonly isCut: boolean;
  /** The length of what is not in the text, as far as it is known. */
  readonly restBytes: number;
}

/** A body that is not read to its end, and does not tell its length, counts as at least this long. */
const UNKNOWN_BYTES = 1_048_576;

/**
 * Never rejects. It reads a clone: the runtime keeps what the clone has read for the one that reads the request, and
 * sends it on with its `Content-Length`.
 */
export async function readBody(request: Request, maxBytes: number): Promise<BegunBody> {
  const { headers } = request;
  const isUnreadable = isEncoded(headers);
  const decoder = new TextDecoder();
  let [text, bytes, isCut, leastBytes] = ["", 0, true, 0];
  try {
    const reader = request.clone().body!.getReader() as ReadableStreamDefaultReader<Uint8Array>;
    // One byte more is asked for, so that the end of a body of just as many bytes is seen.
    while (isCut && bytes <= maxBytes) {
      const { done, value } = await reader.read();
      if (done) {
        isCut = false;
      } else {
        if (!isUnreadable) text += decoder.decode(value.subarray(0, Math.max(0, maxBytes - bytes)), { stream: true });
        bytes += value.length;
      }
    }
    // A body of unknown length is not cheaper than one that tells its length.
    leastBytes = UNKNOWN_BYTES;
    // This promise is fulfilled only when the request itself has been read too.
    reader.cancel().catch(() => {});
  } catch {
    // There is no body, or somebody else has it, or it fails: it fails in the same way when the request is sent on.
  }
  const all = isCut ? Math.max(bytes, Number(headers.get("Content-Length")) || leastBytes) : bytes;
  return { text, isCut, restBytes: isUnreadable ? all : all - Math.min(bytes, maxBytes) };
}
