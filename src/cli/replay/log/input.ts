/** Where the bytes of a log come from: files, and the standard input. */

import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { LogError } from "./facts.ts";

const CHUNK_BYTES = 256 * 1024;

export interface Input {
  /** As the command line names it. */
  readonly name: string;
  /** Undefined: not known, for example of a pipe. */
  readonly size: number | undefined;
  /** The first bytes as they lie on the disk: at least this many, or all of a shorter input. */
  start(bytes: number): Promise<Uint8Array>;
  /** All bytes from the first one, as they lie on the disk. Called once. A chunk is valid until the next one. */
  chunks(): AsyncIterable<Uint8Array>;
}

/**
 * @param names of files; `-` is the standard input. A `*` in a file's name stands for any characters: not every shell
 * expands it.
 * @throws {LogError} if a file is not there, or is no file.
 */
export async function openInputs(
  names: readonly string[],
  { cwd, stdin }: { cwd: string; stdin: AsyncIterable<Uint8Array> },
): Promise<Input[]> {
  const inputs = new Map<string, Input>();
  for (const name of (await Promise.all(names.map((name) => filesNamed(name, cwd)))).flat()) {
    const path = name === "-" ? name : resolve(cwd, name);
    if (inputs.has(path)) continue;
    inputs.set(path, name === "-" ? streamInput("the standard input", stdin) : await fileInput(name, path));
  }
  return [...inputs.values()];
}

/** @throws {LogError} if a name with `*` fits no file. Other names are not looked at. */
export async function filesNamed(name: string, cwd: string): Promise<string[]> {
  const pattern = basename(name);
  if (!pattern.includes("*") || (await exists(resolve(cwd, name)))) return [name];
  const folder = dirname(name);
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  const matching = new RegExp(`^${parts.join(".*")}$`, "s");
  const entries = await readdir(resolve(cwd, folder)).catch((error) => fail(folder, error));
  // As in a shell: a star does not stand for the dot that hides a file.
  const found = entries.filter((entry) => matching.test(entry) && entry.startsWith(".") === pattern.startsWith("."));
  if (found.length === 0) throw new LogError(`${name}: no file has such a name.`);
  return found.sort().map((entry) => (folder === "." && !name.startsWith(".") ? entry : join(folder, entry)));
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

async function fileInput(name: string, path: string): Promise<Input> {
  const stats = await stat(path).catch((error) => fail(name, error));
  if (stats.isDirectory())
    throw new LogError(`${name} is a folder: name the files in it, for example ${join(name, "*")}`);
  if (!stats.isFile()) return streamInput(name, pipeChunks(name, path));
  const { size } = stats;
  return {
    name,
    size,
    async start(bytes) {
      const file = await open(path).catch((error) => fail(name, error));
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(bytes, size)));
        return buffer.subarray(0, bytesRead);
      } catch (error) {
        return fail(name, error);
      } finally {
        await file.close();
      }
    },
    // The file may still grow: what comes later is no part of the log.
    chunks: () => fileChunks(name, path, size),
  };
}

/** It cannot be read twice. */
function streamInput(name: string, chunks: AsyncIterable<Uint8Array>): Input {
  const rest = chunks[Symbol.asyncIterator]();
  const begun: Uint8Array[] = [];
  return {
    name,
    size: undefined,
    async start(bytes) {
      let length = begun.reduce((sum, chunk) => sum + chunk.length, 0);
      while (length < bytes) {
        const { done, value } = await rest.next();
        if (done) break;
        begun.push(value);
        length += value.length;
      }
      return Buffer.concat(begun);
    },
    async *chunks() {
      try {
        yield* begun.splice(0);
        for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
      } finally {
        await rest.return?.();
      }
    },
  };
}

/** All chunks lie in one buffer: a file of any size takes no more memory. */
async function* fileChunks(name: string, path: string, size: number): AsyncGenerator<Uint8Array> {
  const file = await open(path).catch((error) => fail(name, error));
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  try {
    for (let left = size; left > 0; ) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, left)).catch((error) => fail(name, error));
      if (bytesRead === 0) return;
      left -= bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function* pipeChunks(name: string, path: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    fail(name, error);
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "no permission to read it",
  EPERM: "no permission to read it",
  EMFILE: "too many files are open: name fewer at once",
};

function fail(name: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) throw error;
  throw new LogError(`${name}: ${REASONS[code] ?? `it cannot be read (${code})`}.`);
}
