/** The clock of a log, with timers: it stands still between two requests, and jumps to what is due before the next. */

import type { Timing } from "../../../isolate/timing.ts";

interface Sleeper {
  readonly wakesAtMs: number;
  wake(): void;
}

/** Promises settle before the next tick, however deeply they are nested. */
const settled = () => new Promise<void>((resolve) => process.nextTick(resolve));

export class LogClock implements Timing {
  #nowMs = 0;
  /** In the order in which they wake. */
  readonly #sleepers: Sleeper[] = [];

  nowMs(): number {
    return this.#nowMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => {
      const wakesAtMs = this.#nowMs + ms;
      const after = this.#sleepers.findLastIndex((one) => one.wakesAtMs <= wakesAtMs);
      this.#sleepers.splice(after + 1, 0, { wakesAtMs, wake });
    });
  }

  /** Lets everything happen that is due until then. */
  async runUntil(atMs: number): Promise<void> {
    await settled();
    for (;;) {
      const next = this.#sleepers[0];
      if (!next || next.wakesAtMs > atMs) break;
      this.#sleepers.shift();
      this.#nowMs = Math.max(this.#nowMs, next.wakesAtMs);
      next.wake();
      await settled();
    }
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }
}
