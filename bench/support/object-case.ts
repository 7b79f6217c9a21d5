/**
 * What bench/object.ts and bench/object.worker.ts tell each other. It is a separate file, because one of them is a
 * Worker and the other is not.
 */

import type { LimitSpec } from "../../src/kernel/core/algorithms.ts";

export interface ObjectCase {
  readonly limits: readonly LimitSpec[];
  /** The number of keys, which take turns; or every take has a new key. */
  readonly keys: number | "new";
  /** Takes before the first turn. */
  readonly fill: number;
  /** The clock is an argument, and every take comes so much later. Absent: the clocks of the stores. */
  readonly stepMs?: number;
  readonly turns: number;
  /** The number of takes of each part in a turn. */
  readonly takes: number;
  /** Every take is durable before the next one begins. Otherwise the takes of a part are committed together. */
  readonly isDurable: boolean;
}

/** µs for each take. */
export interface ObjectTurn {
  readonly objectUs: number;
  readonly memoryUs: number;
  /** The statements that change rows, without a decision. */
  readonly writeUs: number;
}
