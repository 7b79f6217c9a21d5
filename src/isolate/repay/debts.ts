/**
 * Units that this isolate admitted although its store is known not to have counted them. They are charged once, when
 * the store answers again, as of that instant. Only what still counts is charged, and not more than the smallest limit
 * of the key holds: repaying alone keeps a client out for no longer than that limit does.
 */

import { Kind } from "../../core/algorithm.ts";
import type { LimitSpec } from "../../core/algorithms.ts";
import { algorithmOf } from "../../core/algorithms.ts";
import { withoutSlots } from "../../core/concurrency.ts";
import {
  chargeWindow,
  giveBackWindow,
  newWindow,
  rollWindow,
  type WindowLimit,
  type WindowRecord,
  windowRemaining,
} from "../../core/sliding-window.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../core/take.ts";
import { failureOf } from "../../store/failure.ts";
import type { Takes } from "../store-calls.ts";

/** The key charged longest ago is dropped first. */
const MAX_KEYS = 1_000;
/** Buckets per window: a debt expires at most one eighth of a window late. */
const PARTS = 8;
/** Keys that one call repays, unless the store has refused a call of several. */
const KEYS_PER_CALL = 50;

interface Debt {
  readonly limits: readonly LimitSpec[];
  /** The longest window and the smallest limit of the key, with the largest numbers that a request had. */
  readonly span: WindowLimit;
  readonly record: WindowRecord;
  /** The number of the first `add` of this debt. */
  readonly since: number;
}

/** A debt that was sent to the store. */
interface Repayment {
  readonly key: string;
  readonly debt: Debt;
  /** By the clock of `add`. */
  readonly sentAtMs: number;
}

/** What one `add` has added. */
export interface Owed {
  readonly atMs: number;
  /** The number of the `add`. */
  readonly number: number;
}

export interface Debts {
  readonly size: number;
  /**
   * The units that counts of the store lack, because this key owes them. Units on their way to the store are among
   * them, and those of which nobody knows whether they have arrived. A unit that has left the longest window is no
   * longer owed.
   *
   * @param nowMs and @param askedAtMs as for `add`: now, and when the store was asked for these counts.
   */
  units(key: string, nowMs: number, askedAtMs: number): number;
  /** Adds admitted units, without slots and without policies in shadow. @param nowMs always by the same clock. */
  add(keys: readonly KeyRequest[], nowMs: number): Owed;
  /** Takes back units that an earlier `add` has added. Units that were repaid meanwhile stay charged. */
  takeBack(keys: readonly KeyRequest[], owed: Owed): void;
  /** These keys were reset: they owe nothing. */
  forget(keys: readonly string[]): void;
  /** Charges some of the debts, in one call at most. Never rejects because of the store. */
  repay(store: Takes, nowMs: number): Promise<void>;
}

