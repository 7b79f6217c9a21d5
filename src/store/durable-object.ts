/**
 * The Durable Object that counts. Its rows are what Redis's keys are: docs/storage-schema.md. Reading, deciding and
 * writing happen in one turn without a pause: no other request sees half of a decision.
 */

import { DurableObject } from "cloudflare:workers";
import type { LimitValue } from "../core/algorithms.ts";
import type { Records } from "../core/records.ts";
import { type TakeReply, type TakeRequest, take } from "../core/take.ts";
import { checkInstant, checkKeys, checkRequest } from "./check-request.ts";
import type { LiveText, ToldReply } from "./live.ts";
import { ObjectLive } from "./object-live.ts";
import { ObjectRows } from "./object-rows.ts";

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
  readonly #rows: ObjectRows;
  readonly #live: ObjectLive;
  /** When the next alarm is due, ms since the epoch; infinite: there is none. */
  #alarmAtMs = Number.POSITIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#rows = new ObjectRows(ctx.storage);
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
    const clockMs = Date.now();
    // The casts hold: records and values of limits have different keys.
    const stored = {
      records: (key: string) => this.#rows.read(key, clockMs) as Records | undefined,
      value: (key: string) => this.#rows.read(key, clockMs) as LimitValue | undefined,
    };
    const { reply, records, values } = take(stored, request, nowMs ?? clockMs);
    const changes = [
      ...records.map(({ key, records, expiryMs }) => ({ key, value: records, expiryMs })),
      ...values.map(({ key, kept }) => ({ key, value: kept?.value, expiryMs: kept?.expiryMs ?? 0 })),
    ];
    if (changes.length === 0) return reply;
    const expiresAtMs = this.#rows.write(changes, clockMs, nowMs);
    // An alarm that comes a little late is cheaper than one that is set again.
    if (expiresAtMs + ALARM_EVERY_MS < this.#alarmAtMs) {
      await this.#wakeAt(Math.max(expiresAtMs, clockMs + ALARM_EVERY_MS));
    }
    return reply;
  }

  /** Forgets the counts of these keys. */
  async reset(keys: readonly string[]): Promise<void> {
    checkKeys(keys);
    const changes = keys.map((key) => ({ key, value: undefined, expiryMs: 0 }));
    this.#rows.write(changes, Date.now());
  }

  /** The live document, unless the caller has this version of it. */
  async readLive(known?: number): Promise<LiveText | undefined> {
    const live = this.#live.read();
    return live.version === known ? undefined : live;
  }

  /** Replaces the live document of this version. Undefined: there is another version by now. */
  async writeLive(text: string, version: number, next?: number): Promise<number | undefined> {
    if (typeof text !== "string" || ![version, next ?? 1].every(Number.isSafeInteger)) {
      throw new TypeError("writeLive: expected a text, the version that it replaces, and perhaps the new version");
    }
    return this.#live.write(text, version, next);
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
