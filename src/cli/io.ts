/** What a command reads and writes besides files, so that tests can run commands without a process. */

export interface Io {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Writes to the standard output. */
  out(text: string): void;
  /** Writes to the error stream. */
  err(text: string): void;
}

/** 0: well. 1: the command found something, or could not do its work. 2: the command line is wrong. */
export type ExitCode = 0 | 1 | 2;

/** The command line is wrong. */
export class Misuse extends Error {}

/** The command could not do its work. */
export class Failure extends Error {}
