/** JSON lines of the log, a bounded number of them. */

/** A flood of requests must not become a flood of log lines. */
const LINES_PER_SECOND = 10;

/**
 * Writes at most 10 lines a second and isolate; the next line says how many were left out. A line that is left out is
 * not made: most refusals of a flood cost no more than a count.
 */
export function createLines(write: (line: string) => void): (line: () => object) => void {
  let second = 0;
  let lines = 0;
  let suppressed = 0;

  return (line) => {
    const thisSecond = Math.floor(Date.now() / 1000);
    if (thisSecond !== second) [second, lines] = [thisSecond, 0];
    if (++lines > LINES_PER_SECOND) {
      suppressed++;
      return;
    }
    write(JSON.stringify(suppressed > 0 ? { ...line(), suppressed } : line()));
    suppressed = 0;
  };
}
