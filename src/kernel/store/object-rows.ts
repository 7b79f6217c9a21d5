/**
 * The rows of the Durable Object: docs/storage-schema.md. Nobody else writes them. What was read or written lately is
 * kept in memory too, as values: reading and parsing a row costs more than the whole decision.
 */

import { BoundedMap } from "../bounded-map.ts";
import { isCount } from "../core/algorithm.ts";
import { algorithmOf, type Value as KeyValue, type LimitValue, type ValueKind } from "../core/algorithms.ts";
import { INJECTED_CLOCK_EXPIRY_MS, MAX_EXACT } from "../core/layout.ts";
import type { Records } from "../core/records.ts";
import type { Log } from "../core/sliding-log.ts";
import type { Written } from "../core/take.ts";
import { arrangeLog, CHUNK_ENTRIES, type LogLayout, UNDIVIDED } from "./log-chunks.ts";
import { bytesOf } from "./memory.ts";
import { jsonIn, toText, valueIn, type Write } from "./value-text.ts";

/** Without rowids, and with one index: a new key is two written rows, a charge of a known key one (2026-11). */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counts (key TEXT PRIMARY KEY, text TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counts_by_expiry ON counts (expires_at)`;
/** In SQLite any text is above every number: an expiry that is damaged counts as one that has passed. */
const HAS_EXPIRY = `expires_at <= ${MAX_EXACT}`;
const READ = `SELECT text FROM counts WHERE key = ? AND expires_at > ? AND ${HAS_EXPIRY}`;
/** As long as the row lives long enough anyway, it is not moved in the index: every move is billed as a row. */
const CHANGE = `UPDATE counts SET text = ? WHERE key = ? AND expires_at >= ? AND ${HAS_EXPIRY}`;
const WRITE = `
  INSERT INTO counts (key, text, expires_at) VALUES (?, ?, ?)
  ON CONFLICT (key) DO UPDATE SET text = excluded.text, expires_at = excluded.expires_at`;
const DELETE = "DELETE FROM counts WHERE key = ?";
const DELETE_EXPIRED =
  "DELETE FROM counts WHERE key IN (SELECT key FROM counts WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)";
const NEXT_EXPIRY = `SELECT MIN(expires_at) AS at FROM counts WHERE ${HAS_EXPIRY}`;

/** A row may live this much longer than its counts, and at most twice as long: it is then seldom moved in the index. */
const MAX_SPARE_MS = 3_600_000;
/**
 * The size of the values in memory, of which there is at most twice as much: 20,000 ordinary keys. An isolate has 128
 * MiB, and other objects of the Worker may be in the same one (2026-11).
 */
const KNOWN_BYTES = 8 * 1_024 * 1_024;

type Value = Records | KeyValue;

interface Known {
  /** What the value is about. Undefined: they are records. */
  readonly kind: ValueKind | undefined;
  readonly value: Value;
  /** Undefined: the value lies in one row. */
  readonly layout: LogLayout | undefined;
}

/** What lies under the key of a log. */
interface StoredLog extends LogLayout {
  /** The entries that are in no chunk. In the row they are packed. */
  readonly newest: Log;
}

type Unpack = (packed: unknown) => LimitValue | undefined;

/** Instants are ms since the epoch by the object's clock. */
export class ObjectRows {
  readonly #storage: DurableObjectStorage;
  readonly #known = new BoundedMap<string, Known>({ maxSize: KNOWN_BYTES, weigh: ({ value }) => bytesOf(value) });

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
  }

  /**
   * Undefined: there is nothing under the key, or it has expired.
   *
   * @param kind what the value is about. Undefined: they are records.
   */
  read(key: string, kind: ValueKind | undefined, clockMs: number): Value | undefined {
    let known = this.#known.get(key);
    // What is known may have expired since it was written. A decision counts an expired value as no value.
    if (!known) {
      const { value, layout } = this.#find(key, kind, clockMs);
      if (!value || isEmpty(value)) return undefined;
      known = { kind, value, layout };
      this.#known.set(key, known);
    }
    // Records and values of limits have different keys, unless somebody calls the object by hand.
    return known.kind === kind ? known.value : undefined;
  }

  /**
   * Writes all changes or none.
   *
   * @param injectedMs the instant of the decision, if it is not the object's clock.
   * @returns the first instant at which a row expires whose expiry has changed; infinite if there is none.
   */
  write(changes: readonly Written[], clockMs: number, injectedMs?: number): number {
    const arranged = changes.map((change) => arrange(change, this.#known.get(change.key), injectedMs ?? clockMs));
    const rows = arranged.flatMap(({ rows }) => rows);
    const leastMs = injectedMs === undefined ? 1 : INJECTED_CLOCK_EXPIRY_MS;
    const writeAll = () => rows.map((row) => this.#writeRow(row, clockMs, leastMs));
    // If the second row cannot be written, for example because the storage is full, the first must not stay.
    const expireAtMs = rows.length > 1 ? this.#storage.transactionSync(writeAll) : writeAll();
    // Not before all rows are written. If they cannot be committed, the runtime throws the object and its memory away.
    for (const [i, { key, kind, value }] of changes.entries()) {
      if (value) this.#known.set(key, { kind, value, layout: arranged[i]!.layout });
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

  /** What the row says. Undefined: there is none, it has expired, or it is damaged. */
  #readRow(key: string, clockMs: number): unknown {
    return jsonIn(this.#storage.sql.exec<{ text: SqlStorageValue }>(READ, key, clockMs).toArray()[0]?.text);
  }

  #find(key: string, kind: ValueKind | undefined, clockMs: number): { value: Value | undefined; layout?: LogLayout } {
    const json = this.#readRow(key, clockMs);
    const unpack = listOf(kind)?.unpack;
    const stored = unpack && storedLogOf(json, unpack);
    return stored ? this.#readLog(key, stored, unpack, clockMs) : { value: valueIn(json, kind) };
  }

  /** A chunk that is damaged or gone takes the older ones with it: they leave the window first. */
  #readLog(key: string, { from, chunks, gone, newest }: StoredLog, unpack: Unpack, clockMs: number) {
    const found = [newest];
    for (let number = from + chunks - 1; number >= from; number--) {
      const chunk = unpack(this.#readRow(chunkKey(key, number), clockMs)) as Log | undefined;
      if (chunk?.length !== CHUNK_ENTRIES) break;
      found.push(chunk);
    }
    const isWhole = found.length === chunks + 1;
    const entries = found.reverse().flat();
    return isWhole ? { value: entries.slice(gone), layout: { from, chunks, gone } } : { value: entries };
  }

  /** @returns when the row expires, if that has changed; infinite if not. */
  #writeRow({ key, text, expiryMs }: Write, clockMs: number, leastMs: number): number {
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

/** How a long list of this kind is kept in parts. Undefined: it never is. */
function listOf(kind: ValueKind | undefined) {
  return kind && kind !== "once" ? algorithmOf({ kind }).values?.list : undefined;
}

/** The rows that a change writes, and how they are arranged if the value is a log. */
function arrange(
  { key, kind, value, expiryMs }: Written,
  known: Known | undefined,
  nowMs: number,
): { readonly rows: readonly Write[]; readonly layout?: LogLayout } {
  const pack = listOf(kind)?.pack;
  if (!value || !pack) return { rows: [{ key, text: value && toText(value), expiryMs }] };
  const log = value as Log;
  // Only a charge divides: its log means something for a whole window.
  const mayDivide = log.at(-1)!.atMs >= nowMs;
  const before = (known?.value ?? []) as Log;
  const { layout, written, newest } = arrangeLog(before, known?.layout ?? UNDIVIDED, log, mayDivide);
  const chunks = written.map(({ number, entries }): Write => {
    // The log names the chunk for less than a window, and what the log says then holds for a window.
    return { key: chunkKey(key, number), text: JSON.stringify(pack(entries)), expiryMs: 2 * expiryMs };
  });
  const text = JSON.stringify({ ...layout, newest: pack(newest) });
  return { rows: [...chunks, { key, text, expiryMs }], layout };
}

function isEmpty(value: Value): boolean {
  return (value instanceof Map ? value.size : (value as Log | Records).length) === 0;
}

/** Undefined: the text says no divided log. */
function storedLogOf(json: unknown, unpack: Unpack): StoredLog | undefined {
  const { from, chunks, gone, newest } = (json ?? {}) as Partial<StoredLog>;
  if (!isCount(from) || !isCount(chunks) || !isCount(gone) || gone >= CHUNK_ENTRIES) return undefined;
  const entries = unpack(newest) as Log | undefined;
  return entries && isCount(from + chunks) ? { from, chunks, gone, newest: entries } : undefined;
}

const chunkKey = (key: string, number: number) => `${key}/${number}`;
