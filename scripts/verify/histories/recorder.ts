/** Writes down operations while they run: calls and returns in the order in which this process sees them. */

import type { TakeReply, TakeRequest } from "../../../src/kernel/core/take.ts";
import { isStoreError } from "../../../src/kernel/store/failure.ts";
import type { Store, StoreError } from "../../../src/kernel/store/store.ts";
import {
  FORMAT,
  type History,
  type LimiterOperation,
  type Operation,
  type ResetOperation,
  type StoreOperation,
  type TakeOperation,
} from "./history.ts";

/** A wall clock that falls behind the steady clock by more than this was set back. It is slewed by less. */
const SLEW_MS = 5;

/** Who asks, and for which decision of a limiter. */
export type Asker = Pick<StoreOperation, "process" | "decision" | "isolate">;

export interface Recorder {
  /** Microseconds since the recorder was made. Every call gives a later instant. */
  now(): number;
  /** A store whose calls are written down. */
  recorded(place: string, store: Pick<Store, "take" | "reset">, asker: () => Asker): Pick<Store, "take" | "reset">;
  add(operation: LimiterOperation): void;
  /** Calls of this place without an answer have no effect from now on: whoever ran them is dead. */
  died(place: string): void;
  /**
   * Ends the recording. Calls without an answer stay without one. Undefined: the wall clock was set back meanwhile, and
   * the instants of the stores say nothing.
   */
  end(head: Pick<History, "promise" | "about" | "policies" | "breakers">): History | undefined;
}

/** Records until the wall clock was not set back meanwhile. */
export async function recordSteadily(record: () => Promise<History | undefined>): Promise<History> {
  for (;;) {
    const history = await record();
    if (history) return history;
  }
}

/** What is asked of a store. */
type Asked = Pick<TakeOperation, "op" | "input"> | Pick<ResetOperation, "op" | "input">;

export function createRecorder(): Recorder {
  const operations: Operation[] = [];
  /** Calls without an answer that may still run. */
  const open = new Set<StoreOperation>();
  const beganAt = performance.now();
  let lastUs = 0;
  /** How far the wall clock is ahead of the steady one at least, in ms. */
  let aheadMs = Number.NEGATIVE_INFINITY;
  let isSteady = true;

  function now(): number {
    lastUs = Math.max(lastUs + 1, Math.floor((performance.now() - beganAt) * 1_000));
    return lastUs;
  }

  function wallMs(): number {
    // This process may have to wait between two lines: the wall clock was read between these two instants.
    const from = performance.now();
    const wall = Date.now();
    const to = performance.now();
    isSteady &&= wall + 1 - from > aheadMs - SLEW_MS;
    aheadMs = Math.max(aheadMs, wall - to);
    return wall;
  }

  async function record<T extends TakeReply | undefined>(
    place: string,
    asker: Asker,
    asked: Asked,
    work: () => Promise<T>,
  ): Promise<T> {
    const callMs = wallMs();
    const operation: StoreOperation = { ...asker, place, ...asked, call: now(), clock: [callMs] };
    operations.push(operation);
    open.add(operation);
    const returned = (more: Pick<TakeOperation, "output" | "failed">) => {
      // What arrives after the end, or after a death, is not written down.
      if (open.delete(operation)) Object.assign(operation, { return: now(), clock: [callMs, wallMs()], ...more });
    };
    try {
      const output = await work();
      returned(output ? { output } : {});
      return output;
    } catch (error) {
      // A call that may have run has no return: it may still run.
      const { notRun, code } = error as StoreError;
      if (isStoreError(error) && notRun) returned({ failed: code });
      throw error;
    }
  }

  return {
    now,
    recorded: (place, store, asker) => ({
      take: (request: TakeRequest, nowMs, budgetMs) =>
        record(place, asker(), { op: "take", input: request }, () => store.take(request, nowMs, budgetMs)),
      reset: (keys) => record(place, asker(), { op: "reset", input: keys }, async () => void (await store.reset(keys))),
    }),
    add: (operation) => void operations.push(operation),
    died(place) {
      for (const one of [...open].filter((one) => one.place === place)) {
        open.delete(one);
        Object.assign(one, { until: now(), clock: [one.clock[0], wallMs()] });
      }
    },
    end(head) {
      open.clear();
      wallMs();
      if (!isSteady) return undefined;
      return { format: FORMAT, ...head, operations: operations.toSorted((a, b) => a.call - b.call) };
    },
  };
}
