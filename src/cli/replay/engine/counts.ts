/** What a replay keeps under the keys of a store. Unlike the memory store, it never forgets an active count. */

import type { KeptValue } from "../../../core/algorithm.ts";
import type { LimitValue } from "../../../core/algorithms.ts";
import type { Records } from "../../../core/records.ts";
import { type KeyRequest, type Stored, type TakeReply, type TakeRequest, take } from "../../../core/take.ts";

/** The counts of all clients under the limits of one policy and scope, and in one region. */
export interface Counts {
  has(client: number): boolean;
  records(client: number): Records | undefined;
  /** @param limit the part of a limit key that names the limit. */
  value(client: number, limit: string): LimitValue | undefined;
  /** @param expiresAtMs from then on the records are as new. */
  writeRecords(client: number, records: Records, expiresAtMs: number): void;
  /** @param kept undefined: nothing is kept any more. */
  writeValue(client: number, limit: string, kept: KeptValue<LimitValue> | undefined, nowMs: number): void;
  /** Forgets expired counts if there may be many. */
  sweep(nowMs: number): void;
}

interface Kept {
  records: Records | undefined;
  values: Map<string, LimitValue> | undefined;
  /** From then on all of it is as new. */
  expiresAtMs: number;
}

/** Sweeping goes through all counts: it is worth its time once this many have come. */
const LEAST_SWEPT = 10_000;

/** Counts of any kind. */
export class MapCounts implements Counts {
  readonly #kept = new Map<number, Kept>();
  #sweepAt = LEAST_SWEPT;

  has(client: number): boolean {
    return this.#kept.has(client);
  }

  records(client: number): Records | undefined {
    return this.#kept.get(client)?.records;
  }

  value(client: number, limit: string): LimitValue | undefined {
    return this.#kept.get(client)?.values?.get(limit);
  }

  writeRecords(client: number, records: Records, expiresAtMs: number): void {
    this.#write(client, expiresAtMs).records = records;
  }

  writeValue(client: number, limit: string, kept: KeptValue<LimitValue> | undefined, nowMs: number): void {
    const all = this.#write(client, nowMs + (kept?.expiryMs ?? 0));
    all.values ??= new Map();
    if (kept) all.values.set(limit, kept.value);
    else all.values.delete(limit);
  }

  #write(client: number, expiresAtMs: number): Kept {
    let kept = this.#kept.get(client);
    if (!kept) {
      kept = { records: undefined, values: undefined, expiresAtMs };
      this.#kept.set(client, kept);
    }
    kept.expiresAtMs = Math.max(kept.expiresAtMs, expiresAtMs);
    return kept;
  }

  sweep(nowMs: number): void {
    if (this.#kept.size < this.#sweepAt) return;
    for (const [client, { expiresAtMs }] of this.#kept) if (expiresAtMs <= nowMs) this.#kept.delete(client);
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * this.#kept.size);
  }
}

/** A key of a decision, and where its counts are. */
export interface Place {
  readonly counts: Counts;
  readonly client: number;
}

/**
 * Decides over counts. Within one decision a key is named by its position: making and finding a long text for each
 * would take longer than the decision.
 */
export class Keeper {
  #places: readonly Place[] = [];
  readonly #stored: Stored = {
    records: (key) => {
      const { counts, client } = this.#place(key);
      return counts.records(client);
    },
    value: (key) => {
      const at = key.indexOf("#");
      const { counts, client } = this.#place(key.slice(0, at));
      return counts.value(client, key.slice(at));
    },
  };

  /** @param places those of the request's keys, whose names are `keyName` of their positions. */
  take(places: readonly Place[], request: TakeRequest, nowMs: number): TakeReply {
    this.#places = places;
    const { reply, records, values } = take(this.#stored, request, nowMs);
    for (const written of records) {
      const { counts, client } = this.#place(written.key);
      counts.writeRecords(client, written.records, nowMs + written.expiryMs);
    }
    for (const { key, kept } of values) {
      const at = key.indexOf("#");
      const { counts, client } = this.#place(key.slice(0, at));
      counts.writeValue(client, key.slice(at), kept, nowMs);
    }
    return reply;
  }

  #place(key: string): Place {
    return this.#places[Number(key)]!;
  }
}

/** How a decision names the key at this position. */
export function keyName(position: number): KeyRequest["key"] {
  return String(position);
}
