/** Where the lines of a log come from: files, and the standard input, also compressed by gzip. */

import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { createGunzip } from "node:zlib";
import { LogError } from "./format.ts";

const CHUNK_BYTES = 256 * 1024;
/** So many packed bytes are unpacked at a time: gzip makes at most 1,032 bytes of one, so 16 MiB lie in memory. */
const PIECE_BYTES = 16 * 1024;
/** Longer lines are skipped: no server writes them, and one line must not fill the memory. */
const LONGEST_LINE_BYTES = 1024 * 1024;
const [NUL, LINE_FEED, RETURN, GZIP] = [0, 10, 13, 0x1f];
/** Checksum and length at the end of a member. */
const TRAILER_BYTES = 8;

export interface Input {
  /** As the command line names it. */
  readonly name: string;
  /** NaN: not known, for example of a pipe. */
  readonly size: number;
  /** All bytes as they lie on the disk. It can be read twice, the first time only in part. */
  read(): AsyncIterable<Buffer>;
}

/** @param name of a file; `-` is the standard input. @throws {LogError} if it is not there, or is no file. */
export async function openInput(name: string, cwd: string, stdin: AsyncIterable<Uint8Array>): Promise<Input> {
  if (name === "-") return { name: "the standard input", size: Number.NaN, read: twice(stdin) };
  const path = resolve(cwd, name);
  const stats = await stat(path).catch((error) => fail(name, error));
  if (stats.isDirectory()) throw new LogError(`${name} is a folder: name the files in it.`);
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
  throw new LogError(`${name}: ${code === "ENOENT" ? "there is no such file" : `it cannot be read (${code})`}.`);
}

/**
 * The lines of a file, those of a chunk at once; null for a line that is too long. Bytes that are no UTF-8 become
 * U+FFFD. The NUL bytes that a crash or `copytruncate` leaves before a line are no part of it, and neither is the byte
 * order mark that some editors write.
 *
 * @param onRead gets the number of bytes, as they lie on the disk.
 * @param onDamage gets the reason why there are no more lines. Those before the damage have been given.
 */
export async function* linesOf(
  input: Input,
  onRead: (bytes: number) => void,
  onDamage: (reason: string) => void,
): AsyncGenerator<(string | null)[]> {
  /** The beginning of a line whose end has not come yet. */
  let rest: Buffer[] = [];
  let restBytes = 0;

  function lineTo(end: Buffer): string | null {
    const isTooLong = restBytes + end.length > LONGEST_LINE_BYTES;
    const bytes = restBytes === 0 ? end : Buffer.concat([...rest, end]);
    [rest, restBytes] = [[], 0];
    if (isTooLong) return null;
    const text = bytes.toString("utf8", 0, bytes.at(-1) === RETURN ? bytes.length - 1 : bytes.length);
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  for await (const chunk of unpacked(input.read(), onRead, onDamage)) {
    const lines: (string | null)[] = [];
    let start = 0;
    for (;;) {
      if (restBytes === 0) while (chunk[start] === NUL) start++;
      const end = chunk.indexOf(LINE_FEED, start);
      if (end < 0) break;
      lines.push(lineTo(chunk.subarray(start, end)));
      start = end + 1;
    }
    restBytes += chunk.length - start;
    // The bytes of a line that is too long are only counted.
    if (restBytes > LONGEST_LINE_BYTES) rest = [];
    else if (start < chunk.length) rest.push(Buffer.from(chunk.subarray(start)));
    yield lines;
  }
  if (restBytes > 0) yield [lineTo(Buffer.alloc(0))];
}

/** Unpacks gzip, one or several members in a row; other bytes stay as they are. */
async function* unpacked(
  chunks: AsyncIterable<Buffer>,
  onRead: (bytes: number) => void,
  onDamage: (reason: string) => void,
): AsyncGenerator<Buffer> {
  const unzip = createGunzip();
  const ready: Buffer[] = [];
  let failure: NodeJS.ErrnoException | undefined;
  let [isEnded, hasOther, written] = [false, false, 0];
  let last: Buffer = Buffer.alloc(0);
  let wake = () => {};
  /** Waits for what is begun, for the end, or for the first error. */
  const until = (begin: (done: () => void) => unknown) =>
    new Promise<void>((done) => {
      wake = done;
      begin(done);
    });
  // What has come out before the damage is kept: a stream that is read would forget it.
  unzip.on("data", (bytes: Buffer) => ready.push(bytes));
  unzip.on("end", () => {
    isEnded = true;
    wake();
  });
  unzip.on("error", (error) => {
    failure = error;
    wake();
  });

  async function* unzipped(bytes: Buffer): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length && !failure; at += PIECE_BYTES) {
      const piece = bytes.subarray(at, at + PIECE_BYTES);
      if (isEnded) {
        hasOther ||= piece.some((byte) => byte !== NUL);
        continue;
      }
      last = piece;
      written += piece.length;
      await until((done) => unzip.write(piece, done));
      yield* ready.splice(0);
    }
  }

  /** The last bytes go in alone: if the checksum is wrong, all that came before it has been taken out. */
  let held: Buffer = Buffer.alloc(0);
  let isPacked: boolean | undefined;
  try {
    for await (const chunk of chunks) {
      onRead(chunk.length);
      if (chunk.length > 0) isPacked ??= chunk[0] === GZIP;
      if (!isPacked) yield chunk;
      else {
        const bytes = Buffer.concat([held, chunk]);
        held = bytes.subarray(Math.max(0, bytes.length - TRAILER_BYTES));
        yield* unzipped(bytes.subarray(0, bytes.length - held.length));
      }
    }
    if (!isPacked) return;
    yield* unzipped(held);
    if (!failure && !isEnded) await until(() => unzip.end());
    yield* ready;
    // Zeros after the last member are padding; other bytes are damage.
    const unread = last.subarray(last.length - Math.min(last.length, written - unzip.bytesWritten));
    hasOther ||= unread.some((byte) => byte !== NUL);
    if (failure?.code === "Z_BUF_ERROR") onDamage("its gzip data end too early");
    else if (failure || hasOther) onDamage("its gzip data are damaged");
  } finally {
    unzip.destroy();
  }
}
