/** Passes a body on while a scanner reads it. */

import type { Hold } from "../core/decision.ts";
import type { Cut } from "./cut.ts";
import type { AnswerScanner } from "./scanner.ts";

/** @returns the body to send, and a promise that is fulfilled when the body has ended, failed or been cancelled. */
export function passThrough(
  source: ReadableStream<Uint8Array>,
  scanner: AnswerScanner | undefined,
  cut: Cut | undefined,
  signal: AbortSignal | undefined,
  hold: Pick<Hold, "renew" | "renewEveryMs"> | undefined,
): { readonly body: ReadableStream<Uint8Array>; readonly ended: Promise<void> } {
  const reader = source.getReader();
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isOver = false;
  let fail = (_error: unknown) => {};

  /** Ends without the source: the client has left, or the stream may not go on. */
  const stop = (reason?: unknown) => {
    finish();
    reader.cancel(reason).catch(() => {});
  };
  const leave = () => stop(signal?.reason);
  const renewal =
    hold &&
    setInterval(async () => {
      // A request without its slots must not go on.
      if (await hold.renew()) return;
      fail(new Error("in flight for longer than its slots can be renewed"));
      stop();
    }, hold.renewEveryMs);
  function finish(): void {
    isOver = true;
    if (renewal !== undefined) clearInterval(renewal);
    signal?.removeEventListener("abort", leave);
    end();
  }
  signal?.addEventListener("abort", leave);
  if (signal?.aborted) leave();

  /** @returns whether the stream goes on. */
  async function pass(chunk: Uint8Array, send: (bytes: Uint8Array) => void): Promise<boolean> {
    let sent = 0;
    for (let at = 0; cut && scanner && at < chunk.length; ) {
      at = scanner.push(chunk, at, true);
      if (!scanner.isBetweenEvents() || !cut.isOver()) continue;
      send(chunk.subarray(sent, at));
      sent = at;
      const mayGoOn = await cut.charge();
      if (isOver) return false;
      if (!mayGoOn) {
        send(cut.lastEvent);
        return false;
      }
    }
    // A stream asks for the next chunk only when it got one, be it empty.
    if (sent < chunk.length || chunk.length === 0) send(chunk.subarray(sent));
    // Read after it was sent: the client does not wait for the scanner.
    if (!cut) scanner?.push(chunk);
    return true;
  }

  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (error) => controller.error(error);
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (isOver) return controller.close();
          if (!done && (await pass(value, (bytes) => controller.enqueue(bytes)))) return;
          controller.close();
          if (done) finish();
          else stop();
        } catch (error) {
          finish();
          throw error;
        }
      },
      cancel: stop,
    },
    { highWaterMark: 0 },
  );
  return { body, ended };
}
