/**
 * The Durable Object that adds up what all isolates have counted: docs/storage-schema.md. A batch is checked, added and
 * written in one turn without a pause.
 */

import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../../../kernel/config/bindings.ts";
import { orRejected, type Rejected } from "../../../kernel/store/rejected.ts";
import type { WarningBatch } from "../../alerts/batch.ts";
import { Alerts } from "../../alerts/queue.ts";
import { type Batch, checkBatch, checkMinutes } from "../batch.ts";
import { addClients, addWhere, clientsIn, DAY, HOUR, listsOf, type Top, whereIn, whereOfFirst } from "./counts.ts";
import { hourOf, type Recent, type StatsObject, shortened, type Totals, timelineOf } from "./reply.ts";
import { StatsRows } from "./rows.ts";
import type { StatsState } from "./state.ts";

/** After the end of an hour, so that a clock that is set back a little finds the hour still open. */
const FOLD_AFTER_MS = 60_000;

/**
 * The Durable Object that keeps the metrics, on SQLite. Export it from your Worker's main module and bind it as
 * `STATS`:
 *
 * ```toml
 * [[durable_objects.bindings]]
 * name = "STATS"
 * class_name = "HeadgateStats"
 *
 * [[migrations]]
 * tag = "v2"
 * new_sqlite_classes = ["HeadgateStats"]
 * ```
 *
 * A method that is called wrongly changes nothing: `add` answers `{ rejected }`, with a text that says what was
 * expected and where, and `read` rejects with a `TypeError`. A reply leaves the object only after what it has written
 * is durable (Cloudflare's output gates).
 */
export class HeadgateStats extends DurableObject implements StatsObject {
  readonly #rows: StatsRows;
  readonly #alerts: Alerts;
  /** Undefined: to be made of the rows. */
  #state: StatsState | undefined;
  /** When the next alarm is due, ms since the epoch; infinite: there is none. */
  #alarmAtMs = Number.POSITIVE_INFINITY;
  /** When rows are to be folded. Infinite: there is nothing to fold; negative: nobody knows. */
  #foldAtMs = Number.NEGATIVE_INFINITY;

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env);
    this.#rows = new StatsRows(ctx.storage);
    this.#alerts = new Alerts(ctx.storage, env as unknown as Bindings);
    ctx.blockConcurrencyWhile(async () => {
      this.#alarmAtMs = (await ctx.storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
    });
  }

  /** Adds a batch once, however often it is sent. */
  async add(batch: Batch): Promise<undefined | Rejected> {
    // What the object knows already is no fault of the batch: if it cannot be read, the batch is to be sent again.
    const state = this.#known();
    const nowMs = Date.now();
    const rejected = orRejected(() => this.#add(state, batch, nowMs));
    if (rejected) return rejected;
    const foldAtMs = hourAfter(nowMs);
    this.#foldAtMs = Math.min(this.#foldAtMs, foldAtMs);
    await this.#wakeBy(foldAtMs);
    return undefined;
  }

  /** Takes warnings, each once, and delivers them soon. */
  async warn(batch: WarningBatch): Promise<undefined | Rejected> {
    const nowMs = Date.now();
    const rejected = orRejected(() => this.#alerts.add(batch, nowMs));
    if (!rejected) await this.#wakeBy(this.#alerts.dueAtMs(nowMs));
    return rejected;
  }

  #add(state: StatsState, batch: Batch, nowMs: number): undefined {
    checkBatch(batch);
    if (state.has(batch)) return;
    try {
      this.#rows.writeMinute(state.add(batch, nowMs), nowMs);
      this.#rows.writeOpen(batch, nowMs);
    } catch (error) {
      // What could not be written must not be answered either.
      this.#state = undefined;
      throw error;
    }
  }

  /** The last minutes, 1 … 43,200: a step a minute up to a day, a step an hour beyond, longer with very many points. */
  async read(minutes: number): Promise<Recent> {
    checkMinutes(minutes);
    const nowMs = Date.now();
    const state = this.#known();
    const now = state.minuteAt(nowMs);
    const from = now - minutes + 1;
    const timeline =
      minutes <= DAY
        ? timelineOf(from, now, 1, this.#rows.minutesFrom(from))
        : timelineOf(hourOf(from), now, HOUR, this.#rows.hoursFrom(hourOf(from)));
    return {
      timeline: shortened(timeline),
      ...this.#topSince(from, minutes),
      open: this.#rows.openByPlace(nowMs),
      heardAtMs: state.heardAtMs,
    };
  }

  /** The sums since counting began. */
  async totals(): Promise<Totals> {
    const sums = new Map([...this.#known().totals, ...this.#alerts.counted()]);
    return { sums, open: this.#rows.openByPlace(Date.now()) };
  }

  /**
   * Makes rows of hours, deletes old rows, and delivers warnings. Cloudflare calls it; to call it at any other time
   * does no harm.
   */
  override async alarm(): Promise<void> {
    const nowMs = Date.now();
    // If this alarm fails for good, the next batch sets another one.
    this.#alarmAtMs = Number.POSITIVE_INFINITY;
    // To fold takes the state from memory: warnings, which may come each second, must not do that.
    const isForWarnings = this.#alerts.dueAtMs(nowMs) <= nowMs;
    if (!isForWarnings || nowMs >= this.#foldAtMs) this.#fold(nowMs);
    const deliverAtMs = await this.#alerts.deliver();
    const nextMs = Math.min(this.#foldAtMs, deliverAtMs);
    if (nextMs < Number.POSITIVE_INFINITY) await this.#wakeAt(nextMs);
  }

  #fold(nowMs: number): void {
    const left = this.#rows.foldAndDelete(this.#known().minuteAt(nowMs));
    this.#state = undefined;
    this.#rows.deleteOldOpen(nowMs);
    this.#alerts.forgetEnded(nowMs);
    const nextMs = { minutes: hourAfter(nowMs), hours: nowMs + DAY * 60_000, nothing: Number.POSITIVE_INFINITY };
    this.#foldAtMs = nextMs[left];
  }

  #known(): StatsState {
    this.#state ??= this.#rows.state();
    return this.#state;
  }

  /** For more than an hour, whole hours are read: the minutes of a day hold 60 times as many clients. */
  #topSince(from: number, minutes: number): Pick<Recent, "top" | "where"> {
    const [top, where]: [Top, Top] = [new Map(), new Map()];
    const rows = minutes <= HOUR ? this.#rows.minutesFrom(from) : this.#rows.hoursFrom(hourOf(from));
    for (const row of rows) {
      addClients(top, clientsIn(row.top));
      addWhere(where, whereIn(row.top), top);
    }
    const lists = listsOf(top);
    return { top: lists, where: whereOfFirst(lists, where) };
  }

  async #wakeBy(atMs: number): Promise<void> {
    if (atMs < this.#alarmAtMs) await this.#wakeAt(atMs);
  }

  async #wakeAt(atMs: number): Promise<void> {
    this.#alarmAtMs = atMs;
    await this.ctx.storage.setAlarm(atMs);
  }
}

/** When the current hour can be made a row. */
function hourAfter(nowMs: number): number {
  const hourMs = HOUR * 60_000;
  return nowMs - (nowMs % hourMs) + hourMs + FOLD_AFTER_MS;
}
