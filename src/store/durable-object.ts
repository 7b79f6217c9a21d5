/**
 * The Durable Object that counts. Its rows are what Redis's keys are: docs/storage-schema.md. Reading, deciding and
 * writing happen in one turn without a pause: no other request sees half of a decision.
 */

import { DurableObject } from "cloudflare:workers";
import { INJECTED_CLOCK_EXPIRY_MS } from "../core/layout.ts";
import type { TakeReply, TakeRequest } from "../core/take.ts";
import { checkInstant, checkKeys, checkRequest } from "./check-request.ts";
import type { LiveText, ToldReply } from "./live.ts";
import { ObjectLive } from "./object-live.ts";
import { takeFrom, type Write } from "./take-from.ts";

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

/** A row lives up to so much longer than its counts, and at most twice as long, so that it seldom has to be moved. */
const MAX_SPARE_MS = 3_600_000;
/** Every alarm is billed as a request and a written row. */
const ALARM_EVERY_MS = 60_000;
/** Rows that one alarm removes at most: requests wait meanwhile. */
const MAX_REMOVED = 5_000;
/** The pause before more is removed, when one alarm was not enough. */
const ALARM_AGAIN_MS = 1_000;

/**
 * The Durable Object that counts, on SQLite. Export it from your Worker's main module and bind it as `COUNTS`:
 *
 * ```toml
 * [[durable_objects.bindings]]
 * name = "COUNTS"
 * class_name = "HeadgateCounts"
 *
 * [[migrations]]
 * tag = "v1"
 * new_sqlite_classes = ["HeadgateCounts"]
 * ```
 *
 * Then `durableObjectStore(env.COUNTS)` is a store. Every method rejects with a `TypeError` if it is called wrongly,
 * and changes nothing then. A reply leaves the object only after what it has written is durable (Cloudflare's output
 * gates).
 */
export class HeadgateCounts extends DurableObject {
  readonly #live: ObjectLive;
  /** When the next alarm is due, ms since the epoch; infinite: there is none. */
  #alarmAtMs = Number.POSITIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    ctx.storage.sql.exec(SCHEMA);
    this.#live = new ObjectLive(ctx.storage.sql);
    ctx.blockConcurrencyWhile(async () => {
      this.#alarmAtMs = (await ctx.storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    });
  }

  /**
   * Checks every limit of the request, then charges all limits or none.
   *
   * `nowMs` replaces the object's clock, in ms since the epoch: tests and simulation only.
   */
  async take(request: TakeRequest, nowMs?: number): Promise<ToldReply> {
    return { ...(await this.#take(request, nowMs)), live: this.#live.read().version };
  }

  async #take(request: TakeRequest, nowMs?: number): Promise<TakeReply> {
    checkRequest(request);
    checkInstant(nowMs);
    const { sql } = this.ctx.storage;
    const clockMs = Date.now();
    const read = (key: string) => sql.exec<{ text: string }>(READ, key, clockMs).toArray()[0]?.text;
    const { reply, writes } = takeFrom(read, request, nowMs ?? clockMs);
    if (writes.length === 0) return reply;
    const leastMs = nowMs === undefined ? 1 : INJECTED_CLOCK_EXPIRY_MS;
    let expiresAtMs = Number.POSITIVE_INFINITY;
    // If the second write fails, for example because the storage is full, the first must not stay.
    this.ctx.storage.transactionSync(() => {
      for (const one of writes) expiresAtMs = Math.min(expiresAtMs, this.#write(one, clockMs, leastMs));
    });
    // An alarm that comes a little late is cheaper than one that is set again.
    if (expiresAtMs + ALARM_EVERY_MS < this.#alarmAtMs) {
      await this.#wakeAt(Math.max(expiresAtMs, clockMs + ALARM_EVERY_MS));
    }
    return reply;
  }

  /** Forgets the counts of these keys. */
  async reset(keys: readonly string[]): Promise<void> {
    checkKeys(keys);
    this.ctx.storage.transactionSync(() => {
      for (const key of keys) this.ctx.storage.sql.exec(DELETE, key);
    });
  }

  /** The live document, unless the caller has this version of it. */
  async readLive(known?: number): Promise<LiveText | undefined> {
    const live = this.#live.read();
    return live.version === known ? undefined : live;
  }

  /** Replaces the live document of this version. Undefined: there is another version by now. */
  async writeLive(text: string, version: number): Promise<number | undefined> {
    if (typeof text !== "string" || !Number.isSafeInteger(version)) {
      throw new TypeError("writeLive: expected a text and the version that it replaces");
    }
    return this.#live.write(text, version);
  }

  /** Answers: its duration is the latency. */
  async ping(): Promise<void> {}

  /** Removes expired rows. Cloudflare calls it; to call it at any other time does no harm. */
  override async alarm(): Promise<void> {
    const { sql } = this.ctx.storage;
    const nowMs = Date.now();
    // If this alarm fails for good, the next charge sets another one.
    this.#alarmAtMs = Number.POSITIVE_INFINITY;
    sql.exec(DELETE_EXPIRED, nowMs, MAX_REMOVED);
    const { at } = sql.exec<{ at: number | null }>(NEXT_EXPIRY).one();
    if (at === null) return;
    await this.#wakeAt(at <= nowMs ? nowMs + ALARM_AGAIN_MS : Math.max(at, nowMs + ALARM_EVERY_MS));
  }

  /** @returns when the row expires, if that has changed; infinite if not. */
  #write({ key, text, expiryMs }: Write, clockMs: number, leastMs: number): number {
    const { sql } = this.ctx.storage;
    if (text === undefined) {
      sql.exec(DELETE, key);
      return Number.POSITIVE_INFINITY;
    }
    const neededMs = Math.max(expiryMs, leastMs);
    if (sql.exec(CHANGE, text, key, clockMs + neededMs).rowsWritten > 0) return Number.POSITIVE_INFINITY;
    const expiresAtMs = clockMs + neededMs + Math.min(neededMs, MAX_SPARE_MS);
    sql.exec(WRITE, key, text, expiresAtMs);
    return expiresAtMs;
  }

  async #wakeAt(atMs: number): Promise<void> {
    this.#alarmAtMs = atMs;
    await this.ctx.storage.setAlarm(atMs);
  }
}
