/** Several files as one log. */

import type { LogEntry } from "./format.ts";

export interface LogSource {
  /** About the instant of its first entry. */
  readonly firstMs: number;
  batches(): AsyncIterable<readonly LogEntry[]>;
}

const BATCH = 1000;

/**
 * The entries of all sources, always the earliest of their next entries. A source is opened when the others have
 * reached its beginning: a thousand files that follow each other are never open together.
 */
export async function* merged(sources: readonly LogSource[]): AsyncGenerator<readonly LogEntry[]> {
  const waiting = [...sources].sort((a, b) => b.firstMs - a.firstMs);
  const open: Cursor[] = [];
  let batch: LogEntry[] = [];
  try {
    for (;;) {
      let earliest = earliestOf(open);
      while (waiting.length > 0 && !(earliest && earliest.nextMs < waiting.at(-1)!.firstMs)) {
        const cursor = new Cursor(waiting.pop()!);
        open.push(cursor);
        if (!(await cursor.fill())) open.pop();
        earliest = earliestOf(open);
      }
      if (!earliest) break;
      const othersMs = earliestOf(open, earliest)?.nextMs ?? Number.POSITIVE_INFINITY;
      earliest.moveTo(batch, Math.min(othersMs, waiting.at(-1)?.firstMs ?? Number.POSITIVE_INFINITY));
      if (earliest.isEmpty && !(await earliest.fill())) open.splice(open.indexOf(earliest), 1);
      if (batch.length >= BATCH) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
  } finally {
    for (const cursor of open) await cursor.close();
  }
}

/** Few are open at a time: files of one log follow each other, and servers are few. */
function earliestOf(cursors: readonly Cursor[], except?: Cursor): Cursor | undefined {
  let earliest: Cursor | undefined;
  for (const cursor of cursors) {
    if (cursor !== except && !(earliest && earliest.nextMs <= cursor.nextMs)) earliest = cursor;
  }
  return earliest;
}

class Cursor {
  /** The instant of the next entry. */
  nextMs = Number.NaN;
  readonly #batches: AsyncIterator<readonly LogEntry[]>;
  #entries: readonly LogEntry[] = [];
  #next = 0;

  constructor(source: LogSource) {
    this.#batches = source.batches()[Symbol.asyncIterator]();
  }

  get isEmpty(): boolean {
    return this.#next >= this.#entries.length;
  }

  /** Gets the next entries. False: there are none. */
  async fill(): Promise<boolean> {
    do {
      const { done, value } = await this.#batches.next();
      if (done) return false;
      this.#entries = value;
      this.#next = 0;
    } while (this.isEmpty);
    this.nextMs = this.#entries[0]!.atMs;
    return true;
  }

  /** At least one entry, and those after it that are not later than the instant. */
  moveTo(batch: LogEntry[], untilMs: number): void {
    const entries = this.#entries;
    let next = this.#next;
    do batch.push(entries[next++]!);
    while (next < entries.length && entries[next]!.atMs <= untilMs);
    this.#next = next;
    if (next < entries.length) this.nextMs = entries[next]!.atMs;
  }

  async close(): Promise<void> {
    await this.#batches.return?.();
  }
}
