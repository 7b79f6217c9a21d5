/**
 * The rows of the Durable Object: docs/storage-schema.md. Nobody else writes them. What was read or written lately is
 * kept in memory too, as values: reading and parsing a row costs more than the whole decision.
 */

import { BoundedMap } from "../bounded-map.ts";
import type { LimitValue } from "../core/algorithms.ts";
import { INJECTED_CLOCK_EXPIRY_MS } from "../core/layout.ts";
import type { Records } from "../core/records.ts";
import type { Log } from "../core/sliding-log.ts";
import { arrangeLog, type LogLayout, packEntries, UNDIVIDED, unpackEntries } from "./log-chunks.ts";
import { bytesOf } from "./memory.ts";
import { fromText, toText } from "./value-text.ts";

/** Without rowids, and with one index: a new key is two written rows, a charge of a known key one (2026-11). */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counts_by_expiry ON counts (expires_at)`;
const READ = "SELECT text FROM counts WHERE key = ? AND expires_at > ?";
/** As long as the row lives long enough anyway, its place in the index stays: every move is billed as a row. */
const CHANGE = "UPDATE counts SET text = ? WHERE key = ? AND expires_at >= ?";
const WRITE = `
  INSERT INTO counts (key, text, expires_at) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at`;
const DELETE = "DELETE FROM counts WHERE key = ?";
const DELETE_EXPIRED =
  "DELETE FROM counts WHERE key IN (SELECT key FROM counts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";
const NEXT_EXPIRY = "SELECT MIN(expires_at) AS at FROM counts";

/**
 * A row may live this much longer than its counts, and at most twice as long: its place in the index then seldom moves.
 */
const MAX_SPARE_MS = 3_600_000;
/**
 * The size of the values in memory, of which there is at most twice as much: 20,000 ordinary keys. An isolate has 128
 * MiB, and other objects of the Worker may be in the same one (2026-11).
 */
const KNOWN_BYTES = 8 * 1_024 * 1_024;

type Value = Records | LimitValue;

interface Known {
  readonly value: Value;
  readonly layout: LogLayout;
}

/** What a decision leaves under one key. */
export interface Change {
  readonly key: string;
  /** undefined: the key is deleted. */
  readonly value: Value | undefined;
  /** The value means nothing any more after this many milliseconds. */
  readonly expiryMs: number;
}

interface Row {
  readonly key: string;
  /** undefined: the row is deleted. */
  readonly text: string | undefined;
  readonly expiryMs: number;
}

interface Arranged {
  readonly rows: readonly Row[];
  readonly layout: LogLayout;
}

/** What lies under the key of a log. */
interface StoredLog extends LogLayout {
  /** The entries that are in no chunk, packed. */
  readonly newest: readonly number[];
}

/** Instants are ms since the epoch by the object's clock. */
export class ObjectRows {
  readonly #storage: DurableObjectStorage;
  readonly #known = new BoundedMap<string, Known>({ maxSize: KNOWN_BYTES, weigh: ({ value }) => bytesOf(value) });

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
  }

  /** The value under a key; undefined if there is none or it has expired. */
  read(key: string, clockMs: number): Value | undefined {
    const known = this.#known.get(key);
    // The value may have expired since it was written. A decision counts an expired value as no value.
    if (known) return known.value;
    const text = this.#readRow(key, clockMs);
    if (text === undefined) return undefined;
    const found = this.#valueOf(key, text, clockMs);
    this.#known.set(key, found);
    return found.value;
  }

  /**
   * Writes all changes or none.
   *
   * @param injectedMs the instant of the decision if it was not the object's clock that told it.
   * @returns the first instant at which a row expires whose expiry has changed; infinite if there is none.
   */
  write(changes: readonly Change[], clockMs: number, injectedMs?: number): number {
    const arranged = changes.map((change) => arrange(change, this.#known.get(change.key), injectedMs ?? clockMs));
    const rows = arranged.flatMap(({ rows }) => rows);
    const leastMs = injectedMs === undefined ? 1 : INJECTED_CLOCK_EXPIRY_MS;
    const writeAll = () => rows.map((row) => this.#writeRow(row, clockMs, leastMs));
    // If the second row cannot be written, for example because the storage is full, the first must not stay.
    const expireAtMs = rows.length > 1 ? this.#storage.transactionSync(writeAll) : writeAll();
    // Not before all rows are written. If they cannot be committed, the runtime throws the object and its memory away.
    for (const [i, { key, value }] of changes.entries()) {
      if (value) this.#known.set(key, { value, layout: arranged[i]!.layout });
      else this.#known.delete(key);
    }
    return Math.min(...expireAtMs);
  }

  /** Removes up to `most` expired rows. @returns when the next row expires; null if there is none. */
  deleteExpired(clockMs: number, most: number): number | null {
    const { sql } = this.#storage;
    sql.exec(DELETE_EXPIRED, clockMs, most);
    return sql.exec<{ at: number | null }>(NEXT_EXPIRY).one().at;
  }

  #readRow(key: string, clockMs: number): string | undefined {
    return this.#storage.sql.exec<{ text: string }>(READ, key, clockMs).toArray()[0]?.text;
  }

  #valueOf(key: string, text: string, clockMs: number): { readonly value: Value; readonly layout: LogLayout } {
    const value = fromText(text) as Value | StoredLog;
    if (!("newest" in value)) return { value, layout: UNDIVIDED };
    const { newest, ...layout } = value;
    const older = chunkKeys(key, layout).map((one) => this.#readRow(one, clockMs));
    const entries = older.flatMap((one) => (one === undefined ? [] : unpackEntries(JSON.parse(one))));
    return {
      value: [...entries.slice(layout.gone), ...unpackEntries(newest)],
      layout: older.includes(undefined) ? UNDIVIDED : layout,
    };
  }

  /** @returns when the row expires, if that has changed; infinite if not. */
  #writeRow({ key, text, expiryMs }: Row, clockMs: number, leastMs: number): number {
    const { sql } = this.#storage;
    const neededMs = Math.max(expiryMs, leastMs);
    if (text === undefined) {
      sql.exec(DELETE, key);
    } else if (!this.#known.get(key) || sql.exec(CHANGE, text, key, clockMs + neededMs).rowsWritten === 0) {
      const expiresAtMs = clockMs + neededMs + Math.min(neededMs, MAX_SPARE_MS);
      sql.exec(WRITE, key, text, expiresAtMs);
      return expiresAtMs;
    }
    return Number.POSITIVE_INFINITY;
  }
}

/** The rows that a change writes, and how they are arranged if the value is a log. */
function arrange({ key, value, expiryMs }: Change, known: Known | undefined, nowMs: number): Arranged {
  if (!value || !isLog(value)) return { rows: [{ key, text: value && toText(value), expiryMs }], layout: UNDIVIDED };
  // Only a charge divides: its log means something for a whole window.
  const mayDivide = value.at(-1)!.atMs >= nowMs;
  const before = (known?.value ?? []) as Log;
  const { layout, written, newest } = arrangeLog(before, known?.layout ?? UNDIVIDED, value, mayDivide);
  const chunks = written.map(({ number, entries }): Row => {
    // The log names the chunk for less than a window, and what the log says then holds for a window.
    return { key: chunkKey(key, number), text: JSON.stringify(packEntries(entries)), expiryMs: 2 * expiryMs };
  });
  const stored: StoredLog = { ...layout, newest: packEntries(newest) };
  return { rows: [...chunks, { key, text: JSON.stringify(stored), expiryMs }], layout };
}

function isLog(value: Value): value is Log {
  return Array.isArray(value) && value.length > 0 && "cost" in value[0];
}

const chunkKey = (key: string, number: number) => `${key}/${number}`;

const chunkKeys = (key: string, { from, chunks }: LogLayout) =>
  Array.from({ length: chunks }, (_, i) => chunkKey(key, from + i));
