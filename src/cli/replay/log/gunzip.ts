/** Unpacks gzip, one or several members in a row, and gives what was readable of a damaged one. */

import { createGunzip } from "node:zlib";

/** What has been unpacked since the last chunk is lost when the data turn out to be damaged. */
const CHUNK_BYTES = 64 * 1024;
/**
 * So many packed bytes are unpacked at a time, and the next ones when the reader has taken these. Gzip makes at most
 * 1,032 bytes of one: 16 MiB lie in memory, whatever the file is.
 */
const PIECE_BYTES = 16 * 1024;
/** Checksum and length at the end of a member. */
const TRAILER_BYTES = 8;

export function isGzip(start: Uint8Array): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

/**
 * Zeros after the last member are padding.
 *
 * @param onDamage gets the reason why there is no more. What was unpacked before the damage has been given.
 */
export async function* gunzip(
  chunks: AsyncIterable<Uint8Array>,
  onDamage: (reason: string) => void,
): AsyncGenerator<Buffer> {
  // Every chunk is taken out at once: a failing stream forgets what it still holds.
  const unzip = createGunzip({ chunkSize: CHUNK_BYTES });
  let ready: Buffer[] = [];
  let failure: NodeJS.ErrnoException | undefined;
  let isEnded = false;
  let hasOtherBytes = false;
  let writtenBytes = 0;
  let settle = () => {};
  unzip.on("data", (chunk: Buffer) => ready.push(chunk));
  unzip.on("error", (error) => {
    failure = error;
    settle();
  });
  unzip.on("end", () => {
    isEnded = true;
    settle();
  });
  /** A stream that fails, or that ends before its input does, never answers the writer. */
  const until = (begin: (settled: () => void) => void) =>
    new Promise<void>((resolve) => {
      settle = resolve;
      begin(resolve);
    });

  const write = async (chunk: Uint8Array) => {
    let unused = isEnded ? chunk.length : 0;
    if (!isEnded) {
      writtenBytes += chunk.length;
      await until((settled) => unzip.write(chunk, () => settled()));
      if (isEnded) unused = writtenBytes - unzip.bytesWritten;
    }
    hasOtherBytes ||= chunk.subarray(chunk.length - unused).some((byte) => byte !== 0);
  };

  let unpacked: Buffer[] = [];
  // The last bytes go in alone: if the checksum is wrong, all that came before it has been taken out.
  let held: Uint8Array = Buffer.alloc(0);
  try {
    for await (const chunk of chunks) {
      const bytes = Buffer.concat([held, chunk]);
      const end = Math.max(0, bytes.length - TRAILER_BYTES);
      held = bytes.subarray(end);
      for (let from = 0; from < end && !failure && !hasOtherBytes; from += PIECE_BYTES) {
        const written = write(bytes.subarray(from, Math.min(from + PIECE_BYTES, end)));
        // Unpacking has a thread of its own: lines are read at the same time.
        yield* unpacked;
        await written;
        unpacked = ready;
        ready = [];
      }
      if (failure || hasOtherBytes) break;
    }
    if (!failure) await write(held);
    if (!failure && !isEnded) await until(() => unzip.end());
    yield* unpacked;
    yield* ready;
    if (failure) onDamage(reasonOf(failure));
    else if (hasOtherBytes) onDamage(DAMAGED);
  } finally {
    unzip.destroy();
  }
}

export const ENDS_EARLY = "its gzip data end too early";
const DAMAGED = "its gzip data are damaged";

function reasonOf({ code }: NodeJS.ErrnoException): string {
  return code === "Z_BUF_ERROR" ? ENDS_EARLY : DAMAGED;
}
