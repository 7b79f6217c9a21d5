/** Where the bytes of a log come from: files, and the standard input. */

import { createReadStream } from "node:fs";
import { open, readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { gunzip } from "./gunzip.ts";
import { LogError } from "./told.ts";

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

/** The bytes of an input, unpacked. @param onDamage gets the reason why the input has ended early. */
export async function* contents(
  raw: AsyncIterable<Uint8Array>,
  isPacked: boolean,
  onDamage: (reason: string) => void,
): AsyncGenerator<Buffer> {
  if (isPacked) return yield* gunzip(raw, onDamage);
  for await (const chunk of raw) yield bufferOf(chunk);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
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
    inputs.set(path, name === "-" ? new StreamInput("the standard input", stdin) : await fileInput(name, path));
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
  return stats.isFile() ? new FileInput(name, path, stats.size) : new StreamInput(name, pipeChunks(name, path));
}

class FileInput implements Input {
  readonly name: string;
  readonly size: number;
  readonly #path: string;

  constructor(name: string, path: string, size: number) {
    this.name = name;
    this.size = size;
    this.#path = path;
  }

  async start(bytes: number): Promise<Uint8Array> {
    const file = await open(this.#path).catch((error) => fail(this.name, error));
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(bytes, this.size)));
      return buffer.subarray(0, bytesRead);
    } catch (error) {
      return fail(this.name, error);
    } finally {
      await file.close();
    }
  }

  /** The file may still grow: what comes later is no part of the log. */
  chunks(): AsyncIterable<Uint8Array> {
    return fileChunks(this.name, this.#path, this.size);
  }
}

/** It cannot be read twice. */
class StreamInput implements Input {
  readonly name: string;
  readonly size = undefined;
  readonly #rest: AsyncIterator<Uint8Array>;
  readonly #start: Uint8Array[] = [];

  constructor(name: string, chunks: AsyncIterable<Uint8Array>) {
    this.name = name;
    this.#rest = chunks[Symbol.asyncIterator]();
  }

  async start(bytes: number): Promise<Uint8Array> {
    const length = () => this.#start.reduce((sum, chunk) => sum + chunk.length, 0);
    while (length() < bytes) {
      const { done, value } = await this.#rest.next();
      if (done) break;
      this.#start.push(value);
    }
    return Buffer.concat(this.#start);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    try {
      yield* this.#start.splice(0);
      for (let next = await this.#rest.next(); !next.done; next = await this.#rest.next()) yield next.value;
    } finally {
      await this.#rest.return?.();
    }
  }
}

/** A chunk is valid until the next one is asked for: two buffers are enough for a file of any size. */
async function* fileChunks(name: string, path: string, size: number): AsyncGenerator<Uint8Array> {
  const file = await open(path).catch((error) => fail(name, error));
  let [buffer, other] = [Buffer.allocUnsafe(CHUNK_BYTES), Buffer.allocUnsafe(CHUNK_BYTES)];
  let left = size;
  const read = (into: Buffer) => file.read(into, 0, Math.min(CHUNK_BYTES, left)).catch((error) => fail(name, error));
  let reading = read(buffer);
  try {
    while (left > 0) {
      const { bytesRead } = await reading;
      if (bytesRead === 0) return;
      left -= bytesRead;
      // The next bytes are read while the lines of these are.
      reading = read(other);
      yield buffer.subarray(0, bytesRead);
      [buffer, other] = [other, buffer];
    }
  } finally {
    await reading.catch(() => {});
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
