/** What a replay keeps under the keys of a store. Unlike the memory store, it never forgets an active count. */

import { algorithmOf, type LimitRecord, type Value } from "../../../core/algorithms.ts";
import type { Records } from "../../../core/records.ts";
import { type Stored, type TakeReply, type TakeRequest, take } from "../../../core/take.ts";

/** Sweeping goes through all that is kept: it is worth its time once this much has come. */
const LEAST_SWEPT = 10_000;

/** The same for the ids of one client. */
const LEAST_ENDED = 100;

/** What is kept for clients, by their numbers, until it expires. */
export class Expiring<T> {
  readonly #kept = new Map<number, T>();
  readonly #expiresAtMs: (kept: T) => number;
  #sweepAt = LEAST_SWEPT;

  constructor(expiresAtMs: (kept: T) => number) {
    this.#expiresAtMs = expiresAtMs;
  }

  get size(): number {
    return this.#kept.size;
  }

  get(client: number): T | undefined {
    return this.#kept.get(client);
  }

  set(client: number, kept: T): void {
    this.#kept.set(client, kept);
  }

  /** Forgets what has expired, if there may be much of it. @param onExpired gets what is forgotten. */
  sweep(nowMs: number, onExpired?: (kept: T) => void): void {
    if (this.#kept.size < this.#sweepAt) return;
    for (const [client, kept] of this.#kept) {
      if (this.#expiresAtMs(kept) > nowMs) continue;
      this.#kept.delete(client);
      onExpired?.(kept);
    }
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * this.#kept.size);
  }
}

/**
 * The counts of all clients under the limits of one policy and scope, and in one region. The records are rows of one
 * table of numbers: an object for each client would take several times the memory, and the time to collect what each
 * request replaces.
 */
export class Counts {
  /** When a row is as new, and the numbers of the client's records; one row after the other. */
  #table = new Float64Array(0);
  /** The numbers of a row. */
  #width = 0;
  /** Where the row of a client begins. */
  readonly #rows = new Expiring<number>((row) => this.#table[row]!);
  /** Rows of clients that are forgotten. */
  readonly #free: number[] = [];
  /** A record of each limit, as the first client had it. */
  #shapes: Records = [];
  /** By the part of a key that names the limit or the id. */
  readonly #values = new Expiring<{ readonly byLimit: Map<string, Value>; expiresAtMs: number; sweepAt: number }>(
    ({ expiresAtMs }) => expiresAtMs,
  );

  has(client: number): boolean {
    return this.#rows.get(client) !== undefined || this.#values.get(client) !== undefined;
  }

  records(client: number): Records | undefined {
    const row = this.#rows.get(client);
    if (row === undefined) return undefined;
    let at = row + 1;
    return this.#shapes.map((shape) => {
      const record: Record<string, unknown> = { ...shape };
      for (const name of algorithmOf(shape).recordNumbers!) record[name] = this.#table[at++]!;
      if ("counts" in shape) record.counts = shape.counts.map(() => this.#table[at++]!);
      return record as unknown as LimitRecord;
    });
  }

  writeRecords(client: number, records: Records, expiresAtMs: number): void {
    const row = this.#rows.get(client) ?? this.#newRow(client, records);
    this.#table[row] = Math.max(this.#table[row]!, expiresAtMs);
    let at = row + 1;
    for (const record of records) {
      const numbers = record as unknown as Readonly<Record<string, number>>;
      for (const name of algorithmOf(record).recordNumbers!) this.#table[at++] = numbers[name]!;
      if ("counts" in record) for (const count of record.counts) this.#table[at++] = count;
    }
  }

  #newRow(client: number, records: Records): number {
    if (this.#width === 0) {
      this.#shapes = records;
      this.#width = records.reduce((sum, record) => sum + widthOf(record), 1);
    }
    const row = this.#free.pop() ?? this.#rows.size * this.#width;
    if (row === this.#table.length) {
      const grown = new Float64Array(Math.max(FIRST_ROWS * this.#width, 2 * row));
      grown.set(this.#table);
      this.#table = grown;
    }
    this.#rows.set(client, row);
    return row;
  }

  value(client: number, limit: string): Value | undefined {
    return this.#values.get(client)?.byLimit.get(limit);
  }

  /** @param value undefined: nothing is kept any more. */
  writeValue(client: number, limit: string, value: Value | undefined, expiresAtMs: number): void {
    let values = this.#values.get(client);
    if (!values) {
      values = { byLimit: new Map(), expiresAtMs, sweepAt: LEAST_ENDED };
      this.#values.set(client, values);
    }
    values.expiresAtMs = Math.max(values.expiresAtMs, expiresAtMs);
    if (value) values.byLimit.set(limit, value);
    else values.byLimit.delete(limit);
  }

  /** Forgets the ids of a client that have ended, if there may be many. */
  dropEnded(client: number, nowMs: number): void {
    const values = this.#values.get(client);
    if (!values || values.byLimit.size < values.sweepAt) return;
    for (const [limit, value] of values.byLimit) {
      if ("endsAtMs" in value && value.endsAtMs <= nowMs) values.byLimit.delete(limit);
    }
    values.sweepAt = Math.max(LEAST_ENDED, 2 * values.byLimit.size);
  }

  sweep(nowMs: number): void {
    this.#rows.sweep(nowMs, (row) => {
      this.#table[row] = 0;
      this.#free.push(row);
    });
    this.#values.sweep(nowMs);
  }
}

const FIRST_ROWS = 256;

function widthOf(record: LimitRecord): number {
  return algorithmOf(record).recordNumbers!.length + ("counts" in record ? record.counts.length : 0);
}

/** The counts of the client of a key. */
export interface CountsOf {
  readonly counts: Counts;
  readonly client: number;
}

/**
 * Decides over counts, and changes them.
 *
 * @param all those of the request's keys. A key is named by its position among them: making and finding a long text for
 * each would take longer than the decision.
 * @param endMs when the request ends, by the log's clock. The gateway renews a slot until then, and releases it then.
 * Undefined: the log does not tell it, and a slot is held until its timeout.
 */
export function takeFrom(
  all: readonly CountsOf[],
  request: TakeRequest,
  nowMs: number,
  endMs: number | undefined,
): TakeReply {
  const countsOf = (key: string) => all[Number.parseInt(key, 10)]!;
  const limitOf = (key: string) => key.slice(key.search(/[#!]/));
  const stored: Stored = {
    records(key) {
      const { counts, client } = countsOf(key);
      return counts.records(client);
    },
    value(key) {
      const { counts, client } = countsOf(key);
      return counts.value(client, limitOf(key));
    },
  };
  const { reply, records, values } = take(stored, request, nowMs);
  for (const { key, records: after, expiryMs } of records) {
    const { counts, client } = countsOf(key);
    counts.writeRecords(client, after, nowMs + expiryMs);
  }
  for (const { key, kind, kept } of values) {
    const { counts, client } = countsOf(key);
    if (kind === "once") counts.dropEnded(client, nowMs);
    const isSlots = kept?.value instanceof Map;
    const value = isSlots && endMs !== undefined ? new Map(kept.value).set(request.slot!, endMs) : kept?.value;
    counts.writeValue(client, limitOf(key), value, Math.max(nowMs + (kept?.expiryMs ?? 0), endMs ?? 0));
  }
  return reply;
}
