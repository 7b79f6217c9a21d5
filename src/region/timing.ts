/** The local clock and its timers, which a simulator replaces. */

export interface Timing {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  sleep(ms: number): Promise<void>;
}

export const LOCAL_TIMING: Timing = {
  nowMs: () => Date.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Then a request asks for itself, whatever it was waiting for. */
export const MAX_WAITED_MS = 1_000;
