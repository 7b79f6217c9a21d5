/** Sends an answer on while a scanner reads it: in the gateway and in the middlewares, for meter.ts. */

import { readerInto } from "../../kernel/request/request-body.ts";
import { ARE_COPIED } from "../slots/keep-slots.ts";
import type { Cut } from "./llm/cut.ts";
import type { AnswerScanner } from "./llm/scanner.ts";

/** How much is read at once. Runtimes that make a new array for each read get 4 KiB. */
const CHUNK_BYTES = 16 * 1024;

/**
 * Like `body.pipeTo(writable)`, in one read and one write a chunk. A stream of its own for the scanner would cost as
 * much again.
 *
 * @param signal ends it before its end.
 */
export async function pipeScanned(
  body: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
  scanner: AnswerScanner | undefined,
  cut: Cut | undefined,
  signal: AbortSignal,
): Promise<void> {
  const reader = readerInto(body, ARE_COPIED ? new ArrayBuffer(CHUNK_BYTES) : undefined);
  const writer = writable.getWriter();
  let isOver = false;
  const stop = (reason: unknown) => {
    isOver = true;
    reader.cancel(reason);
    writer.abort(reason).catch(() => {});
  };
  // While the source is silent, only this tells that the client has left.
  writer.closed.catch(stop);
  if (signal.aborted) stop(signal.reason);
  signal.addEventListener("abort", () => stop(signal.reason));
  let written = Promise.resolve();
  const send = (bytes: Uint8Array) => {
    written = writer.write(bytes);
    // If one fails, the next one fails, too.
    written.catch(() => {});
  };
  try {
    for (let read = await reader.read(); !read.done && !isOver; read = await reader.read()) {
      if (!cut) {
        send(read.value);
        // Read after it was sent: the client does not wait for the scanner.
        scanner?.push(read.value);
      } else if (!(await cut(read.value, send, () => isOver))) {
        reader.cancel();
        return await writer.close();
      }
      await written;
    }
    if (isOver) return;
    scanner?.end();
    await writer.close();
  } catch (error) {
    stop(error);
  }
}
