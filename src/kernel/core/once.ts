/**
 * Charging once: a request that is sent again, with the same id, is admitted without a charge. An id is what the client
 * has sent, with the method, the path and the cost of its request: the store gets one hash of them. A reservation that
 * another process settles has an id too, under which it is settled once. Pure. Mirror: lua/once.lua.
 */

import { isCount, type KeptValue } from "./algorithm.ts";
import { Flag, MAX_WINDOW_MS } from "./layout.ts";

/** The id of a request under one key, and what its policy says about ids. */
export interface Once {
  /** The hash. */
  readonly id: string;
  /** For how long repeats are admitted, in ms: 1 s … 1 h. */
  readonly forMs: number;
  /** How many repeats are admitted without being counted, 1 … 10. Of a settlement 0: an older store rejects it. */
  readonly repeats: number;
  /**
   * With `Flag.giveBack` or `Flag.chargeAnyway`: the units that a reservation has used, 0 … 10^9. If its id is known,
   * nothing changes. Otherwise the id is kept for `forMs`, also if the cost is 0. Absent: no reservation is settled.
   */
  readonly settles?: number;
  /** With `Flag.giveBack`: the request was a repeat. Absent: it was counted. */
  readonly isRepeat?: true;
}

/** What is stored of an id. */
export interface OnceValue {
  /** `forMs` after the charge, ms since the epoch. Repeats do not move it. */
  readonly endsAtMs: number;
  /** The repeats that were admitted, or the units that a settled reservation has used. */
  readonly used: number;
}

/** The key of an id. It lies beside the key of the records, in the same hash slot of a cluster. */
export function onceKeyOf(key: string, { id }: Once): string {
  return `${key}!${id}`;
}

/** Undefined: the id has ended, or its instant is one that no clock reaches. */
export function readOnce(value: OnceValue | undefined, nowMs: number): OnceValue | undefined {
  const leftMs = value ? value.endsAtMs - nowMs : 0;
  return leftMs > 0 && leftMs <= MAX_WINDOW_MS ? value : undefined;
}

/**
 * A request whose id is known. `repeat`: no limit of its key refuses it. `beyond`: its repeats are used up, and it is
 * charged as without an id.
 */
export type Repetition = "repeat" | "beyond";

/** undefined: nothing is known of the id, or no request is decided. @param known as `readOnce` returns it. */
export function repetitionOf(
  { repeats }: Once,
  known: OnceValue | undefined,
  flag: Flag,
  cost: number,
): Repetition | undefined {
  const decides = flag === Flag.take || flag === Flag.look;
  if (!decides || cost === 0 || !known) return undefined;
  return known.used < repeats ? "repeat" : "beyond";
}

/** What a decision does to a key with an id. */
interface OnceChange {
  /** Whether the limits of the key are charged, or get back what was charged. */
  readonly changesLimits: boolean;
  /** What is to be stored. Absent: what is stored stays. */
  readonly written?: { readonly kept: KeptValue<OnceValue> | undefined };
}

/**
 * A charge begins an id, and a repeat is counted. A charge beyond the repeats does not begin it again.
 *
 * Giving back undoes one request of an id. While others of the same id were admitted, one of them needs the charge: one
 * repeat less is counted, and the units stay. The last one gives the units back, and the id is forgotten. A request
 * beyond the repeats has a charge of its own, and is undone without its id.
 *
 * @param known as `readOnce` returns it. @param repetition as `repetitionOf` returns it.
 */
export function changeOnce(
  { forMs, isRepeat, settles }: Once,
  known: OnceValue | undefined,
  flag: Flag,
  repetition: Repetition | undefined,
  nowMs: number,
): OnceChange {
  if (settles !== undefined) {
    if (known) return { changesLimits: false };
    return {
      changesLimits: true,
      written: { kept: { value: { endsAtMs: nowMs + forMs, used: settles }, expiryMs: forMs } },
    };
  }
  if (flag === Flag.chargeAnyway) return { changesLimits: true };
  const undoes = flag === Flag.giveBack;
  if (undoes && !known) return { changesLimits: !isRepeat };
  if (undoes && known!.used === 0) return { changesLimits: true, written: { kept: undefined } };
  if (repetition === "beyond") return { changesLimits: true };
  const endsAtMs = known ? known.endsAtMs : nowMs + forMs;
  const used = known ? known.used + (undoes ? -1 : 1) : 0;
  const kept = { value: { endsAtMs, used }, expiryMs: endsAtMs - nowMs };
  return { changesLimits: !known, written: { kept } };
}

/** What the script gets about an id beside how long it lasts. Below 0: a reservation is settled. */
export function sentOf({ settles, isRepeat, repeats }: Once, flag: Flag): number {
  if (settles !== undefined) return -1 - settles;
  return flag === Flag.giveBack ? Number(isRepeat ?? false) : repeats;
}

/** What a reply says about an id. */
export interface Replied {
  readonly repeated?: true;
  readonly beyond?: true;
  readonly settled?: number;
}

const REPLIED: readonly Replied[] = [{}, { repeated: true }, { beyond: true }];

/** @param mark the script's integer for an id. Undefined: it replies no such one. */
export function repliedOf(mark: number): Replied | undefined {
  return mark < REPLIED.length ? REPLIED[mark] : { settled: mark - REPLIED.length };
}

/** What a text says, where a storage keeps nothing else. undefined: no such value. */
export function parseOnce(json: unknown): OnceValue | undefined {
  const { endsAtMs, used } = (json ?? {}) as Partial<OnceValue>;
  return isCount(endsAtMs) && isCount(used) ? { endsAtMs, used } : undefined;
}
