/**
 * The rows of the object that adds up: docs/storage-schema.md. A batch goes into the row of the minute in which it
 * arrives, whatever minutes it counts: it is one written row, and only the newest row ever changes. An hour's row is
 * made of its minutes once, when nothing more can arrive in that hour.
 */

import type { Batch } from "../batch.ts";
import {
  addCounts,
  type CountsText,
  DAY,
  HOUR,
  MAX_MINUTES,
  noCounts,
  placesIn,
  type StoredCounts,
  textOf,
  totalsText,
} from "./counts.ts";
import { hourOf } from "./reply.ts";
import { type HourHead, type MinuteRow, StatsState, unfoldedAfter } from "./state.ts";

const COUNTED =
  "arrived INTEGER PRIMARY KEY, heard_at INTEGER NOT NULL, sums TEXT NOT NULL, top TEXT NOT NULL, isolates TEXT NOT NULL";
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS minutes (${COUNTED});
  CREATE TABLE IF NOT EXISTS hours (${COUNTED}, totals TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS breakers (isolate TEXT PRIMARY KEY, until_ms INTEGER NOT NULL, places TEXT NOT NULL)
    WITHOUT ROWID`;
const WRITE_MINUTE = `
  INSERT INTO minutes (arrived, heard_at, sums, top, isolates) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (arrived) DO UPDATE SET heard_at = excluded.heard_at, sums = excluded.sums, top = excluded.top,
    isolates = excluded.isolates`;
const WRITE_HOUR = "INSERT INTO hours (arrived, heard_at, sums, top, isolates, totals) VALUES (?, ?, ?, ?, ?, ?)";
const NEWEST_HOUR = "SELECT arrived, heard_at, isolates, totals FROM hours ORDER BY arrived DESC LIMIT 1";
const MINUTES = "SELECT * FROM minutes WHERE arrived >= ? AND arrived < ? ORDER BY arrived";
const FIRST_MINUTE = "SELECT MIN(arrived) AS arrived FROM minutes WHERE arrived >= ?";
const DELETE_MINUTES = "DELETE FROM minutes WHERE arrived < ?";
/** The newest one stays, without its clients: it has the totals. */
const DELETE_HOURS = "DELETE FROM hours WHERE arrived < ? AND arrived < (SELECT MAX(arrived) FROM hours)";
const ARE_MINUTES_LEFT = "SELECT EXISTS (SELECT 1 FROM minutes) AS yes";
const FORGET_CLIENTS = "UPDATE hours SET top = '{}' WHERE arrived < ?";
const ARE_HOURS_LEFT = "SELECT EXISTS (SELECT 1 FROM hours WHERE top <> '{}') AS yes";

/** How long a report of breakers holds if the isolate does not say, in ms. */
const OPEN_MS = 60_000;

/** Instants are minutes since the epoch by the object's clock. */
export class StatsRows {
  readonly #storage: DurableObjectStorage;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
    storage.sql.exec(SCHEMA);
  }

  /** What all rows together say: the newest hour, and the minutes after it. */
  state(): StatsState {
    const hour = this.#newestHour();
    return new StatsState(hour, this.minutesFrom(unfoldedAfter(hour)));
  }

  writeMinute(counts: StoredCounts, heardAtMs: number): void {
    const { sums, top, isolates } = textOf(counts);
    this.#storage.sql.exec(WRITE_MINUTE, counts.arrived, heardAtMs, sums, top, isolates);
  }

  minutesFrom(arrived: number): Iterable<MinuteRow> {
    return this.#minutes(arrived, Number.MAX_SAFE_INTEGER);
  }

  /** The rows of hours from this one on, and then those of minutes that are in no hour's row yet. */
  *hoursFrom(arrived: number): Iterable<CountsText> {
    const sql = "SELECT sums, top FROM hours WHERE arrived >= ? ORDER BY arrived";
    yield* this.#storage.sql.exec<Record<string, SqlStorageValue> & CountsText>(sql, arrived);
    yield* this.minutesFrom(Math.max(arrived, unfoldedAfter(this.#newestHour())));
  }

  /** Makes rows of the hours that have ended, and deletes what is too old. @returns what is left to do. */
  foldAndDelete(now: number): "minutes" | "hours" | "nothing" {
    for (;;) {
      const hour = this.#newestHour();
      const from = unfoldedAfter(hour);
      const first = this.#storage.sql.exec<{ arrived: number | null }>(FIRST_MINUTE, from).one().arrived;
      if (first === null || hourOf(first) + HOUR > now) break;
      this.#fold(hour, hourOf(first));
    }
    this.#storage.sql.exec(DELETE_MINUTES, Math.min(now - DAY, unfoldedAfter(this.#newestHour())));
    this.#storage.sql.exec(DELETE_HOURS, now - MAX_MINUTES - HOUR);
    this.#storage.sql.exec(FORGET_CLIENTS, now - MAX_MINUTES - HOUR);
    if (this.#says(ARE_MINUTES_LEFT)) return "minutes";
    return this.#says(ARE_HOURS_LEFT) ? "hours" : "nothing";
  }

  /**
   * Which places the isolate has stopped calling, in place of what it said before. In a table, not in memory:
   * Cloudflare stops an object that is not called for a minute or two, and with a long `STATS_FLUSH` an isolate says it
   * again only after an hour. An isolate that has stopped nothing costs no written row.
   */
  writeOpen({ isolate, open, openMs = OPEN_MS }: Batch, nowMs: number): void {
    if (open.length === 0) {
      this.#storage.sql.exec("DELETE FROM breakers WHERE isolate = ?", isolate);
      return;
    }
    const places = JSON.stringify([...new Set(open)]);
    this.#storage.sql.exec("INSERT OR REPLACE INTO breakers VALUES (?, ?, ?)", isolate, nowMs + openMs, places);
  }

  /** The isolates that have stopped calling a place, by place. */
  openByPlace(nowMs: number): Map<string, number> {
    const found = new Map<string, number>();
    const said = this.#storage.sql.exec<{ places: string }>("SELECT places FROM breakers WHERE until_ms > ?", nowMs);
    for (const { places } of said) {
      for (const place of placesIn(places)) found.set(place, (found.get(place) ?? 0) + 1);
    }
    return found;
  }

  deleteOldOpen(nowMs: number): void {
    this.#storage.sql.exec("DELETE FROM breakers WHERE until_ms <= ?", nowMs);
  }

  #says(sql: string): boolean {
    return this.#storage.sql.exec<{ yes: number }>(sql).one().yes === 1;
  }

  /** One statement writes the hour: all of its minutes are in it, or none. */
  #fold(before: HourHead | undefined, arrived: number): void {
    const minutes = () => this.#minutes(unfoldedAfter(before), arrived + HOUR);
    const { totals, isolates, heardAtMs = 0 } = new StatsState(before, minutes());
    const counts = noCounts(arrived, isolates);
    for (const row of minutes()) addCounts(counts, row, hourOf);
    const text = textOf(counts);
    const total = totalsText(totals, counts, before?.totals);
    this.#storage.sql.exec(WRITE_HOUR, arrived, heardAtMs, text.sums, text.top, text.isolates, total);
  }

  #minutes(from: number, until: number): Iterable<MinuteRow> {
    return this.#storage.sql.exec<MinuteRow>(MINUTES, from, until);
  }

  #newestHour(): HourHead | undefined {
    return this.#storage.sql.exec<HourHead>(NEWEST_HOUR).toArray()[0];
  }
}
