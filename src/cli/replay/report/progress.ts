/** One line that tells how far a replay is, redrawn in place. For terminals only. */

import type { LogFacts } from "../log/open.ts";
import { count } from "./report.ts";

const BAR = 24;
/** Back to the start of the line, and clear it. */
const CLEAR = "\r\x1b[K";

/** @param columns of the terminal. */
export function terminalProgress(write: (text: string) => void, columns: number) {
  const beganMs = performance.now();
  return {
    /** @param read what was read until now. */
    update(requests: number, { bytes, totalBytes, lines }: LogFacts): void {
      const speed = (lines / (performance.now() - beganMs)) * 1_000;
      const words = `${count(requests)} requests, ${count(speed)} lines/s`;
      const done = totalBytes ? Math.min(1, bytes / totalBytes) : 0;
      const filled = Math.round(done * BAR);
      const bar = `${Math.floor(done * 100)} % ${"█".repeat(filled)}${"░".repeat(BAR - filled)} ${words}`;
      // A line as wide as the terminal would wrap, and could not be cleared.
      write(CLEAR + (totalBytes ? bar : words).slice(0, columns - 1));
    },
    /** Removes the line. */
    end: () => write(CLEAR),
  };
}
