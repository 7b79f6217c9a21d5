/** A wait that an AbortSignal ends. */

/** The most that `setTimeout` counts (2^31 - 1 ms, 24.8 days); it does not wait at all for more. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Timers count whole milliseconds and may fire almost one early by the clock that a server sees. */
const TIMER_GRAIN_MS = 1;

/** Rejects with the signal's reason as soon as it is aborted. */
export async function sleep(durationMs: number, signal?: AbortSignal | null): Promise<void> {
  for (let leftMs = Math.ceil(durationMs) + TIMER_GRAIN_MS; leftMs > 0; leftMs -= LONGEST_TIMER_MS) {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(
        () => {
          signal?.removeEventListener("abort", stop);
          resolve();
        },
        Math.min(leftMs, LONGEST_TIMER_MS),
      );
      signal?.addEventListener("abort", stop, { once: true });
    });
  }
}
