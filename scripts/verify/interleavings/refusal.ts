/** Whether the wait of a refusal is true. */

import type { Ledger } from "./ledger.ts";

/** What a refusal says about one cell. */
export interface KnownCell {
  /** The step of the cell whose reply the isolate refuses by. undefined: not known. */
  readonly step: number | undefined;
  /**
   * How much longer than the truth a wait may be, in ms: the store or the isolate has told it so long ago, or the
   * isolate does not know the store's clock better.
   */
  readonly errorMs: number;
  readonly ledger: Ledger;
  /** Whether the store would admit at an instant. */
  look(atMs: number): boolean;
}

/** @returns what is wrong. undefined: nothing. */
export function wrongWait(retryAfterMs: number, cells: readonly KnownCell[], nowMs: number): string | undefined {
  if (cells.some(({ step }) => step === undefined)) return undefined;
  const admits = (atMs: number) => cells.every(({ look }) => look(atMs));
  const isAlone = cells.every(({ ledger, step }) => !ledger.wasChargedSince(step!));
  if (isAlone && !admits(nowMs + retryAfterMs)) {
    return `told to wait ${retryAfterMs} ms, and alone it would be refused then`;
  }
  const errorMs = Math.max(...cells.map((cell) => cell.errorMs));
  const soonerMs = retryAfterMs - errorMs;
  const hasComeBack = cells.some(({ ledger, step }) => ledger.hasComeBackSince(step!));
  if (soonerMs > 0 && !hasComeBack && admits(nowMs + soonerMs)) {
    return `told to wait ${retryAfterMs} ms, and it would be admitted ${errorMs} ms earlier`;
  }
  return undefined;
}
