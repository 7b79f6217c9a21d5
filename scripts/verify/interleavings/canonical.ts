/**
 * The canonical form of a state: states with the same form are explored once. Instants are relative to now, numbers are
 * renamed in their order, and isolates are interchangeable. A field that this file does not know is an error: a state
 * is never merged by less than everything that it depends on.
 */

import type { Memory } from "../../../src/isolate/memory.ts";

/** Instants in ms since the epoch, by any clock. The offset of each clock is part of the form. */
const INSTANTS = new Set(
  (
    "atMs receivedAtMs storeAtMs newestMs chargedAtMs bucketAtMs endsAtMs reviewedAtMs firstAtMs lastAtMs " +
    "worthlessToMs repliedAtMs pausedUntilMs returnsUntilMs freeAtMs resetAtMs newestAtMs nowMs"
  ).split(" "),
);
/** Numbers of the memory's one sequence. */
const NUMBERS = new Set("last step forgottenReset call heard reset number since lease".split(" "));
/** Maps whose keys are numbers of that sequence. */
const BY_NUMBER = new Set("asked unanswered waiting asks repaying".split(" "));
/** Plain values. */
const PLAIN = new Set(
  (
    "clock offset low high callMs forgottenMs records owing keysPerRepayment slots cost limits replies " +
    "hasSettled mayRefuse isBegun leases pending own values debt units needed isCounted span record kind limit " +
    "windowMs bucketMs buckets count counts scope refused view inFlight timeoutMs used charged left isShort " +
    "event reply isLate ahead reserved lifeMs mostUnits pauseMs flag keys group key slot allowed pausedMs"
  ).split(" "),
);
/**
 * Left out. `room`, `rooms`, `generation` and `bytes` say what is forgotten when a memory is full, which these never
 * are. The others of a lease are read only by src/isolate/lease-size.ts, which is replaced by choices.
 */
const LEFT_OUT = new Set(
  "room rooms generation bytes events demand demandAtMs requests seenMs latest chargedPerMs ownPart".split(" "),
);

/** Everything that a form is made relative to. */
export class Forms {
  readonly #nowMs: number;
  #numbers: number[] = [];

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  instant(atMs: number): string {
    return atMs === 0 || !Number.isFinite(atMs) ? String(atMs) : `t${round(atMs - this.#nowMs)}`;
  }

  /**
   * The form of one isolate. @param traces what its flows have seen, with numbers of the memory as `[number]`.
   */
  isolate(memory: Memory, traces: readonly unknown[]): string {
    this.#numbers = [];
    const text = `${this.#of(memory, "")} ${this.#of(traces, "")}`;
    const ranks = new Map([...new Set(this.#numbers)].sort((a, b) => a - b).map((one, i) => [one, i + 1]));
    ranks.set(0, 0);
    return text.replace(/#(\d+)#/g, (_, number: string) => `n${ranks.get(Number(number))}`);
  }

  plain(value: unknown): string {
    return this.#of(value, "").replaceAll("#", "");
  }

  #number(value: number): string {
    if (value > 0) this.#numbers.push(value);
    return `#${value}#`;
  }

  #of(value: unknown, name: string): string {
    if (typeof value === "number") {
      if (NUMBERS.has(name)) return this.#number(value);
      if (INSTANTS.has(name)) return this.instant(value);
      return String(round(value));
    }
    if (typeof value !== "object" || value === null) return String(value);
    if (Array.isArray(value)) return `[${value.map((one) => this.#of(one, name)).join()}]`;
    if (value instanceof Set) return `{${[...value].map((one) => this.#of(one, name)).join()}}`;
    if (value instanceof Map) {
      const entries = [...value].map(([key, one]) => {
        const text = BY_NUMBER.has(name) ? this.#number(key) : String(key);
        return `${text}:${typeof one === "number" ? this.instant(one) : this.#of(one, "")}`;
      });
      // The order of keys means nothing, that of numbers is the order in which they began.
      return `{${(BY_NUMBER.has(name) ? entries : entries.sort()).join()}}`;
    }
    return `(${this.#fields(value as Record<string, unknown>)})`;
  }

  #fields(value: Record<string, unknown>): string {
    const parts: string[] = [];
    for (const name of Object.keys(value)) {
      const one = value[name];
      if (LEFT_OUT.has(name) || one === undefined) continue;
      // The limits of a mode differ by their number alone.
      if (name === "limits") {
        parts.push(`limits:${(one as readonly { limit: number }[]).map(({ limit }) => limit)}`);
        continue;
      }
      // The number of a bucket or window.
      if (name === "newest") {
        const lengthMs = (value.bucketMs ?? value.windowMs) as number;
        parts.push(`newest:${(one as number) - Math.floor(this.#nowMs / lengthMs)}`);
      } else if (INSTANTS.has(name) || NUMBERS.has(name) || BY_NUMBER.has(name) || PLAIN.has(name)) {
        parts.push(`${name}:${this.#of(one, name)}`);
      } else throw new Error(`canonical form: expected a known field, found ${name}`);
    }
    return parts.sort().join();
  }
}

/** Drifts of clocks are far smaller than 1 ms: what is told and decided is in whole ms. */
function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
