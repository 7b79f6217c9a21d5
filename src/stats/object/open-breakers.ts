/**
 * Which isolates have stopped calling a place. In a table, not in memory: Cloudflare stops an object that is not called
 * for a minute or two, and with a long `STATS_FLUSH` an isolate says it again only after an hour.
 */

import type { Batch } from "../batch.ts";
import { placesIn } from "./counts.ts";

/** How long a report holds if the isolate does not say, in ms. */
const DEFAULT_MS = 60_000;

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS breakers (isolate TEXT PRIMARY KEY, until_ms INTEGER NOT NULL, places TEXT NOT NULL)
    WITHOUT ROWID`;

export class OpenBreakers {
  readonly #sql: SqlStorage;

  constructor({ sql }: DurableObjectStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** Replaces what the isolate said before. An isolate that has stopped nothing costs no written row. */
  report({ isolate, open, openMs = DEFAULT_MS }: Batch, nowMs: number): void {
    if (open.length === 0) {
      this.#sql.exec("DELETE FROM breakers WHERE isolate = ?", isolate);
      return;
    }
    const places = JSON.stringify([...new Set(open)]);
    this.#sql.exec("INSERT OR REPLACE INTO breakers VALUES (?, ?, ?)", isolate, nowMs + openMs, places);
  }

  /** Isolates by place. */
  byPlace(nowMs: number): Map<string, number> {
    const found = new Map<string, number>();
    const said = this.#sql.exec<{ places: string }>("SELECT places FROM breakers WHERE until_ms > ?", nowMs);
    for (const { places } of said) {
      for (const place of placesIn(places)) found.set(place, (found.get(place) ?? 0) + 1);
    }
    return found;
  }

  deleteOld(nowMs: number): void {
    this.#sql.exec("DELETE FROM breakers WHERE until_ms <= ?", nowMs);
  }
}
