// What became of calls to the counts, as those say which lose them: call-proxy.ts before Redis, and the object of
// test/worker/faulty-counts.ts. It knows neither Node nor workerd.

import type { TakeRequest } from "../../../src/kernel/core/take.ts";

/** A call that takes units or gives them back. */
export interface CountedCall {
  readonly keys: readonly string[];
  readonly isGiveBack: boolean;
  /**
   * `heard`: it ran, and its answer came in time. `late`: it ran, and its answer is lost, or may have come too late.
   * `unknown`: it may have run.
   */
  readonly outcome: "heard" | "late" | "unknown" | "not-run";
  /** The answer of Redis, whether the gateway heard it or not. */
  readonly result?: unknown;
}

/** An answer that leaves within this part of the budget comes in time, also on a machine that has much to do. */
export const IN_TIME = 0.9;
/** How many connections may wait to be accepted: all requests come at once. */
export const BACKLOG = 8_192;

/** What the Worker of test/worker/faulty-counts.ts is asked to do. */
export type Asked =
  | { readonly rate: number; readonly budgetMs: number }
  | { readonly crash: true }
  | { readonly take: TakeRequest }
  | { readonly calls: true };
