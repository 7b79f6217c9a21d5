/**
 * The sliding log: one entry for each request, with its instant and its cost. An entry counts while `now - at <
 * window`. Mirror: lua/sliding_log.lua.
 */

import { type Algorithm, isCount, limitStatus } from "./algorithm.ts";
import { sayDuration } from "./duration.ts";
import { Kind, MAX_COUNT, MAX_LOG_UNITS } from "./layout.ts";
import { type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { nameOfOne } from "./units.ts";

export interface LogLimit {
  readonly kind: typeof Kind.log;
  /** Units per window, 1 … 10,000. */
  readonly limit: number;
  readonly windowMs: number;
}

export interface LogRecord {
  readonly kind: typeof Kind.log;
  readonly windowMs: number;
  /** The sum of the costs in the log, in units. */
  readonly used: number;
  /** Milliseconds since the epoch. */
  readonly newestAtMs: number;
}

export interface LogEntry {
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /** Units, 1 or more. */
  readonly cost: number;
}

/** Entries, oldest first. Without its record the log counts for nothing. */
export type Log = readonly LogEntry[];

export interface LogState {
  readonly record: LogRecord;
  readonly entries: Log;
  /** Whether reading has dropped expired entries. */
  readonly dropped: boolean;
}

/** What the script replies about a log. Instants are in ms since the epoch; 0 means now. */
export interface LogView {
  readonly kind: typeof Kind.log;
  readonly used: number;
  /** When the refused cost will be admitted. */
  readonly retryAtMs: number;
  /** When more units are left than now. */
  readonly growsAtMs: number;
  /** When the log is empty. */
  readonly resetAtMs: number;
}

export const slidingLog: Algorithm<LogLimit, LogRecord, LogState, LogView, Log> = {
  read(record, entries = [], { kind, windowMs }, nowMs) {
    if (!record) return { record: { kind, windowMs, used: 0, newestAtMs: 0 }, entries: [], dropped: false };
    return dropExpired(record, entries, nowMs);
  },
  admits: ({ record }, { limit }, cost) => record.used + cost <= limit,
  /** If the clock has stepped back, the entry gets the newest instant, so that the list stays in order. */
  charge({ record, entries, ...state }, _limit, cost, { nowMs }) {
    const atMs = Math.max(nowMs, record.newestAtMs);
    const used = Math.min(MAX_COUNT, record.used + cost);
    return { ...state, record: { ...record, used, newestAtMs: atMs }, entries: [...entries, { atMs, cost }] };
  },
  /** Takes back from the entries of `atMs`, newest first. An entry that is left has a cost of at least 1. */
  giveBack(state, _limit, cost, { nowMs, atMs }) {
    let left = cost;
    let { used } = state.record;
    const entries = state.entries.toReversed().flatMap((entry): LogEntry[] => {
      const back = entry.atMs === atMs ? Math.min(left, entry.cost) : 0;
      if (back === 0) return [entry];
      left -= back;
      used = Math.max(0, used - back);
      return back === entry.cost ? [] : [{ ...entry, cost: entry.cost - back }];
    });
    const newestAtMs = entries.reduce((newest, entry) => Math.max(newest, entry.atMs), 0);
    const after = dropExpired({ ...state.record, used, newestAtMs }, entries.toReversed(), nowMs);
    return { ...after, dropped: state.dropped || after.dropped };
  },
  resetAfterMs: ({ record }, { windowMs }, nowMs) => (record.used === 0 ? 0 : record.newestAtMs + windowMs - nowMs),
  view({ record, entries }, { kind, limit, windowMs }, cost, refused) {
    const { used, newestAtMs } = record;
    const waitFor = refused && cost <= limit ? used + cost - limit : 0;
    const growBy = used > 0 ? Math.max(0, used - limit) + 1 : 0;
    // Each entry costs 1 or more, so these entries are enough.
    const oldest = entries.slice(0, Math.max(waitFor, growBy));
    return {
      kind,
      used,
      retryAtMs: leaveAtMs(record, oldest, waitFor),
      growsAtMs: leaveAtMs(record, oldest, growBy),
      resetAtMs: used > 0 ? newestAtMs + windowMs : 0,
    };
  },
  chargedAtMs: ({ resetAtMs }, { windowMs }) => resetAtMs - windowMs,
  bucketAt: (_limit, atMs) => atMs,

  encode: ({ windowMs }) => [windowMs, 0],
  viewLength: () => 4,
  decode([used = 0, retryAtMs = 0, growsAtMs = 0, resetAtMs = 0], { kind }) {
    return { kind, used, retryAtMs, growsAtMs, resetAtMs };
  },

  tell(view, limit, cost, refused, nowMs) {
    const { retryAtMs, growsAtMs, resetAtMs } = view;
    return limitStatus({
      remaining: slidingLog.remaining(view, limit, nowMs),
      retryAfterMs: !refused ? 0 : cost > limit.limit ? undefined : retryAtMs - nowMs,
      growsAfterMs: growsAtMs > 0 ? growsAtMs - nowMs : undefined,
      resetAfterMs: resetAtMs > 0 ? resetAtMs - nowMs : 0,
    });
  },

  remaining: ({ used }, { limit }) => Math.max(0, limit - used),
  /**
   * Without its entries, a log is known until the first unit that counts expires, and again when the log is empty. The
   * view tells when units expire for the requested cost, and for one unit more than remains.
   */
  recall(view, { limit }, nowMs, askedCost, cost) {
    if (view.used > 0 && nowMs >= view.resetAtMs) {
      return { view: { ...view, used: 0, retryAtMs: 0, growsAtMs: 0, resetAtMs: 0 }, refused: cost > limit };
    }
    if (view.used > 0 && nowMs >= view.growsAtMs) return undefined;
    if (view.used + cost <= limit) return { view, refused: false };
    if (cost > limit) return { view, refused: true };
    const isNextUnit = cost === Math.max(0, limit - view.used) + 1;
    const retryAtMs = cost === askedCost && view.retryAtMs > 0 ? view.retryAtMs : isNextUnit ? view.growsAtMs : 0;
    return nowMs < retryAtMs ? { view: { ...view, retryAtMs }, refused: true } : undefined;
  },
  hasFixedWait: false,

  quota: ({ limit, windowMs }) => ({ quota: limit, windowMs }),
  capacity: ({ limit, windowMs }) => ({ units: limit, windowMs }),
  units: { limit: MAX_LOG_UNITS },
  tooLarge: () => undefined,

  records: {
    of: ({ record }) => record,
    numbers: ["windowMs", "used", "newestAtMs"],
    endsAtMs: ({ newestAtMs, windowMs }) => newestAtMs + windowMs,
  },
  values: {
    kept({ record, entries }, { windowMs }, nowMs) {
      if (entries.length === 0) return undefined;
      return { value: entries, expiryMs: record.newestAtMs + windowMs - nowMs };
    },
    parse: parseLog,
    dropped: ({ dropped }) => dropped,
    list: { pack, unpack },
  },
};

function parseLog(json: unknown): Log | undefined {
  return Array.isArray(json) && json.every(isEntry) ? json : undefined;
}

/** Two integers an entry: the time since the entry before it, the first one's since the epoch, and the cost. */
function pack(entries: Log): readonly number[] {
  const packed: number[] = [];
  let lastAtMs = 0;
  for (const { atMs, cost } of entries) {
    packed.push(atMs - lastAtMs, cost);
    lastAtMs = atMs;
  }
  return packed;
}

function unpack(packed: unknown): Log | undefined {
  if (!Array.isArray(packed) || !packed.every(isCount)) return undefined;
  const entries: LogEntry[] = [];
  let atMs = 0;
  for (let i = 0; i < packed.length; i += 2) {
    atMs += packed[i]!;
    entries.push({ atMs, cost: packed[i + 1]! });
  }
  return parseLog(entries);
}

function isEntry(value: unknown): value is LogEntry {
  const { atMs, cost } = (value ?? {}) as Partial<LogEntry>;
  return isCount(atMs) && isCount(cost) && cost > 0;
}

function dropExpired(record: LogRecord, all: Log, nowMs: number): LogState {
  const live = all.findIndex(({ atMs }) => nowMs - atMs < record.windowMs);
  const expired = live < 0 ? all.length : live;
  const entries = all.slice(expired);
  const gone = all.slice(0, expired).reduce((sum, { cost }) => sum + cost, 0);
  const used = entries.length === 0 ? 0 : Math.max(0, record.used - gone);
  return { record: { ...record, used }, entries, dropped: expired > 0 };
}

/**
 * The instant at which `units` will have expired; 0 for no units. Units that a damaged log lacks expire when the log is
 * empty.
 */
function leaveAtMs({ newestAtMs, windowMs }: LogRecord, oldest: Log, units: number): number {
  if (units <= 0) return 0;
  let left = 0;
  for (const { atMs, cost } of oldest) {
    left += cost;
    if (left >= units) return atMs + windowMs;
  }
  return newestAtMs + windowMs;
}

/** Keeps the instant of every request: exact in any window. */
export interface SlidingLogInput extends WindowBase {
  /** Needs memory for each request: `limit` is at most 10,000. */
  readonly algorithm: "sliding-log";
}

const FIELDS = {
  limit: { is: "units", most: MAX_LOG_UNITS, expected: `an integer from 1 to ${MAX_LOG_UNITS} for a sliding-log` },
  ...WINDOW,
} as const;

export const namedSlidingLog: Named<LogLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.log,
  fields: FIELDS,
  limitOf: ({ limit, window }) => ({ kind: Kind.log, limit, windowMs: window }),
  valuesOf: ({ limit, windowMs }) => ({ limit, window: windowMs }),
  describe: ({ limit, windowMs, unit }) => perWindow(limit, windowMs, unit),
  promise: ({ windowMs, unit }) => `a ${nameOfOne(unit)} counts for exactly ${sayDuration(windowMs)}`,
};
