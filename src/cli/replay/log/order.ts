/** Several files as one log, in the order of time: servers write lines when requests end, and Logpush has no order. */

import type { LogEntry } from "./format.ts";

/** Entries that are held back, about 50 MiB. An entry may stand half as many lines too late. */
const HELD = 50_000;

export interface LogSource {
  /** About the instant of its first entry. */
  readonly firstMs: number;
  /** Its entries in the order of the lines, some at a time. */
  batches(): AsyncIterable<readonly LogEntry[]>;
}

/** Of recorded lines of one instant the refused come last: they stay refused after others that were admitted then. */
const inTime = (a: LogEntry, b: LogEntry) => a.atMs - b.atMs || Number(isRefused(a)) - Number(isRefused(b));
const isRefused = ({ recorded }: LogEntry) => recorded?.allowed === false;

/**
 * The next entries always come from the source that was read least far. One is opened when the others have reached its
 * beginning: a thousand files that follow each other are never open together. An entry that comes after later ones were
 * given gets the instant of the last one given.
 *
 * @param onLate is called for each such entry.
 */
export async function* inOrder(sources: readonly LogSource[], onLate: () => void): AsyncGenerator<LogEntry[]> {
  const waiting = [...sources].sort((a, b) => b.firstMs - a.firstMs);
  const open: { readonly batches: AsyncIterator<readonly LogEntry[]>; reachedMs: number }[] = [];
  let held: LogEntry[] = [];
  let givenMs = Number.NEGATIVE_INFINITY;

  function give(most: number, untilMs: number): LogEntry[] {
    held.sort(inTime);
    let count = held.findLastIndex(({ atMs }) => atMs <= untilMs) + 1;
    count = Math.min(most, count);
    // Those of one instant stay together.
    while (count > 0 && held[count]?.atMs === held[count - 1]!.atMs) count++;
    const given = held.slice(0, count);
    held = held.slice(count);
    for (let i = 0; i < count && given[i]!.atMs < givenMs; i++) {
      given[i] = { ...given[i]!, atMs: givenMs };
      onLate();
    }
    givenMs = given.at(-1)?.atMs ?? givenMs;
    return given;
  }

  for (;;) {
    const nextMs = waiting.at(-1)?.firstMs ?? Number.POSITIVE_INFINITY;
    let behind = open.toSorted((a, b) => a.reachedMs - b.reachedMs)[0];
    if (waiting.length > 0 && !(behind && behind.reachedMs < nextMs)) {
      behind = { batches: waiting.pop()!.batches()[Symbol.asyncIterator](), reachedMs: nextMs };
      open.push(behind);
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
    held = held.concat(value);
    if (held.length < HELD) continue;
    yield give(held.length >> 1, Math.min(nextMs, ...open.map(({ reachedMs }) => reachedMs)));
  }
  yield give(held.length, Number.POSITIVE_INFINITY);
}
