/**
 * How a long log lies in rows: its newest entries under its own key, the others in chunks that are written once. A
 * charge writes a few kilobytes then, and not the whole log, which may have 10,000 entries. Pure.
 */

import type { Log } from "../core/sliding-log.ts";

/**
 * Entries of a chunk. For this many charges a chunk costs two written rows: one when it is made, one when it is
 * removed.
 */
export const CHUNK_ENTRIES = 100;

/** Where the entries of a log are. */
export interface LogLayout {
  /** The number of the oldest chunk. */
  readonly from: number;
  /** How many chunks there are. */
  readonly chunks: number;
  /** How many entries of the oldest chunk have left the log; below `CHUNK_ENTRIES`. */
  readonly gone: number;
}

export const UNDIVIDED: LogLayout = { from: 0, chunks: 0, gone: 0 };

interface Chunk {
  readonly number: number;
  readonly entries: Log;
}

/**
 * Where the entries of a changed log go. Entries that both logs have are the same objects.
 *
 * @param mayDivide whether entries may be moved into new chunks.
 * @returns the layout, the chunks that must be written, and the entries that are under the log's own key.
 */
export function arrangeLog(
  before: Log,
  layout: LogLayout,
  after: Log,
  mayDivide: boolean,
): { readonly layout: LogLayout; readonly written: readonly Chunk[]; readonly newest: Log } {
  let { from, chunks, gone } = keptLayout(before, layout, after);
  const written: Chunk[] = [];
  let newest = after.slice(chunks * CHUNK_ENTRIES - gone);
  // The newest entries stay together: they are the ones that a give-back changes.
  while (mayDivide && newest.length >= 2 * CHUNK_ENTRIES) {
    written.push({ number: from + chunks, entries: newest.slice(0, CHUNK_ENTRIES) });
    newest = newest.slice(CHUNK_ENTRIES);
    chunks++;
  }
  return { layout: { from, chunks, gone }, written, newest };
}

/** The chunks that stay as they are: without those that have left the log, and up to the first changed entry. */
function keptLayout(before: Log, { from, chunks, gone }: LogLayout, after: Log): LogLayout {
  if (chunks === 0) return UNDIVIDED;
  const dropped = before.indexOf(after[0]!);
  if (dropped < 0) return UNDIVIDED;
  let same = 1;
  while (same < after.length && before[dropped + same] === after[same]) same++;
  const passed = Math.floor((gone + dropped) / CHUNK_ENTRIES);
  const goneNow = gone + dropped - passed * CHUNK_ENTRIES;
  const left = Math.min(chunks - passed, Math.floor((goneNow + same) / CHUNK_ENTRIES));
  return left > 0 ? { from: from + passed, chunks: left, gone: goneNow } : UNDIVIDED;
}
