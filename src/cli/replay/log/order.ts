/** Several files as one log, in the order of time: servers write lines when requests end, and Logpush has no order. */

import type { LogEntry } from "./format.ts";

/** Entries that are held back. An entry may stand half as many lines too late. About 50 MiB. */
const HELD = 50_000;
const BATCH = 1_000;

export interface LogSource {
  /** About the instant of its first entry. */
  readonly firstMs: number;
  /** Its entries in the order of the lines, some at a time. */
  batches(): AsyncIterable<readonly LogEntry[]>;
}

interface OpenSource {
  readonly batches: AsyncIterator<readonly LogEntry[]>;
  /** About how far it was read. */
  reachedMs: number;
}

/**
 * The next entries always come from the source that was read least far. One is opened when the others have reached its
 * beginning: a thousand files that follow each other are never open together. An entry that comes after later ones were
 * given gets the instant of the last one given.
 *
 * @param onLate is called for each such entry.
 */
export async function* inOrder(sources: readonly LogSource[], onLate: () => void): AsyncGenerator<LogEntry[]> {
  const waiting = [...sources].sort((a, b) => b.firstMs - a.firstMs);
  const open: OpenSource[] = [];
  let held: LogEntry[] = [];
  let givenMs = Number.NEGATIVE_INFINITY;

  function* give(most: number): Generator<LogEntry[]> {
    held.sort(inTime);
    const untilMs = Math.min(...open.map(({ reachedMs }) => reachedMs), waiting.at(-1)?.firstMs ?? Infinity);
    const beyond = open.length > 0 ? held.findIndex(({ atMs }) => atMs > untilMs) : -1;
    let count = beyond < 0 ? most : Math.min(most, beyond);
    // Those of one instant stay together.
    while (count > 0 && held[count]?.atMs === held[count - 1]!.atMs) count++;
    for (let i = 0; i < count && held[i]!.atMs < givenMs; i++) {
      held[i] = { ...held[i]!, atMs: givenMs };
      onLate();
    }
    givenMs = held[count - 1]?.atMs ?? givenMs;
    for (let i = 0; i < count; i += BATCH) yield held.slice(i, Math.min(i + BATCH, count));
    held = held.slice(count);
  }

  try {
    for (;;) {
      let behind = open.reduce<OpenSource | undefined>(
        (least, one) => (least && least.reachedMs <= one.reachedMs ? least : one),
        undefined,
      );
      const next = waiting.at(-1);
      if (next && !(behind && behind.reachedMs < next.firstMs)) {
        behind = { batches: next.batches()[Symbol.asyncIterator](), reachedMs: next.firstMs };
        open.push(behind);
        waiting.pop();
      }
      if (!behind) break;
      const { done, value } = await behind.batches.next();
      if (done) {
        open.splice(open.indexOf(behind), 1);
        continue;
      }
      // The middle one: a single wrong instant says nothing about the others.
      const instants = value.map(({ atMs }) => atMs).sort((a, b) => a - b);
      behind.reachedMs = instants[instants.length >> 1] ?? behind.reachedMs;
      for (const entry of value) held.push(entry);
      if (held.length >= HELD) yield* give(held.length >> 1);
    }
    yield* give(held.length);
  } finally {
    for (const { batches } of open) await batches.return?.();
  }
}

/**
 * Of recorded lines of one instant the refused come last. Their true order is not known: a request that was refused
 * stays refused after others that were admitted in that instant.
 */
function inTime(a: LogEntry, b: LogEntry): number {
  return a.atMs - b.atMs || Number(a.recorded?.allowed === false) - Number(b.recorded?.allowed === false);
}
