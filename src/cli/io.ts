/** What a command reads and writes besides files, so that tests can run commands without a process. */

export interface Io {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Writes to the standard output. */
  out(text: string): void;
  /** Writes to the error stream. */
  err(text: string): void;
  /** Writes to the error stream what moves the cursor, for a terminal only. Absent: the same as `err`. */
  draw?(text: string): void;
  /**
   * Waits until all output is written. @returns why some of it could not be written, for people; undefined: all of it
   * is.
   */
  written?(): Promise<string | undefined>;
  /** The standard input. */
  readonly stdin?: AsyncIterable<Uint8Array>;
  /** The standard input, if somebody types there and sees the error stream. */
  readonly terminal?: NodeJS.ReadableStream | undefined;
  /** The columns of the terminal behind the error stream. Absent: the error stream is a file or a pipe. */
  readonly terminalColumns?: number;
}

/** 0: success. 1: the command found something, or could not do its work. 2: the command line is wrong. */
export type ExitCode = 0 | 1 | 2;

/** The command could not do its work. It says why in one line or several: each is printed as one, whatever it holds. */
export class Failure extends Error {
  readonly lines: readonly string[];

  constructor(...lines: readonly string[]) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

/** The command line is wrong. */
export class Misuse extends Failure {}

/** What the system says of a file or a pipe, for people: `ENOSPC: no space left on device`. */
export function systemMessage({ code, message }: NodeJS.ErrnoException): string {
  // The name of the call follows a comma.
  return code === "EPIPE" ? "the pipe was closed" : message.split(",")[0]!;
}
