/** All text is printed here: what steers the terminal is cleaned here. And what could not be written. */

import type { Writable } from "node:stream";
import { type Io, systemMessage } from "./io.ts";
import { printableLines } from "./printable.ts";

export interface Output {
  /** Waits until everything is written. @returns why some of it could not be; undefined: all of it is written. */
  written(): Promise<string | undefined>;
  /** The same, for a failure that was not returned before. A closed pipe is no failure: its reader has seen enough. */
  unreported(): Promise<string | undefined>;
}

export function watchOutput(stream: Writable): Output {
  let failure: NodeJS.ErrnoException | undefined;
  let isReported = false;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    failure ??= error;
  });

  async function flushed(): Promise<NodeJS.ErrnoException | undefined> {
    // The error of a write arrives after the callbacks of the writes behind it.
    await new Promise<void>((resolve) => stream.write("", () => setImmediate(resolve)));
    return failure;
  }

  return {
    async written() {
      const error = await flushed();
      isReported = true;
      return error && systemMessage(error);
    },
    async unreported() {
      const error = await flushed();
      return error && !isReported && error.code !== "EPIPE" ? systemMessage(error) : undefined;
    },
  };
}

/** The same input and output; nothing that is printed steers the terminal. */
export function cleaned(io: Io): Io {
  // A copy would read `stdin`, which keeps the process waiting for it.
  return Object.assign(Object.create(io) as Io, {
    out: (text: string) => io.out(printableLines(text)),
    err: (text: string) => io.err(printableLines(text)),
    draw: (text: string) => io.err(text),
  });
}
