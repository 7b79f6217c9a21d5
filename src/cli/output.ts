/** The standard output, and what could not be written to it. */

import type { Writable } from "node:stream";
import { systemMessage } from "./io.ts";

export interface Output {
  /** Waits until everything is written. @returns why some of it could not be; undefined: all of it is written. */
  written(): Promise<string | undefined>;
  /** The same, for a failure that was not returned before. A closed pipe is no failure: its reader has seen enough. */
  untold(): Promise<string | undefined>;
}

export function watchOutput(stream: Writable): Output {
  let failure: NodeJS.ErrnoException | undefined;
  let isTold = false;
  stream.on("error", (error: NodeJS.ErrnoException) => {
    failure ??= error;
  });

  async function flushed(): Promise<NodeJS.ErrnoException | undefined> {
    // The error of a write is told after the callbacks of the writes behind it.
    await new Promise<void>((resolve) => stream.write("", () => setImmediate(resolve)));
    return failure;
  }

  return {
    async written() {
      const error = await flushed();
      isTold = true;
      return error && systemMessage(error);
    },
    async untold() {
      const error = await flushed();
      return error && !isTold && error.code !== "EPIPE" ? systemMessage(error) : undefined;
    },
  };
}
