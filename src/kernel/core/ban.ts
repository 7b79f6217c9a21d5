/**
 * A ban: whoever is refused too often is refused for some time. Its units are refusals. Requests only look at it, at a
 * cost of 0; refusals are charged afterwards, whatever the counts say. Mirror: lua/ban.lua.
 *
 * Refusals that are close to each other count as one entry, at the instant of the first of them: an entry begins at
 * least an eighth of `withinMs` after the one before it. Thus a record has at most 8 of them, and a ban begins at the
 * latest with as many refusals within seven eighths of the time.
 */

import { type Algorithm, limitStatus } from "./algorithm.ts";
import { sayDuration } from "./duration.ts";
import { Kind, MAX_COUNT, MAX_UNITS, MAX_WINDOW_MS } from "./layout.ts";

export interface BanLimit {
  readonly kind: typeof Kind.ban;
  /** So many refusals begin a ban, 1 … 10^9. */
  readonly limit: number;
  readonly withinMs: number;
  /** How long the first ban lasts, the second, and so on; each further one lasts as long as the last. */
  readonly forMs: readonly number[];
}

export interface BanRecord {
  readonly kind: typeof Kind.ban;
  /** What identifies the record: no number of the limit, so that a changed configuration keeps the bans. */
  readonly format: typeof FORMAT;
  /** When the last ban ends, or has ended, ms since the epoch. 0: there was none, or it is forgotten. */
  readonly endsAtMs: number;
  /** How many bans there were, as far as `forMs` tells them apart. */
  readonly bans: number;
  /** One less than the length of `counts`, as in the record of a window. */
  readonly buckets: number;
  /** For each entry its instant, ms since the epoch, and its refusals; then zeros. */
  readonly counts: readonly number[];
}

const FORMAT = 1;
const ENTRIES = 8;
const NUMBERS = 2 * ENTRIES;

type Entry = readonly [atMs: number, refusals: number];

export const ban: Algorithm<BanLimit, BanRecord, BanRecord, BanRecord> = {
  /** A ban that lasts longer than any can is damage, and so is an entry of the future. */
  read(record, _value, { withinMs, forMs }, nowMs) {
    if (!record) return recordOf(0, 0, []);
    const { endsAtMs, bans } = record;
    const isKnown = endsAtMs + Math.max(...forMs) > nowMs && endsAtMs - nowMs <= MAX_WINDOW_MS;
    const entries: Entry[] = [];
    for (const [atMs, refusals] of entriesOf(record)) {
      const isNew = atMs > nowMs - withinMs && atMs <= nowMs + withinMs;
      if (isNew) entries.push([atMs, Math.min(MAX_COUNT, refusals)]);
    }
    return isKnown ? recordOf(endsAtMs, bans, entries) : recordOf(0, 0, entries);
  },
  admits: ({ endsAtMs }, _limit, _cost, nowMs) => endsAtMs <= nowMs,
  /** What was refused before a ban began neither counts nor prolongs it. */
  charge(record, { limit, withinMs, forMs }, refusals, { nowMs }) {
    const { endsAtMs, bans } = record;
    if (endsAtMs > nowMs) return record;
    const entries = entriesOf(record);
    if (sumOf(entries) + refusals < limit) {
      const last = entries.at(-1);
      const isOwn = !last || (entries.length < ENTRIES && (nowMs - last[0]) * ENTRIES >= withinMs);
      if (isOwn) return recordOf(endsAtMs, bans, [...entries, [nowMs, refusals]]);
      return recordOf(endsAtMs, bans, [...entries.slice(0, -1), [last[0], last[1] + refusals]]);
    }
    const number = Math.min(bans + 1, forMs.length);
    return recordOf(nowMs + forMs[number - 1]!, number, []);
  },
  giveBack: (record) => record,
  resetAfterMs(record, { withinMs, forMs }, nowMs) {
    const { endsAtMs } = record;
    let lastMs = endsAtMs > 0 ? endsAtMs + Math.max(...forMs) : 0;
    for (const [atMs] of entriesOf(record)) lastMs = Math.max(lastMs, atMs + withinMs);
    return Math.max(0, lastMs - nowMs);
  },
  /** All refusals count as long as the last entry. */
  view(record) {
    const entries = entriesOf(record);
    const last = entries.at(-1);
    return recordOf(record.endsAtMs, record.bans, last ? [[last[0], sumOf(entries)]] : []);
  },
  chargedAtMs: () => 0,
  bucketAt: () => 0,

  encode({ withinMs, forMs = [] }) {
    return [FORMAT, NUMBERS, withinMs, forMs.length, ...forMs];
  },
  viewLength: () => 4,
  decode: ([endsAtMs = 0, bans = 0, atMs = 0, refusals = 0]) =>
    recordOf(endsAtMs, bans, refusals > 0 ? [[atMs, refusals]] : []),

  tell(view, limit, _cost, refused, nowMs) {
    const [last] = entriesOf(view);
    if (!refused) {
      const resetAfterMs = last ? last[0] + limit.withinMs - nowMs : 0;
      return limitStatus({ remaining: ban.remaining(view, limit, nowMs), retryAfterMs: 0, resetAfterMs });
    }
    const leftMs = view.endsAtMs - nowMs;
    return limitStatus({ remaining: 0, retryAfterMs: leftMs, growsAfterMs: leftMs, resetAfterMs: leftMs });
  },
  remaining: (view, { limit }, nowMs) => (view.endsAtMs > nowMs ? 0 : Math.max(0, limit - sumOf(entriesOf(view)))),
  recall(view, limit, nowMs) {
    return { view: ban.read(view, undefined, limit, nowMs), refused: view.endsAtMs > nowMs };
  },
  hasFixedWait: true,

  quota: ({ limit, withinMs }) => ({ quota: limit, windowMs: withinMs }),
  capacity: ({ limit, withinMs }) => ({ units: limit, windowMs: withinMs }),
  units: { limit: MAX_UNITS },
  tooLarge({ withinMs, forMs }) {
    const times = Array.isArray(forMs) && forMs.length > 0 ? [withinMs, ...forMs] : [0];
    const areRight = times.every((ms) => Number.isSafeInteger(ms) && ms >= 1 && ms <= MAX_WINDOW_MS);
    return areRight ? undefined : "a ban with times of 1 ms to 31 days";
  },

  records: {
    of: (record) => record,
    numbers: ["format", "endsAtMs", "bans", "buckets"],
    endsAtMs: ({ endsAtMs }) => endsAtMs,
  },
};

function recordOf(endsAtMs: number, bans: number, entries: readonly Entry[]): BanRecord {
  const counts: number[] = new Array(NUMBERS).fill(0);
  for (const [e, [atMs, refusals]] of entries.entries()) {
    counts[2 * e] = atMs;
    counts[2 * e + 1] = refusals;
  }
  return { kind: Kind.ban, format: FORMAT, endsAtMs, bans, buckets: NUMBERS - 1, counts };
}

function entriesOf({ counts }: BanRecord): Entry[] {
  const entries: Entry[] = [];
  for (let at = 0; at < NUMBERS; at += 2) if (counts[at + 1]! > 0) entries.push([counts[at]!, counts[at + 1]!]);
  return entries;
}

function sumOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, [, refusals]) => sum + refusals, 0);
}

function per({ limit, withinMs }: BanLimit): string {
  return `${limit === 1 ? "refusal" : "refusals"} within ${sayDuration(withinMs)}`;
}

/** What people read about it. */
export const banWords = {
  describe: (limit: BanLimit) => `${limit.limit} ${per(limit)}`,
  per,
};
