/** Where the lines of a log come from: files, and the standard input, also compressed by gzip. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { createGunzip } from "node:zlib";
import { Failure, Misuse } from "../../io.ts";

const CHUNK_BYTES = 256 * 1024;
/** So many packed bytes are unpacked at a time: gzip makes at most 1,032 bytes of one, so 16 MiB lie in memory. */
const PIECE_BYTES = 16 * 1024;
/** Longer lines are skipped: no server writes them, and one line must not fill the memory. In characters. */
const LONGEST_LINE = 1_000_000;
/** A byte order mark before a line, and a carriage return behind it. */
const AROUND_LINE = /^\uFEFF|\r$/g;
const GZIP = 0x1f;

export interface LogInput {
  /** As the command line names it. */
  readonly name: string;
  /** NaN: not known, for example of a pipe. */
  readonly size: number;
  /** All bytes as they lie on the disk. It can be read twice, the first time only in part. */
  read(): AsyncIterable<Buffer>;
  /** Why it had no more lines when it was read. Undefined: it was whole, or not read to its end. */
  damage?: string;
}

/** @param name of a file; `-` is the standard input. @throws {Misuse} if it is not there, or is a folder. */
export async function openInput(name: string, cwd: string, stdin: AsyncIterable<Uint8Array>): Promise<LogInput> {
  if (name === "-") return { name: "the standard input", size: Number.NaN, read: twice(stdin) };
  const path = resolve(cwd, name);
  const stats = await stat(path).catch((error) => fail(name, error));
  if (stats.isDirectory()) throw new Misuse(`${name} is a folder: name the files in it.`);
  const read = () => fileChunks(name, path);
  return stats.isFile() ? { name, size: stats.size, read } : { name, size: Number.NaN, read: twice(read()) };
}

async function* fileChunks(name: string, path: string): AsyncGenerator<Buffer> {
  try {
    yield* createReadStream(path, { highWaterMark: CHUNK_BYTES });
  } catch (error) {
    fail(name, error as NodeJS.ErrnoException);
  }
}

/** A stream cannot be read twice: the second time what was read the first time is given again. */
function twice(chunks: AsyncIterable<Uint8Array>): () => AsyncIterable<Buffer> {
  const rest = chunks[Symbol.asyncIterator]();
  const begun: Buffer[] = [];
  let reads = 0;
  return async function* () {
    const isFirst = ++reads === 1;
    yield* begun.splice(0);
    for (let next = await rest.next(); !next.done; next = await rest.next()) {
      const chunk = Buffer.from(next.value);
      if (isFirst) begun.push(chunk);
      yield chunk;
    }
  };
}

function fail(name: string, { code }: NodeJS.ErrnoException): never {
  if (code === "ENOENT" || code === "ENOTDIR") throw new Misuse(`${name}: there is no such file.`);
  throw new Failure(`${name}: it cannot be read (${code}).`);
}

/**
 * The lines of a file, those of a chunk at once; null for a line that is too long. Bytes that are no UTF-8 become
 * U+FFFD. The byte order mark that some editors write before a line is no part of it.
 *
 * @param onRead gets the number of bytes, as they lie on the disk.
 */
export async function* linesOf(input: LogInput, onRead: (bytes: number) => void): AsyncGenerator<(string | null)[]> {
  const decoder = new TextDecoder();
  const lineOf = (text: string) => (text.length > LONGEST_LINE ? null : text.replace(AROUND_LINE, ""));
  /** The beginning of a line whose end has not come yet. */
  let rest = "";
  for await (const chunk of unpacked(input, onRead)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    // Of a line that is too long no more is kept than shows that it is.
    rest = lines.pop()!.slice(0, LONGEST_LINE + 1);
    yield lines.map(lineOf);
  }
  rest += decoder.decode();
  if (rest !== "") yield [lineOf(rest)];
}

/**
 * Unpacks gzip, one or several members in a row, perhaps with zeros behind them; other bytes stay as they are. Of
 * damaged data it gives what was unpacked before the damage was found: all but at most the last 16 KiB before it.
 */
async function* unpacked(input: LogInput, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  const unzip = createGunzip();
  // A stream that is read would forget at an error what has not been read yet.
  const ready: Buffer[] = [];
  let end: { readonly code?: string | undefined } | undefined;
  let wake = () => {};
  function ended(error: NodeJS.ErrnoException | undefined): void {
    end ??= error ?? {};
    wake();
  }
  unzip.on("data", (bytes: Buffer) => ready.push(bytes));
  unzip.on("end", () => ended(undefined));
  unzip.on("error", ended);

  let isPacked: boolean | undefined;
  try {
    for await (const chunk of input.read()) {
      onRead(chunk.length);
      if (chunk.length > 0) isPacked ??= chunk[0] === GZIP;
      if (!isPacked) yield chunk;
      for (let at = 0; isPacked && !end && at < chunk.length; at += PIECE_BYTES) {
        await new Promise<void>((done) => {
          wake = done;
          unzip.write(chunk.subarray(at, at + PIECE_BYTES), () => done());
        });
        yield* ready.splice(0);
      }
    }
    if (!isPacked) return;
    if (!end) {
      await new Promise<void>((done) => {
        wake = done;
        unzip.end();
      });
    }
    yield* ready;
    if (end?.code === "Z_BUF_ERROR") input.damage = "its gzip data end too early";
    else if (end?.code) input.damage = "its gzip data are damaged";
  } finally {
    unzip.destroy();
  }
}
