/** A body whose bytes the test sends. A number stands for so many spaces. */
export function openBody() {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      start(one) {
        controller = one;
      },
      cancel() {
        cancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    send: (bytes: number | string) =>
      controller.enqueue(typeof bytes === "string" ? new TextEncoder().encode(bytes) : new Uint8Array(bytes).fill(32)),
    end: () => controller.close(),
    fail: () => controller.error(new Error("gone")),
    isCancelled: () => cancelled,
  };
}
