/** Ctrl-C in the middle of a long replay. */

import { type ExitCode, type Io, STOP_CODES, type StopSignal } from "../io.ts";

export interface Work {
  /** Aborted when a signal has come. */
  readonly signal: AbortSignal;
  /** How far it came, in words. */
  reached: string;
}

/**
 * Waits until the work ends or a signal comes. A read that never returns does not keep the signal waiting.
 *
 * @returns the exit code if a signal came.
 */
export async function unlessStopped<T extends object>(
  io: Io,
  begin: (work: Work) => Promise<T>,
): Promise<T | ExitCode> {
  const controller = new AbortController();
  const work: Work = { signal: controller.signal, reached: "before the first request" };
  let forget: (() => void) | undefined;
  const stopped = new Promise<StopSignal>((resolve) => {
    forget = io.onStop?.(resolve);
  });
  const working = begin(work);
  try {
    const first = await Promise.race([working, stopped]);
    if (typeof first !== "string") return first;
    // The work ends with an error of its own, which says nothing new.
    working.catch(() => {});
    controller.abort();
    io.err(`headgate: stopped by ${first} ${work.reached}: there is no report\n`);
    return STOP_CODES[first];
  } finally {
    forget?.();
  }
}
