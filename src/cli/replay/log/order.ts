/** Order by time: servers write lines when requests end, and Logpush does not order them at all. */

import type { LogEntry } from "./format.ts";

/** Entries that are held back. An entry may stand half as many lines too late. About 50 MiB. */
const HELD_ENTRIES = 50_000;
/** The same, as long as no entry stood too late: entries that are held long cost the garbage collector time. */
const HELD_IN_ORDER = 5000;
const BATCH = 2500;

/**
 * The entries of one source, those of some thousands sorted among themselves: several sources are merged by their next
 * entries, and one wrong instant would hold up all that is behind it.
 */
export async function* roughlyOrdered(
  batches: AsyncIterable<readonly LogEntry[]>,
): AsyncGenerator<readonly LogEntry[]> {
  let held: LogEntry[] = [];
  for await (const entries of batches) {
    held = held.concat(entries);
    if (held.length < HELD_IN_ORDER) continue;
    held.sort(byInstant);
    yield held.slice(0, held.length >> 1);
    held = held.slice(held.length >> 1);
  }
  if (held.length > 0) yield held.sort(byInstant);
}

function byInstant(a: LogEntry, b: LogEntry): number {
  return a.atMs - b.atMs;
}

export class TimeOrder {
  /** Entries that came after later ones had been given. They get the instant of the last one given. */
  late = 0;
  readonly #maxHeld: number;
  readonly #maxInOrder: number;
  #held: LogEntry[] = [];
  #isSorted = true;
  #isOrderedLog = true;
  #lastMs = Number.NEGATIVE_INFINITY;
  #givenMs = Number.NEGATIVE_INFINITY;

  constructor(maxHeld = HELD_ENTRIES) {
    this.#maxHeld = maxHeld;
    this.#maxInOrder = Math.min(maxHeld, HELD_IN_ORDER);
  }

  /** @returns batches that are ready, in the order of time. */
  add(entries: readonly LogEntry[]): LogEntry[][] {
    const batches: LogEntry[][] = [];
    for (const entry of entries) {
      if (entry.atMs < this.#lastMs) this.#isSorted = this.#isOrderedLog = false;
      this.#lastMs = entry.atMs;
      if (this.#held.push(entry) < (this.#isOrderedLog ? this.#maxInOrder : this.#maxHeld)) continue;
      batches.push(...this.#give(this.#held.length >> 1));
    }
    return batches;
  }

  /** What is left. */
  end(): LogEntry[][] {
    return this.#give(this.#held.length);
  }

  /** Sorting half of the entries now and then is cheaper than a heap, and nothing for a log that is in order. */
  #give(count: number): LogEntry[][] {
    if (count === 0) return [];
    const held = this.#held;
    if (!this.#isSorted) held.sort(byInstant);
    for (let i = 0; i < held.length && held[i]!.atMs < this.#givenMs; i++) {
      held[i] = { ...held[i]!, atMs: this.#givenMs };
      this.late++;
    }
    this.#givenMs = held[count - 1]!.atMs;
    this.#held = held.slice(count);
    this.#isSorted = true;
    this.#lastMs = this.#held.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    const batches: LogEntry[][] = [];
    for (let start = 0; start < count; start += BATCH) batches.push(held.slice(start, Math.min(start + BATCH, count)));
    return batches;
  }
}
