/** Timers: one that a signal ends, and those that keep no process alive. */

/** The longest wait of `setTimeout` (2^31 - 1 ms, 24.8 days); with a longer one it does not wait at all. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Timers count whole milliseconds: by a server's clock one may fire almost a millisecond early. */
const TIMER_GRAIN_MS = 1;

/** Waits `durationMs` milliseconds; rejects with the signal's reason as soon as the signal is aborted. */
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

/** Keeps the process alive until this work has ended: a caller waits for it, and its own timers may keep none. */
export async function keepingAlive<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => {}, LONGEST_TIMER_MS);
  try {
    return await work;
  } finally {
    clearInterval(timer);
  }
}

/** `setTimeout` for work that nobody waits for: the process may end before. */
export function setIdleTimeout(work: () => void, ms: number): ReturnType<typeof setTimeout> {
  return inBackground(setTimeout(work, ms));
}

/** Lets the process end before the timer has fired. In workerd a timer is a number, and keeps nothing alive. */
export function inBackground<Timer>(timer: Timer): Timer {
  (timer as { unref?(): unknown }).unref?.();
  return timer;
}
