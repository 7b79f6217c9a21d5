/** Passes a body on while a scanner reads it, for meter-response.ts. The gateway has ../pipe-scanned.ts. */

import type { Hold } from "../../../kernel/core/decision.ts";
import type { AnswerScanner } from "./scanner.ts";

/** @returns the body to send, and a promise that is fulfilled when the body has ended, failed or been cancelled. */
export function passThrough(
  source: ReadableStream<Uint8Array>,
  scanner: AnswerScanner | undefined,
  signal: AbortSignal | undefined,
  hold: Pick<Hold, "renew" | "renewEveryMs"> | undefined,
): { readonly body: ReadableStream<Uint8Array>; readonly ended: Promise<void> } {
  const reader = source.getReader();
  let end!: () => void;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let isOver = false;
  let lost: Error | undefined;

  const finish = () => {
    isOver = true;
    if (renewal) clearInterval(renewal);
    signal?.removeEventListener("abort", leave);
    // A renewal after the slots were given back would take them again.
    renewed.then(end, end);
  };
  /** Ends without the source: the client has left, or the stream may not go on. */
  const stop = (reason?: unknown) => {
    finish();
    reader.cancel(reason).catch(() => {});
  };
  const leave = () => stop(signal?.reason);
  let renewed: Promise<unknown> = Promise.resolve();
  const renew = async (one: Pick<Hold, "renew">) => {
    if ((await one.renew()) || isOver) return;
    // A request without its slots must not go on.
    lost = new Error("its slots are lost");
    stop(lost);
  };
  const renewal =
    hold &&
    setInterval(() => {
      renewed = renew(hold);
    }, hold.renewEveryMs);
  signal?.addEventListener("abort", leave);
  if (signal?.aborted) leave();

  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (lost) throw lost;
          if (isOver) return controller.close();
          if (done) {
            scanner?.end();
            finish();
            controller.close();
            return;
          }
          controller.enqueue(value);
          // Read after it was sent: the client does not wait for the scanner.
          scanner?.push(value);
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
