/** What reading a log has found out about the log itself. */

/** A message for people: what was expected, what was found, in which file. Never a line's text. */
export class LogError extends Error {}

interface DamagedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** Damaged lines that are named. */
const NAMED_LINES = 5;

/** It grows while the log is read. */
export class LogFacts {
  readonly files: number;
  /** Of all files. Undefined: some input has no size, for example the standard input. */
  readonly totalBytes: number | undefined;
  /** Bytes read so far, of the files as they lie on the disk. */
  bytes = 0;
  lines = 0;
  /** Lines that are requests. */
  requests = 0;
  readonly damaged = { lines: 0, first: [] as DamagedLine[] };
  /** Requests that the log shows much too late: they are replayed at the instant that the replay had reached. */
  late = 0;
  /** Files that could not be read to their end. */
  readonly incomplete: { readonly file: string; readonly reason: string }[] = [];
  /** How many requests each line stands for, in the file that is sampled most. 1: nothing is sampled. */
  sampledOneIn = 1;
  /** What the reader of the report must know. Complete after the last batch. */
  readonly notes: string[] = [];

  constructor(files: number, totalBytes: number | undefined) {
    this.files = files;
    this.totalBytes = totalBytes;
  }

  addDamaged(line: DamagedLine): void {
    this.damaged.lines++;
    if (this.damaged.first.length < NAMED_LINES) this.damaged.first.push(line);
  }

  /** The same note is said once. */
  addNote(note: string): void {
    if (!this.notes.includes(note)) this.notes.push(note);
  }
}
