/**
 * Counts of many clients in one array of numbers. An object for each client would take ten times the memory, and the
 * time to collect what each request replaces.
 */

import type { KeptValue } from "../../../core/algorithm.ts";
import type { LimitRecord, LimitSpec, LimitValue } from "../../../core/algorithms.ts";
import { Kind } from "../../../core/layout.ts";
import type { Records } from "../../../core/records.ts";
import { type Counts, MapCounts } from "./counts.ts";

/** More numbers for a client take more memory than they save: most clients of a log are not active. */
const MAX_WIDTH = 16;
const FIRST_ROWS = 256;

/** @param maxRows clients with lower numbers are many, and never forgotten. */
export function countsOf(limits: readonly LimitSpec[], maxRows: number): Counts {
  const widths = limits.map(widthOf);
  const width = widths.reduce<number>((sum, one) => sum + (one ?? MAX_WIDTH + 1), 0);
  return width <= MAX_WIDTH ? new FlatCounts(limits, width, maxRows) : new MapCounts();
}

/** How many numbers the record of a limit has. Undefined: it has more than numbers. */
function widthOf(limit: LimitSpec): number | undefined {
  switch (limit.kind) {
    case Kind.weighted:
    case Kind.whole:
      return limit.buckets + 2;
    case Kind.fixedWindow:
    case Kind.bucket:
      return 2;
    default:
      return undefined;
  }
}

class FlatCounts implements Counts {
  readonly #limits: readonly LimitSpec[];
  readonly #width: number;
  readonly #maxRows: number;
  readonly #others = new MapCounts();
  /** For each client its records, one after the other. A row that begins with 0 is empty. */
  #rows: Float64Array;

  constructor(limits: readonly LimitSpec[], width: number, maxRows: number) {
    this.#limits = limits;
    this.#width = width;
    this.#maxRows = maxRows;
    this.#rows = new Float64Array(FIRST_ROWS * width);
  }

  /** Only asked about clients beyond the rows. */
  has(client: number): boolean {
    return client < this.#maxRows || this.#others.has(client);
  }

  records(client: number): Records | undefined {
    if (client >= this.#maxRows) return this.#others.records(client);
    const rows = this.#rows;
    let at = client * this.#width;
    if (!rows[at]) return undefined;
    const records: LimitRecord[] = [];
    for (const limit of this.#limits) {
      // Instants and numbers of buckets are one more in a row: 0 is an empty one.
      const newest = rows[at++]! - 1;
      switch (limit.kind) {
        case Kind.weighted:
        case Kind.whole: {
          const { kind, bucketMs, buckets } = limit;
          const counts: number[] = [];
          for (let age = 0; age <= buckets; age++) counts.push(rows[at++]!);
          records.push({ kind, bucketMs, buckets, newest, counts });
          break;
        }
        case Kind.fixedWindow:
          records.push({ kind: limit.kind, windowMs: limit.windowMs, newest, count: rows[at++]! });
          break;
        case Kind.bucket:
          records.push({ kind: limit.kind, windowMs: limit.windowMs, atMs: newest, debt: rows[at++]! });
      }
    }
    return records;
  }

  writeRecords(client: number, records: Records, expiresAtMs: number): void {
    if (client >= this.#maxRows) {
      this.#others.writeRecords(client, records, expiresAtMs);
      return;
    }
    let at = client * this.#width;
    if (at >= this.#rows.length) this.#grow(at);
    const rows = this.#rows;
    for (const record of records) {
      switch (record.kind) {
        case Kind.weighted:
        case Kind.whole:
          rows[at++] = record.newest + 1;
          for (const count of record.counts) rows[at++] = count;
          break;
        case Kind.fixedWindow:
          rows[at++] = record.newest + 1;
          rows[at++] = record.count;
          break;
        case Kind.bucket:
          rows[at++] = record.atMs + 1;
          rows[at++] = record.debt;
      }
    }
  }

  #grow(at: number): void {
    const clients = Math.min(this.#maxRows, Math.max(2 * (this.#rows.length / this.#width), at / this.#width + 1));
    const grown = new Float64Array(clients * this.#width);
    grown.set(this.#rows);
    this.#rows = grown;
  }

  /** Such limits keep no values. */
  value(): LimitValue | undefined {
    return undefined;
  }

  writeValue(_client: number, _limit: string, _kept: KeptValue<LimitValue> | undefined, _nowMs: number): void {}

  sweep(nowMs: number): void {
    this.#others.sweep(nowMs);
  }
}
