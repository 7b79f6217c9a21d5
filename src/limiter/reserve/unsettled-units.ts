/**
 * Units that requests of this isolate have reserved under a meter and not settled yet. The store counts what is spent
 * and what is reserved in one number: a look tells them apart as far as this isolate knows.
 */

import { BoundedMap } from "../../bounded-map.ts";
import { algorithmOf, type LimitRecord } from "../../core/algorithms.ts";
import type { Decision, LimitDecision } from "../../core/decision.ts";
import type { Limit } from "../../core/policy.ts";
import type { Answered, Charge, PolicyKey } from "../decide.ts";

/** How many keys of the store are known at least. What is reserved under others looks as if it was spent. */
const MAX_KEYS = 1_000;
/** How many reservations of one key are known at most: a program may never settle any. */
const MAX_OF_KEY = 2_000;
/**
 * After this long a reservation looks as if it was spent, in ms: the runtime may have ended its request without a word.
 * Clients of language models wait for 10 minutes at most by default (2026-11).
 */
const FORGOTTEN_MS = 600_000;

/** What one request has reserved under one key. */
interface Unsettled {
  readonly units: number;
  /** The instant of the charge by the clock of the place, ms since the epoch. */
  readonly atMs: number;
}

/** The unsettled units of a limiter. */
export interface UnsettledUnits {
  begin(): OwnUnsettledUnits;
  /** The answer to a look, with `reserved` under the limits of policies with a meter. */
  shown(answered: Answered, keys: readonly PolicyKey[]): Decision;
  /** The counts of a key of the store were reset: what is reserved there is not among those that follow. */
  forget(key: string): void;
}

/** Those of one request. */
export interface OwnUnsettledUnits {
  add(charges: readonly Charge[]): void;
  /** The request is about to settle. It is called before the store settles, so that `reserved` is never too much. */
  end(): void;
}

export function createUnsettledUnits(): UnsettledUnits {
  const all = new BoundedMap<string, Set<Unsettled>>({ maxSize: MAX_KEYS });

  function begin(): OwnUnsettledUnits {
    const begun: (readonly [key: string, own: Set<Unsettled>, one: Unsettled])[] = [];
    return {
      add(charges) {
        // Own counters and the store may both have charged a key.
        const byKey = new Map(charges.flatMap(({ keys, atMs }) => keys.map((one) => [one.request.key, { one, atMs }])));
        for (const [key, { one, atMs }] of byKey) {
          const { cost: units } = one.request;
          if (!one.policy.meter || units === 0) continue;
          const own = all.get(key) ?? new Set();
          // The oldest come first.
          for (const other of own) {
            if (atMs - other.atMs < FORGOTTEN_MS && own.size < MAX_OF_KEY) break;
            own.delete(other);
          }
          const unsettled = { units, atMs };
          own.add(unsettled);
          all.set(key, own);
          begun.push([key, own, unsettled]);
        }
      },
      end() {
        for (const [key, own, one] of begun) {
          own.delete(one);
          if (own.size === 0 && all.get(key) === own) all.delete(key);
        }
      },
    };
  }

  function reservedUnder({ limit, remaining }: LimitDecision, keys: readonly PolicyKey[], nowMs: number): number {
    const key = keys.find(({ limits }) => limits.includes(limit))?.request.key;
    const units = countedOf(all.get(key ?? "") ?? [], limit, nowMs);
    return Math.min(units, Math.max(0, algorithmOf(limit).quota(limit).quota - remaining));
  }

  return {
    begin,
    shown({ decision, atMs }, keys) {
      const withReserved = (one: LimitDecision): LimitDecision =>
        one.limit.unit && atMs !== undefined ? { ...one, reserved: reservedUnder(one, keys, atMs) } : one;
      return { ...decision, limits: decision.limits.map(withReserved), shadow: decision.shadow.map(withReserved) };
    },
    forget: (key) => all.delete(key),
  };
}

/** What the limit would count if it had been charged with these alone: a window forgets them, and a bucket refills. */
function countedOf(unsettled: Iterable<Unsettled>, limit: Limit, nowMs: number): number {
  const { read, charge, record, view, remaining, quota } = algorithmOf(limit);
  let last: LimitRecord | undefined;
  for (const { units, atMs } of unsettled) {
    // After: the clock of the place was set back.
    if (nowMs - atMs >= FORGOTTEN_MS || atMs > nowMs) continue;
    const state = read(last, undefined, limit, atMs);
    last = record(charge(state, limit, units, { nowMs: atMs, atMs: 0, slot: 0 }));
  }
  if (!last) return 0;
  return quota(limit).quota - remaining(view(read(last, undefined, limit, nowMs), limit, 0, false), limit, nowMs);
}
