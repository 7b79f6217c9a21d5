/** One line that tells how far a replay is, redrawn in place. For terminals only. */

import { count, duration } from "./numbers.ts";

/** What is known of the log while it is read. */
export interface Read {
  /** Of the files as they lie on the disk. */
  readonly bytes: number;
  /** Undefined: nobody knows, for example of the standard input. */
  readonly totalBytes?: number | undefined;
  readonly lines: number;
}

interface Progress {
  update(requests: number, read: Read): void;
  /** Removes the line. */
  end(): void;
}

/** At most 10 times a second. */
const REDRAW_MS = 100;
const BAR = 24;
/** Back to the start of the line, and clear it. */
const CLEAR = "\r\x1b[K";

/** @param columns of the terminal. @param nowMs a clock that never goes back. */
export function terminalProgress(write: (text: string) => void, columns: number, nowMs: () => number): Progress {
  const beganMs = nowMs();
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    update(requests, read) {
      const now = nowMs();
      if (now - drawnMs < REDRAW_MS) return;
      drawnMs = now;
      // A line as wide as the terminal would wrap, and could not be cleared.
      write(CLEAR + line(requests, read, now - beganMs).slice(0, columns - 1));
    },
    end() {
      if (drawnMs !== Number.NEGATIVE_INFINITY) write(CLEAR);
      drawnMs = Number.NEGATIVE_INFINITY;
    },
  };
}

function line(requests: number, { bytes, totalBytes, lines }: Read, elapsedMs: number): string {
  const speed = elapsedMs > 0 ? [`${count((lines / elapsedMs) * 1_000)} lines/s`] : [];
  const words = [`${count(requests)} requests`, ...speed];
  if (!totalBytes) return words.join(", ");
  const done = Math.min(1, bytes / totalBytes);
  const filled = Math.round(done * BAR);
  const left = done > 0 && elapsedMs >= 1_000 ? [`${duration((elapsedMs / done) * (1 - done))} left`] : [];
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  return `${String(Math.floor(done * 100)).padStart(3)} % ${bar} ${[...words, ...left].join(", ")}`;
}

/** For pipes, and for `--quiet`. */
export const NO_PROGRESS: Progress = { update() {}, end() {} };
