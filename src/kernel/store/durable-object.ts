/**
 * The Durable Object that counts. Its rows are what Redis's keys are: docs/storage-schema.md. Reading, deciding and
 * writing happen in one turn without a pause: no other request sees half of a decision.
 */

import { DurableObject } from "cloudflare:workers";
import { isCount } from "../core/algorithm.ts";
import { isNamespace, NAMESPACE_EXPECTED, namespaceOf } from "../core/layout.ts";
import { type Stored, type TakeReply, type TakeRequest, take } from "../core/take.ts";
import { checkInstant, checkKeys, checkRequest } from "./check-request.ts";
import type { LiveText, ReplyWithVersion } from "./live.ts";
import { ObjectRows } from "./object-rows.ts";
import { orRejected, type Rejected, WrongRequest } from "./rejected.ts";

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
 * Then `durableObjectStore(env.COUNTS)` is a store. A method that is called wrongly answers `{ rejected }`, with a
 * message that says what was expected and where, and changes nothing. A reply leaves the object only after what it has
 * written is durable (Cloudflare's output gates).
 */
export class HeadgateCounts extends DurableObject {
  readonly #rows: ObjectRows;
  /** The live documents by namespace. */
  readonly #live = new Map<string, ObjectLive>();
  /** When the next alarm is due, ms since the epoch; infinite: there is none. */
  #alarmAtMs = Number.POSITIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#rows = new ObjectRows(ctx.storage);
    this.#liveOf("");
    ctx.blockConcurrencyWhile(async () => {
      this.#alarmAtMs = (await ctx.storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    });
  }

  /**
   * Checks every limit of the request, then counts under all of them or none.
   *
   * `nowMs` replaces the object's clock, in ms since the epoch: tests and simulation only.
   */
  async take(request: TakeRequest, nowMs?: number): Promise<ReplyWithVersion | Rejected> {
    const taken = orRejected(() => this.#take(request, nowMs));
    if ("rejected" in taken) return taken;
    const { reply, expiresAtMs } = taken;
    // An alarm that comes a little late is cheaper than one that is set again.
    if (expiresAtMs + ALARM_EVERY_MS < this.#alarmAtMs) {
      await this.#wakeAt(Math.max(expiresAtMs, Date.now() + ALARM_EVERY_MS));
    }
    const [first] = request.keys;
    const { charged: _, ...sent } = reply;
    return { ...sent, live: first ? this.#liveOf(namespaceOf(first.key)).read().version : 0 };
  }

  /** @returns with the reply, when the first row expires whose expiry has changed; infinite if there is none. */
  #take(request: TakeRequest, nowMs?: number): { readonly reply: TakeReply; readonly expiresAtMs: number } {
    checkRequest(request);
    checkInstant(nowMs);
    const clockMs = Date.now();
    const stored: Stored = (key, kind) => this.#rows.read(key, kind, clockMs);
    const { reply, written } = take(stored, request, nowMs ?? clockMs);
    return { reply, expiresAtMs: this.#rows.write(written, clockMs, nowMs) };
  }

  /** Forgets the counts of these keys. */
  async reset(keys: readonly string[]): Promise<undefined | Rejected> {
    return orRejected(() => {
      checkKeys(keys);
      const changes = keys.map((key) => ({ key, value: undefined, expiryMs: 0 }));
      this.#rows.write(changes, Date.now());
      return undefined;
    });
  }

  /** The live document of a namespace, unless the caller has this version of it. */
  async readLive(known?: number, namespace = ""): Promise<LiveText | undefined | Rejected> {
    return orRejected(() => {
      const live = this.#liveOf(namespace).read();
      return live.version === known ? undefined : live;
    });
  }

  /** Replaces the live document of this version. Undefined: there is another version by now. */
  async writeLive(text: string, version: number, namespace = ""): Promise<number | undefined | Rejected> {
    return orRejected(() => {
      if (typeof text !== "string" || !Number.isSafeInteger(version)) {
        throw new WrongRequest("writeLive: expected a string, and the version that it replaces");
      }
      return this.#liveOf(namespace).write(text, version);
    });
  }

  #liveOf(namespace: string): ObjectLive {
    const known = this.#live.get(namespace);
    if (known) return known;
    if (!isNamespace(namespace)) throw new WrongRequest(`namespace: expected ${NAMESPACE_EXPECTED}`);
    const live = new ObjectLive(this.ctx.storage.sql, namespace);
    this.#live.set(namespace, live);
    return live;
  }

  /** Answers: its duration is the latency. */
  async ping(): Promise<void> {}

  /** Removes expired rows. Cloudflare calls it; to call it at any other time does no harm. */
  override async alarm(): Promise<void> {
    const nowMs = Date.now();
    // If this alarm fails for good, the next charge sets another one.
    this.#alarmAtMs = Number.POSITIVE_INFINITY;
    const at = this.#rows.deleteExpired(nowMs, MAX_REMOVED);
    if (at === null) return;
    await this.#wakeAt(at <= nowMs ? nowMs + ALARM_AGAIN_MS : Math.max(at, nowMs + ALARM_EVERY_MS));
  }

  async #wakeAt(atMs: number): Promise<void> {
    this.#alarmAtMs = atMs;
    await this.ctx.storage.setAlarm(atMs);
  }
}

/**
 * The live document of a namespace: the only row of its table, `live` or `live:<namespace>`. SQLite ignores the case of
 * names: an underscore follows each capital.
 */
export class ObjectLive {
  readonly #sql: SqlStorage;
  readonly #table: string;
  /** Undefined: not read yet. Every reply has the version, and must not read a row for it. */
  #live: LiveText | undefined;

  /** @param namespace letters, digits and `-`: it becomes part of a name in SQL. */
  constructor(sql: SqlStorage, namespace = "") {
    this.#sql = sql;
    this.#table = namespace === "" ? "live" : `"live:${namespace.replace(/[A-Z]/g, "$&_")}"`;
    const columns = "id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, text TEXT NOT NULL";
    sql.exec(`CREATE TABLE IF NOT EXISTS ${this.#table} (${columns})`);
  }

  /** A version that is damaged counts as 0, as in Redis (lua/live.lua): the next change repairs it. */
  read(): LiveText {
    if (this.#live) return this.#live;
    const query = `SELECT version, text FROM ${this.#table}`;
    const { version, text } = this.#sql.exec<Record<keyof LiveText, SqlStorageValue>>(query).toArray()[0] ?? {};
    this.#live = { version: isCount(version) ? version : 0, text: typeof text === "string" ? text : undefined };
    return this.#live;
  }

  /** Returns the new version; undefined: there is another version by now, and nothing was written. */
  write(text: string, version: number): number | undefined {
    if (this.read().version !== version) return undefined;
    const next = version + 1;
    this.#sql.exec(
      `INSERT INTO ${this.#table} (id, version, text) VALUES (1, ?, ?)
       ON CONFLICT (id) DO UPDATE SET version = excluded.version, text = excluded.text`,
      ...[next, text],
    );
    this.#live = { version: next, text };
    return next;
  }
}
