/** Requests over time, in a bounded number of steps: when the log grows longer, the steps do. */

import type { Timeline } from "./summary.ts";

const MAX_STEPS = 240;
const FIRST_STEP_MS = 1_000;

/** The time of a log. All timelines of a replay share it. */
export class TimeAxis {
  #fromMs = 0;
  #stepMs = FIRST_STEP_MS;
  #steps = 0;
  readonly #lines: StepCounts[] = [];

  line(): StepCounts {
    const line = new StepCounts();
    this.#lines.push(line);
    return line;
  }

  /** The step of an instant. Instants never fall. */
  stepOf(nowMs: number): number {
    if (this.#steps === 0) this.#fromMs = Math.floor(nowMs / FIRST_STEP_MS) * FIRST_STEP_MS;
    let step = Math.floor((nowMs - this.#fromMs) / this.#stepMs);
    while (step >= MAX_STEPS) {
      this.#stepMs *= 2;
      for (const line of this.#lines) line.halve();
      step = Math.floor((nowMs - this.#fromMs) / this.#stepMs);
    }
    this.#steps = step + 1;
    return step;
  }

  timeline({ admitted, refused }: StepCounts): Timeline {
    const shown = (counts: Float64Array) => [...counts.subarray(0, this.#steps)];
    return { fromMs: this.#fromMs, stepMs: this.#stepMs, admitted: shown(admitted), refused: shown(refused) };
  }
}

/** Requests by the steps of the axis. */
export class StepCounts {
  readonly admitted = new Float64Array(MAX_STEPS);
  readonly refused = new Float64Array(MAX_STEPS);

  /** Each two steps become one. */
  halve(): void {
    for (const counts of [this.admitted, this.refused]) {
      for (let i = 0; i < MAX_STEPS; i++) {
        counts[i] = 2 * i < MAX_STEPS ? counts[2 * i]! + counts[2 * i + 1]! : 0;
      }
    }
  }
}
