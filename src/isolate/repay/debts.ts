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
/** Keys that one call repays, unless they lie in several slots of a Redis Cluster. */
const KEYS_PER_CALL = 50;

interface Debt {
  readonly limits: readonly LimitSpec[];
  /** The longest window and the smallest limit of the key, with the largest numbers that a request had. */
  readonly span: WindowLimit;
  readonly record: WindowRecord;
  /** The number of the first `add` of this debt. */
  readonly since: number;
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
   * The units that this key still owes. A unit that has left the longest window is no longer owed. @param nowMs as for
   * `add`.
   */
  units(key: string, nowMs: number): number;
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
  /** Debts that are on their way to the store. A reset removes its keys from this map: their debts are not put back. */
  const repaying = new Map<string, Debt>();
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
    units(key, nowMs) {
      const debt = debts.get(key);
      return debt ? rollWindow(debt.record, nowMs).counts.reduce((sum, units) => sum + units, 0) : 0;
    },
    forget(keys) {
      for (const key of keys) {
        debts.delete(key);
        repaying.delete(key);
      }
    },
    get size() {
      return debts.size;
    },

    async repay(store, nowMs) {
      // Take the debts out before the call: no other request may repay them, and a charge that may have run is never
      // repeated.
      const taken = [...debts].slice(0, keysPerCall);
      for (const [key] of taken) debts.delete(key);
      const isOwed = ([key, debt]: [string, Debt]) => repaying.get(key) === debt;
      const keys = taken.flatMap(([key, { limits, span, record }]): KeyRequest[] => {
        const cost = span.limit - windowRemaining(rollWindow(record, nowMs), span.limit, nowMs);
        return cost > 0 ? [{ key, group: ENFORCED, cost, limits }] : [];
      });
      if (keys.length === 0) return;
      for (const [key, debt] of taken) repaying.set(key, debt);
      try {
        await store.take({ keys, flag: Flag.chargeAnyway });
      } catch (error) {
        const { notRun, isReply, code } = failureOf(error);
        if (code === "CROSSSLOT" && keys.length > 1) keysPerCall = 1;
        // Another error about the command itself would occur again. After SUBREQUESTS, another request may still make
        // calls.
        else if (!notRun || (isReply && code !== "SUBREQUESTS")) return;
        for (const [key, debt] of taken.filter(isOwed)) putBack(key, debt, nowMs);
      } finally {
        for (const [key] of taken.filter(isOwed)) repaying.delete(key);
      }
    },
  };
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
