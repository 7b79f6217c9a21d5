/** `npx headgate`: the only door of this folder. */

import { isatty } from "node:tty";
import { systemMessage } from "./io.ts";
import { run } from "./program.ts";

let failure: NodeJS.ErrnoException | undefined;
let isReported = false;
process.stdout.on("error", (error) => {
  failure ??= error;
});
// If nobody reads the error stream, there is nobody to tell.
process.stderr.on("error", () => {});
const { columns, isTTY } = process.stderr;

/** Waits until everything is written: the error of a write arrives after the callbacks of the writes behind it. */
const flushed = () => new Promise<void>((resolve) => process.stdout.write("", () => setImmediate(resolve)));

const exitCode = await run(process.argv.slice(2), {
  cwd: process.cwd(),
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  async written() {
    await flushed();
    isReported = failure !== undefined;
    return failure && systemMessage(failure);
  },
  get stdin() {
    return process.stdin;
  },
  get terminal() {
    return isTTY && isatty(0) ? process.stdin : undefined;
  },
  ...(isTTY && { terminalColumns: columns || 80 }),
});

await flushed();
process.exitCode = exitCode;
// A closed pipe is no failure: its reader has seen enough.
if (failure && !isReported && failure.code !== "EPIPE") {
  process.stderr.write(`headgate: the output could not be written: ${systemMessage(failure)}\n`);
  process.exitCode = exitCode || 1;
}
