/** What went wrong with a log while it was read, for everybody who reads the report. */

import type { LogFacts } from "../log/facts.ts";
import { count, plural } from "./numbers.ts";

export function logNotes({ damaged, late, incomplete }: LogFacts): string[] {
  const notes = incompleteFiles(incomplete).map((text) => `The log is incomplete. ${text}`);
  if (damaged.lines > 0) {
    const first = damaged.first.map(({ file, line, reason }) => `${file}, line ${count(line)}: ${reason}`).join("; ");
    notes.push(
      `${plural(damaged.lines, "line")} could not be read, and ${are(damaged.lines)} left out. First: ${first}`,
    );
  }
  if (late > 0) {
    notes.push(`${plural(late, "request")} stood far behind later ones. The replay counts them when it reads them.`);
  }
  return notes;
}

export function incompleteFiles(incomplete: LogFacts["incomplete"]): string[] {
  return incomplete.map(({ file, reason }) => `${file}: ${reason}`);
}

function are(n: number): string {
  return n === 1 ? "is" : "are";
}
