/** The lines of this isolate's log, a bounded number of each kind, with texts of a bounded length. */

/** A flood of requests must not become a flood of log lines. */
const LINES_PER_SECOND = 10;
/** The most characters of a text in a line: clients and origins have written some of them. */
const LONGEST_TEXT = 1_000;

/**
 * Writes at most `perSecond` lines a second and isolate; the next line says how many were left out. A line that is left
 * out is not made: most refusals of a flood cost no more than a count. Longer texts in a line are cut.
 *
 * @param write where lines go. Default: the console, as a warning.
 */
export function createLines(
  write: (line: string) => void = (line) => console.warn(line),
  perSecond = LINES_PER_SECOND,
): (line: () => object) => void {
  const next = createBound(perSecond);
  return (line) => {
    const suppressed = next();
    if (suppressed === undefined) return;
    write(JSON.stringify(suppressed > 0 ? { ...line(), suppressed } : line(), cut));
  };
}

/** Writes lines as `createLines` does, each with its instant at the end. */
export function reportLines(): (line: object) => void {
  const write = createLines();
  return (line) => write(() => ({ ...line, at: new Date().toISOString() }));
}

/**
 * Writes what was thrown to the console, with its stack, at most `perSecond` times a second and isolate.
 *
 * @param what threw, for example `onDecision threw`.
 */
export function createThrown(what: string, perSecond = LINES_PER_SECOND): (error: unknown) => void {
  const next = createBound(perSecond);
  return (error) => {
    const suppressed = next();
    if (suppressed === undefined) return;
    console.error(`headgate: ${what}${suppressed > 0 ? ` (and ${suppressed} times that are not shown)` : ""}`, error);
  };
}

/** Returns how many were left out before this one. Undefined: this one is left out too. */
function createBound(perSecond: number): () => number | undefined {
  let second = 0;
  let lines = 0;
  let suppressed = 0;
  return () => {
    const thisSecond = Math.floor(Date.now() / 1000);
    if (thisSecond !== second) [second, lines] = [thisSecond, 0];
    if (++lines > perSecond) {
      suppressed++;
      return undefined;
    }
    const before = suppressed;
    suppressed = 0;
    return before;
  };
}

function cut(_: string, value: unknown): unknown {
  return typeof value === "string" && value.length > LONGEST_TEXT ? `${value.slice(0, LONGEST_TEXT)}…` : value;
}
