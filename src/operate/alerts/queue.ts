/**
 * The warnings in the object that delivers them: docs/storage-schema.md. Each is taken once, waits in the queue, and
 * goes to the webhook together with others, one POST at a time.
 */

import { MAX_SUBJECTS, subjectOf } from "../../features/alerts/warnings.ts";
import { type AlertTarget, alertTargetIn } from "../../kernel/config/alerts.ts";
import type { Bindings } from "../../kernel/config/bindings.ts";
import { WrongRequest } from "../../kernel/store/rejected.ts";
import { seriesOf } from "../stats/batch.ts";
import { checkedWarnings, MAX_WAITING, type WarningBatch } from "./batch.ts";
import { postWarnings } from "./post.ts";

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS warned (subject TEXT PRIMARY KEY, until_ms INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS warnings (number INTEGER PRIMARY KEY, warning TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS delivery (
    one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, last INTEGER NOT NULL, tries INTEGER NOT NULL,
    due_ms INTEGER NOT NULL
  );
  CREATE TABLE IF NOT EXISTS warnings_counted (outcome TEXT PRIMARY KEY, warnings INTEGER NOT NULL) WITHOUT ROWID`;
/** Those of the delivery that is under way stay. */
const DROP_OLDEST = `
  DELETE FROM warnings WHERE number IN (
    SELECT number FROM warnings WHERE number > (SELECT COALESCE(MAX(last), 0) FROM delivery) ORDER BY number LIMIT ?
  )`;
const NEXT_LAST = "SELECT MAX(number) AS last FROM (SELECT number FROM warnings ORDER BY number LIMIT ?)";

/** Warnings in one POST. */
const MAX_IN_POST = 100;
/** There is at most one POST each second. */
const EVERY_MS = 1_000;
/** How long to wait after each failed try but the last one. */
const BACKOFF_MS = [2_000, 10_000, 60_000, 300_000];
const LONGEST_BACKOFF_MS = Math.max(...BACKOFF_MS);
const MAX_TRIES = BACKOFF_MS.length + 1;
/** A subject is known for longer than its window: a batch may be sent again, and clocks differ. */
const KNOWN_AFTER_END_MS = 600_000;
/** Subjects whose time has passed are looked for at most so often while there is no room for others. */
const SWEEP_EVERY_MS = 1_000;

interface Delivery extends Record<string, SqlStorageValue> {
  readonly id: string;
  /** The number of its last warning. */
  readonly last: number;
  readonly tries: number;
  readonly due_ms: number;
}

/**
 * What became of a warning: delivered; given up after all tries; dropped, because too many waited; left out, because
 * too many are remembered.
 */
type Outcome = "delivered" | "given_up" | "dropped" | "left_out";

export class Alerts {
  readonly #storage: DurableObjectStorage;
  readonly #sql: SqlStorage;
  readonly #bindings: Bindings;
  #postedAtMs = 0;
  #sweptAtMs = 0;

  /** @param bindings those of the object: the isolate that sees a crossing does not know the secret. */
  constructor(storage: DurableObjectStorage, bindings: Bindings) {
    this.#storage = storage;
    this.#sql = storage.sql;
    this.#bindings = bindings;
    this.#sql.exec(SCHEMA);
  }

  /** Takes the warnings that are new. All or nothing. @throws {WrongRequest} */
  add(batch: WarningBatch, nowMs: number): undefined {
    const { warnings, leftOut } = checkedWarnings(batch);
    if (!this.#target()) {
      throw new WrongRequest("HeadgateStats: expected ALERT_URL and ALERT_SECRET in the Worker that has this object");
    }
    this.#storage.transactionSync(() => {
      let unknown = leftOut;
      let room = this.#roomAt(nowMs);
      for (const { warning, endsAtMs } of warnings) {
        const subject = subjectOf(warning, endsAtMs);
        if (this.#numberOf("SELECT COUNT(*) AS n FROM warned WHERE subject = ?", subject) > 0) continue;
        if (room <= 0) {
          unknown++;
          continue;
        }
        room--;
        this.#sql.exec("INSERT INTO warned VALUES (?, ?)", subject, endsAtMs + KNOWN_AFTER_END_MS);
        this.#sql.exec("INSERT INTO warnings (warning) VALUES (?)", JSON.stringify(warning));
      }
      this.#count("left_out", unknown);
      const tooMany = this.#numberOf("SELECT COUNT(*) AS n FROM warnings") - MAX_WAITING;
      if (tooMany > 0) this.#count("dropped", this.#sql.exec(DROP_OLDEST, tooMany).rowsWritten);
    });
  }

  /** When the next POST is due, ms since the epoch. Infinite: nothing waits. */
  dueAtMs(nowMs: number): number {
    const delivery = this.#delivery();
    // A longer wait: the clock was set back.
    if (delivery) return delivery.due_ms - nowMs > LONGEST_BACKOFF_MS ? nowMs : delivery.due_ms;
    if (this.#numberOf("SELECT EXISTS (SELECT 1 FROM warnings) AS n") === 0) return Number.POSITIVE_INFINITY;
    return Math.max(nowMs, Math.min(this.#postedAtMs, nowMs) + EVERY_MS);
  }

  /** Sends what is due. @returns when to call it again, as `dueAtMs`. */
  async deliver(): Promise<number> {
    const nowMs = Date.now();
    const dueAtMs = this.dueAtMs(nowMs);
    if (dueAtMs > nowMs) return dueAtMs;
    const target = this.#target();
    if (!target) {
      // The operator wants no more of them.
      this.#remove(Number.MAX_SAFE_INTEGER, "dropped");
      return Number.POSITIVE_INFINITY;
    }
    const { id, last, tries: before } = this.#delivery() ?? this.#begin();
    const tries = before + 1;
    // More: the object has ended during the last one.
    const isLast = tries >= MAX_TRIES;
    // Written before the POST: an object that ends meanwhile goes on with the same delivery.
    const againAtMs = nowMs + (BACKOFF_MS[before] ?? 0);
    this.#sql.exec("INSERT OR REPLACE INTO delivery VALUES (1, ?, ?, ?, ?)", id, last, tries, againAtMs);
    this.#postedAtMs = nowMs;
    const warnings = this.#sql
      .exec<{ warning: string }>("SELECT warning FROM warnings WHERE number <= ? ORDER BY number", last)
      .toArray();
    const reason = await postWarnings(target, id, `{"warnings":[${warnings.map(({ warning }) => warning).join(",")}]}`);
    if (reason === undefined) {
      this.#remove(last, "delivered");
    } else {
      const said = { reason, tries, isLast, warnings: warnings.length };
      console.warn(JSON.stringify({ event: "warnings-failed", at: new Date().toISOString(), ...said }));
      if (isLast) this.#remove(last, "given_up");
    }
    return this.dueAtMs(Date.now());
  }

  /** The series of what became of warnings. */
  counted(): [series: string, warnings: number][] {
    const rows = this.#sql.exec<{ outcome: string; warnings: number }>("SELECT * FROM warnings_counted").toArray();
    return rows.map(({ outcome, warnings }) => [seriesOf("warnings", [outcome]), warnings]);
  }

  forgetEnded(nowMs: number): void {
    this.#sql.exec("DELETE FROM warned WHERE until_ms <= ?", nowMs);
  }

  /** How many subjects can be remembered beside those that are. */
  #roomAt(nowMs: number): number {
    const room = () => MAX_SUBJECTS - this.#numberOf("SELECT COUNT(*) AS n FROM warned");
    if (room() > 0 || Math.abs(nowMs - this.#sweptAtMs) < SWEEP_EVERY_MS) return room();
    this.#sweptAtMs = nowMs;
    this.forgetEnded(nowMs);
    return room();
  }

  #target(): AlertTarget | undefined {
    return alertTargetIn(this.#bindings);
  }

  #delivery(): Delivery | undefined {
    return this.#sql.exec<Delivery>("SELECT * FROM delivery").toArray()[0];
  }

  #begin(): Pick<Delivery, "id" | "last" | "tries"> {
    return { id: crypto.randomUUID(), last: this.#numberOf(NEXT_LAST, MAX_IN_POST), tries: 0 };
  }

  /** Ends the delivery, and removes the warnings up to its last one. */
  #remove(last: number, outcome: Outcome): void {
    this.#storage.transactionSync(() => {
      this.#count(outcome, this.#sql.exec("DELETE FROM warnings WHERE number <= ?", last).rowsWritten);
      this.#sql.exec("DELETE FROM delivery");
    });
  }

  #count(outcome: Outcome, warnings: number): void {
    if (warnings === 0) return;
    const sql = "INSERT INTO warnings_counted VALUES (?1, ?2) ON CONFLICT DO UPDATE SET warnings = warnings + ?2";
    this.#sql.exec(sql, outcome, warnings);
  }

  /** The first column of the only row. */
  #numberOf(sql: string, ...values: SqlStorageValue[]): number {
    const [number] = Object.values(this.#sql.exec(sql, ...values).one());
    return Number(number ?? 0);
  }
}
