/** Lines that a gateway has recorded: their order within one millisecond, and how far they agree with the replay. */

import type { LogEntry } from "../log/entry.ts";

/**
 * The entries of one millisecond with the admitted before the refused. Their true order is not known. A refused request
 * stays refused after others that were admitted in that instant; admitted ones fit in any order.
 */
export class InstantOrder {
  #admitted: LogEntry[] = [];
  #refused: LogEntry[] = [];
  #atMs = Number.NaN;

  /** Takes the next entry. @returns those that are complete now. */
  add(entry: LogEntry): readonly LogEntry[] {
    const complete = entry.atMs === this.#atMs ? NONE : this.end();
    this.#atMs = entry.atMs;
    (entry.recorded?.allowed === false ? this.#refused : this.#admitted).push(entry);
    return complete;
  }

  /** The entries that are left. */
  end(): readonly LogEntry[] {
    if (this.#admitted.length + this.#refused.length === 0) return NONE;
    const complete = this.#refused.length === 0 ? this.#admitted : this.#admitted.concat(this.#refused);
    [this.#admitted, this.#refused] = [[], []];
    return complete;
  }
}

const NONE: readonly LogEntry[] = [];

interface Agreed {
  lines: number;
  newlyRefused: number;
  newlyAdmitted: number;
}

/**
 * What the present configuration decides otherwise than the gateway did, by who answered there: several isolates,
 * leases and outages decide by other counts.
 */
export class Agreement {
  readonly #bySource = new Map<string, Agreed>();

  count(recorded: { readonly source: string; readonly allowed: boolean }, allowed: boolean): void {
    let agreed = this.#bySource.get(recorded.source);
    if (!agreed) {
      agreed = { lines: 0, newlyRefused: 0, newlyAdmitted: 0 };
      this.#bySource.set(recorded.source, agreed);
    }
    agreed.lines++;
    if (recorded.allowed && !allowed) agreed.newlyRefused++;
    if (!recorded.allowed && allowed) agreed.newlyAdmitted++;
  }

  notes(configuration: string): string[] {
    return [...this.#bySource].map(([source, { lines, newlyRefused, newlyAdmitted }]) => {
      const of = `of ${lines} decisions that were recorded with the source ${source}`;
      if (newlyRefused + newlyAdmitted === 0) return `${configuration}: all ${of} are the same in the replay`;
      const what = `${newlyRefused} admitted ones are refused, ${newlyAdmitted} refused ones are admitted`;
      return `${configuration}: ${newlyRefused + newlyAdmitted} ${of} differ in the replay: ${what}`;
    });
  }
}
