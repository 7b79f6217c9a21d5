/** Reads and writes files that the command line names, and says what is wrong with them in one sentence. */

import { lstatSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Failure, Misuse, systemMessage } from "./io.ts";

/** Whether something has this path: also a link that leads nowhere, and what may not be read. */
export function exists(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // A part of the path is a file, or may not be entered.
    return false;
  }
}

/** Whether there is something to read: a link that leads somewhere, and no folder. */
export function isReadable(path: string): boolean {
  try {
    return !statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** @param folder where relative paths begin. @param name how messages name the file. @throws {Misuse} */
export function readText(folder: string, file: string, name = file): string {
  const path = resolve(folder, file);
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const found = code === "ENOENT" && exists(path) ? "a link that leads nowhere" : FOUND[code!];
    throw new Misuse(`${name}: expected a file; found ${found ?? systemMessage(error as Error)}`);
  }
}

/** Makes the folders above it too. @param flag as of `writeFile`. @throws {Failure} */
export function writeText(path: string, text: string, name: string, flag = "w"): void {
  try {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text, { flag });
  } catch (error) {
    throw new Failure(`${name} could not be written: ${systemMessage(error as Error)}`);
  }
}

const FOUND: Readonly<Record<string, string>> = {
  ENOENT: "nothing with that name",
  ENOTDIR: "nothing with that name",
  EISDIR: "a folder",
  EACCES: "one that may not be read",
  EPERM: "one that may not be read",
  ELOOP: "a link that leads to itself",
};
