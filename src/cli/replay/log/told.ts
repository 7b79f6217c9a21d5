/** What reading a log has found out about the log itself. */

/** A message for people: what was expected, what was found, in which file. Never a line's text. */
export class LogError extends Error {}

/** It grows while the log is read. */
export interface LogTold {
  readonly files: number;
  /** Bytes read so far, of the files as they lie on the disk. */
  readonly bytes: number;
  /** Of all files. Undefined: some input has no size, for example the standard input. */
  readonly totalBytes: number | undefined;
  readonly lines: number;
  /** Lines that are requests. */
  readonly requests: number;
  readonly damaged: { readonly lines: number; readonly first: readonly DamagedLine[] };
  /** Requests that the log shows much too late: they are replayed at the instant that the replay had reached. */
  readonly late: number;
  /** Files that could not be read to their end. */
  readonly incomplete: readonly { readonly file: string; readonly reason: string }[];
  /** How many requests each line stands for, in the file that is sampled most. 1: nothing is sampled. */
  readonly sampledOneIn: number;
  /** What the reader of the report must know. Complete after the last batch. */
  readonly notes: readonly string[];
}

interface DamagedLine {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly reason: string;
}

/** Damaged lines that are named. */
const NAMED_LINES = 5;

export class Telling implements LogTold {
  bytes = 0;
  lines = 0;
  requests = 0;
  late = 0;
  sampledOneIn = 1;
  readonly damaged = { lines: 0, first: [] as DamagedLine[] };
  readonly incomplete: { file: string; reason: string }[] = [];
  readonly notes: string[] = [];

  readonly files: number;
  readonly totalBytes: number | undefined;

  constructor(files: number, totalBytes: number | undefined) {
    this.files = files;
    this.totalBytes = totalBytes;
  }

  addDamaged(line: DamagedLine): void {
    this.damaged.lines++;
    if (this.damaged.first.length < NAMED_LINES) this.damaged.first.push(line);
  }

  /** The same note is told once. */
  addNote(note: string): void {
    if (!this.notes.includes(note)) this.notes.push(note);
  }
}
