/** `npx headgate`: the only door of this folder. */

import { watchOutput } from "./output.ts";
import { run } from "./program.ts";

const output = watchOutput(process.stdout);
// If nobody reads the error stream, there is nobody to tell.
process.stderr.on("error", () => {});
const { columns, isTTY } = process.stderr;

const exitCode = await run(process.argv.slice(2), {
  cwd: process.cwd(),
  env: process.env,
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  written: output.written,
  get stdin() {
    return process.stdin;
  },
  ...(isTTY && { terminalColumns: columns || 80 }),
});

const lost = await output.unreported();
if (lost !== undefined) process.stderr.write(`headgate: the output could not be written: ${lost}\n`);
process.exitCode = lost !== undefined && exitCode === 0 ? 1 : exitCode;
