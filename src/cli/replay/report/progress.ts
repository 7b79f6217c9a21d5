/** One line that tells how far a replay is, redrawn in place. For terminals only. */

import type { LogFacts } from "../log/open.ts";
import { count } from "./report.ts";

interface Progress {
  /** @param read what was read until now. */
  update(requests: number, read: LogFacts): void;
  /** Removes the line. */
  end(): void;
}

/** At most 10 times a second. */
const REDRAW_MS = 100;
const BAR = 24;
/** Back to the start of the line, and clear it. */
const CLEAR = "\r\x1b[K";

/** @param columns of the terminal. */
export function terminalProgress(write: (text: string) => void, columns: number): Progress {
  const beganMs = performance.now();
  let drawnMs = Number.NEGATIVE_INFINITY;
  return {
    update(requests, read) {
      const now = performance.now();
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

function line(requests: number, { bytes, totalBytes, lines }: LogFacts, elapsedMs: number): string {
  const speed = elapsedMs > 0 ? [`${count((lines / elapsedMs) * 1_000)} lines/s`] : [];
  const words = [`${count(requests)} requests`, ...speed];
  if (!totalBytes) return words.join(", ");
  const done = Math.min(1, bytes / totalBytes);
  const filled = Math.round(done * BAR);
  const left =
    done > 0 && elapsedMs >= 1_000 ? [`${count(Math.ceil(((elapsedMs / done) * (1 - done)) / 1_000))} s left`] : [];
  const bar = `${"█".repeat(filled)}${"░".repeat(BAR - filled)}`;
  return `${String(Math.floor(done * 100)).padStart(3)} % ${bar} ${[...words, ...left].join(", ")}`;
}

/** For pipes, and for `--quiet`. */
export const NO_PROGRESS: Progress = { update() {}, end() {} };
