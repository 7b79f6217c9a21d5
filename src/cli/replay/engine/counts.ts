/** What a replay keeps under the keys of a store. Unlike the memory store, it never forgets an active count. */

import type { LimitValue } from "../../../core/algorithms.ts";
import type { Records } from "../../../core/records.ts";
import { type KeyRequest, type Stored, type TakeReply, type TakeRequest, take } from "../../../core/take.ts";

interface Kept {
  records: Records | undefined;
  /** By the part of a limit key that names the limit. */
  values: Map<string, LimitValue> | undefined;
  /** From then on the counts are as new. */
  expiresAtMs: number;
}

/** Sweeping goes through all counts: it is worth it when so many have come. */
const LEAST_SWEPT = 10_000;

/** The counts of all clients under one policy and scope, and in one region. */
export class Counts {
  readonly #kept = new Map<number, Kept>();
  #sweepAt = LEAST_SWEPT;

  get(client: number): Kept | undefined {
    return this.#kept.get(client);
  }

  /** @param expiresAtMs of what is written now. */
  write(client: number, expiresAtMs: number): Kept {
    const kept = this.#kept.get(client);
    if (!kept) {
      const created = { records: undefined, values: undefined, expiresAtMs };
      this.#kept.set(client, created);
      return created;
    }
    if (kept.expiresAtMs < expiresAtMs) kept.expiresAtMs = expiresAtMs;
    return kept;
  }

  /** Forgets expired counts if there may be many. */
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
    records: (key) => this.#kept(key)?.records,
    value: (key) => {
      const at = key.indexOf("#");
      return this.#kept(key.slice(0, at))?.values?.get(key.slice(at));
    },
  };

  /** @param places those of the request's keys, whose names are `keyName` of their positions. */
  take(places: readonly Place[], request: TakeRequest, nowMs: number): TakeReply {
    this.#places = places;
    const { reply, records, values } = take(this.#stored, request, nowMs);
    for (const written of records) {
      const { counts, client } = this.#place(written.key);
      counts.write(client, nowMs + written.expiryMs).records = written.records;
    }
    for (const { key, kept } of values) {
      const at = key.indexOf("#");
      const { counts, client } = this.#place(key.slice(0, at));
      const all = counts.write(client, nowMs + (kept?.expiryMs ?? 0));
      all.values ??= new Map();
      if (kept) all.values.set(key.slice(at), kept.value);
      else all.values.delete(key.slice(at));
    }
    return reply;
  }

  #place(key: string): Place {
    return this.#places[Number(key)]!;
  }

  #kept(key: string): Kept | undefined {
    const { counts, client } = this.#place(key);
    return counts.get(client);
  }
}

/** How a decision names the key at this position. */
export function keyName(position: number): KeyRequest["key"] {
  return String(position);
}