export function createDebts(): Debts {
  const debts = new Map<string, Debt>();
  /**
   * What is on its way to the store, or has perhaps arrived there, the oldest first. A reset removes its keys: their
   * debts are not put back.
   */
  const repaying = new Set<Repayment>();
  let keysPerCall = KEYS_PER_CALL;
  let adds = 0;

  function add(keys: readonly KeyRequest[], nowMs: number): Owed {
    const number = ++adds;
    for (const { key, group, cost, limits: all } of keys) {
      const limits = withoutSlots(all);
      if (group !== ENFORCED || cost === 0 || limits.length === 0) continue;
      const known = debts.get(key);
      const span = largerSpan(spanOf(limits), known?.span);
      const record = rollWindow(known?.record ?? newWindow(span, nowMs), nowMs);
      put(key, { limits, span, record: chargeWindow(record, cost), since: known?.since ?? number });
    }
    return { atMs: nowMs, number };
  }

  function put(key: string, debt: Debt): void {
    debts.delete(key);
    debts.set(key, debt);
    const [oldest] = debts.keys();
    if (debts.size > MAX_KEYS) debts.delete(oldest!);
  }

  /** Puts debts back that were not repaid, at the instants of their admissions, beside debts that were added since. */
  function putBack(key: string, debt: Debt, nowMs: number): void {
    const { record: later, span } = debts.get(key) ?? {};
    const record = rollWindow(debt.record, later ? Math.max(nowMs, later.newest * later.bucketMs) : nowMs);
    const counts = record.counts.map((units, b) => units + (later?.counts[b] ?? 0));
    put(key, { ...debt, span: largerSpan(debt.span, span), record: { ...record, counts } });
  }

  return {
    add,
    takeBack(keys, { atMs, number }) {
      for (const { key, cost } of keys) {
        const debt = debts.get(key);
        if (debt && debt.since <= number) debts.set(key, { ...debt, record: giveBackWindow(debt.record, cost, atMs) });
      }
    },
    units(key, nowMs, askedAtMs) {
      const debt = debts.get(key);
      let units = debt ? unitsOf(debt, nowMs) : 0;
      for (const one of repaying) {
        if (one.key === key && one.sentAtMs >= askedAtMs) units += unitsOf(one.debt, nowMs);
      }
      return units;
    },
    forget(keys) {
      for (const key of keys) debts.delete(key);
      for (const one of repaying) if (keys.includes(one.key)) repaying.delete(one);
    },
    get size() {
      return debts.size;
    },

    async repay(store, nowMs) {
      // Take the debts out before the call: no other request may repay them, and a charge that may have run is never
      // repeated.
      const taken = [...debts].slice(0, keysPerCall);
      for (const [key] of taken) debts.delete(key);
      const keys = taken.flatMap(([key, { limits, span, record }]): KeyRequest[] => {
        const cost = span.limit - windowRemaining(rollWindow(record, nowMs), span.limit, nowMs);
        return cost > 0 ? [{ key, group: ENFORCED, cost, limits }] : [];
      });
      if (keys.length === 0) return;
      const sent = taken.map(([key, debt]): Repayment => ({ key, debt, sentAtMs: nowMs }));
      for (const one of sent) {
        repaying.add(one);
        const [oldest] = repaying;
        if (repaying.size > MAX_KEYS) repaying.delete(oldest!);
      }
      const arrived = () => sent.filter((one) => repaying.delete(one));
      try {
        await store.take({ keys, flag: Flag.chargeAnyway });
        arrived();
      } catch (error) {
        const { notRun, isReply, code, timeout } = failureOf(error);
        if (!notRun) {
          if (await timeout?.answer) arrived();
          return;
        }
        const unpaid = arrived();
        // The store works, and refuses this command. (After SUBREQUESTS, another request may still make calls.)
        if (isReply && code !== "SUBREQUESTS") {
          const isAlone = keys.length === 1;
          // One key may be the reason for all: the next calls repay one key each, until that key has been found.
          keysPerCall = isAlone ? KEYS_PER_CALL : 1;
          // It would be refused again.
          if (isAlone) return;
        }
        for (const { key, debt } of unpaid) putBack(key, debt, nowMs);
      }
    },
  };
}

function unitsOf({ record }: Debt, nowMs: number): number {
  return rollWindow(record, nowMs).counts.reduce((sum, units) => sum + units, 0);
}

/** The larger numbers of both: each request under the key was admitted up to its own numbers. */
function largerSpan(one: WindowLimit, other: WindowLimit = one): WindowLimit {
  return other.limit > one.limit ? other : one;
}

function spanOf(limits: readonly LimitSpec[]): WindowLimit {
  const capacities = limits.flatMap((limit) => algorithmOf(limit).capacity?.(limit) ?? []);
  const windowMs = Math.max(...capacities.map(({ windowMs }) => windowMs));
  const limit = Math.min(...capacities.map(({ units }) => units));
  return { kind: Kind.whole, limit, bucketMs: Math.ceil(windowMs / PARTS), buckets: PARTS };
}
