/**
 * The canonical form of a state: states with the same form are explored once. Instants are relative to now, numbers are
 * renamed in their order, and isolates are interchangeable. A field that this file does not know is an error: a state
 * is never merged by less than everything that it depends on.
 */

import type { Slots } from "../../../src/kernel/core/concurrency.ts";
import type { LimitRequest } from "../../../src/kernel/core/take.ts";
import type { Memory } from "../../../src/kernel/place/memory.ts";

/** Instants in ms since the epoch, by any clock. The offset of each clock is part of the form. */
const INSTANTS = new Set(
  (
    "atMs receivedAtMs storeAtMs newestMs chargedAtMs bucketAtMs endsAtMs reviewedAtMs firstAtMs lastAtMs " +
    "worthlessToMs repliedAtMs pausedUntilMs returnsUntilMs untilMs resetAtMs newestAtMs nowMs decidedAtMs " +
    "lastAtMs lookedThroughAtMs dueAtMs timerAtMs heardAtMs recentAtMs closeAtMs roundedAtMs ownAtMs busyAtMs"
  ).split(" "),
);
/** Numbers of the memory's one sequence. */
const NUMBERS = new Set("last step forgottenReset call heard reset number since lease".split(" "));
/** Maps whose keys are numbers of that sequence. */
const BY_NUMBER = new Set("asked unanswered waiting asks repaying".split(" "));
/** Plain values. */
const PLAIN = new Set(
  (
    "clock offset low high callMs forgottenMs records owing leased lone giveBacks request cost limits replies " +
    "hasSettled mayRefuse isBegun leases pending own values debts units needed isCounted span record kind limit " +
    "windowMs bucketMs buckets count counts scope refused view inFlight timeoutMs used charged left isShort " +
    "failure event reply isLate isVoid ahead reserved lifeMs mostUnits pauseMs flag keys group key slot allowed pausedMs " +
    "telling spread syncMs isUnsure isApart looks shared isHeldBack part learned isFirst delayMs recent rounding rest surely others othersPerMs views leastWaitMs " +
    "calendar repeated beyond once id forMs repeats isRepeat"
  ).split(" "),
);
/**
 * Left out. No decision depends on `losses` and `addedAtMs`.
 * No place has a breaker: `tellingAtMs`, `slowAtMs`, `sent` and `shown` change nothing. `room`, `rooms`,
 * `generation` and `bytes` say what is forgotten when a memory is full, which these never are. The others of a lease
 * are read only by src/features/leases/lease-size.ts, which is replaced by choices.
 */
const LEFT_OUT = new Set(
  "losses addedAtMs tellingAtMs slowAtMs sent shown room rooms generation bytes events demand demandAtMs requests seenMs latest chargedPerMs ownPart".split(
    " ",
  ),
);

/** Everything that a form is made relative to. */
export class Forms {
  readonly #nowMs: number;
  /** The numbers of each place's memory. */
  #numbers: number[][] = [];
  /** The place whose numbers are meant. */
  #place = 0;

  constructor(nowMs: number) {
    this.#nowMs = nowMs;
  }

  instant(atMs: number): string {
    return atMs === 0 || !Number.isFinite(atMs) ? String(atMs) : `t${round(atMs - this.#nowMs)}`;
  }

  /**
   * The form of one isolate. @param memories one for each place. @param traces what its flows have seen: a field `seen`
   * has numbers of each of these memories.
   */
  isolate(memories: readonly Memory[], traces: readonly unknown[]): string {
    this.#numbers = memories.map(() => []);
    const text = `${this.#byPlace(memories)} ${this.#of(traces, "")}`;
    const ranks = this.#numbers.map((all) => {
      return new Map([...new Set(all)].sort((a, b) => a - b).map((one, i) => [one, i + 1]));
    });
    return text.replace(/#(\d+):(\d+)#/g, (_, place: string, number: string) => {
      return number === "0" ? "n0" : `n${ranks[Number(place)]!.get(Number(number))}`;
    });
  }

  #byPlace(values: readonly unknown[]): string {
    const texts = values.map((one, place) => {
      this.#place = place;
      return this.#of(one, "");
    });
    this.#place = 0;
    return texts.join();
  }

  /** By slot: when it lapses. */
  slots(slots: Slots): string {
    const kept = [...slots].filter(([, atMs]) => atMs > this.#nowMs).sort(([one], [other]) => one - other);
    return `{${kept.map(([slot, atMs]) => `${slotForm(slot)}:${this.instant(atMs)}`).join()}}`;
  }

  /** The limits of a mode differ by their number alone, and those of debts and returns by their instant. */
  limits(limits: readonly LimitRequest[]): string {
    return limits.map(({ limit, atMs }) => (atMs ? `${limit} ${this.instant(atMs)}` : String(limit))).join();
  }

  plain(value: unknown): string {
    return this.#of(value, "").replaceAll("#", "");
  }

  #number(value: number): string {
    if (value > 0) this.#numbers[this.#place]?.push(value);
    return `#${this.#place}:${value}#`;
  }

  #of(value: unknown, name: string): string {
    if (typeof value === "number") {
      if (NUMBERS.has(name)) return this.#number(value);
      if (name === "slot") return slotForm(value);
      if (INSTANTS.has(name)) return this.instant(value);
      return String(round(value));
    }
    if (typeof value !== "object" || value === null) return String(value);
    if (Array.isArray(value)) return `[${value.map((one) => this.#of(one, name)).join()}]`;
    if (value instanceof Set) return `{${[...value].map((one) => this.#of(one, name)).join()}}`;
    if (value instanceof Map && name === "slotsOfLimit") return this.slots(value as Slots);
    if (value instanceof Map) {
      const entries = [...value].map(([key, one]) => {
        const text = BY_NUMBER.has(name) ? this.#number(key) : String(key);
        return `${text}:${typeof one === "number" ? this.instant(one) : this.#of(one, name === "values" ? "slotsOfLimit" : "")}`;
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
      if (name === "limits") {
        parts.push(`limits:${this.limits(one as readonly LimitRequest[])}`);
        continue;
      }
      // The number of a bucket or window.
      if (name === "seen") parts.push(`seen:${this.#byPlace(one as readonly unknown[])}`);
      else if (name === "newest") {
        const lengthMs = (value.bucketMs ?? value.windowMs) as number;
        parts.push(`newest:${(one as number) - Math.floor(this.#nowMs / lengthMs)}`);
      } else if (INSTANTS.has(name) || NUMBERS.has(name) || BY_NUMBER.has(name) || PLAIN.has(name)) {
        parts.push(`${name}:${this.#of(one, name)}`);
      } else throw new Error(`canonical form: expected a known field, found ${name}`);
    }
    return parts.sort().join();
  }
}

/** Slots are renamed in the order in which they were given. */
export function slotForm(slot: number): string {
  return slot === 0 ? "0" : `@slot:${slot}@`;
}

/** Drifts of clocks are far smaller than 1 ms: what is told and decided is in whole ms. */
function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
