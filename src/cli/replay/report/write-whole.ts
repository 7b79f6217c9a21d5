/** Writes a file as a whole or not at all: half a report must not look like one. */

import { existsSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";

/** A file that exists keeps its content if the writing fails. @throws what Node throws. */
export function writeWhole(path: string, text: string): void {
  // A device or a pipe cannot be replaced.
  if (existsSync(path) && !statSync(path).isFile()) {
    writeFileSync(path, text);
    return;
  }
  const target = existsSync(path) ? realpathSync(path) : path;
  const part = `${target}.${process.pid}.part`;
  try {
    writeFileSync(part, text);
    renameSync(part, target);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}
