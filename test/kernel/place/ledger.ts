// Counts everything that some isolates admitted, with a counter that never fails. It forgives what
// docs/failure-modes.md forgives.

import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { ENFORCED, Flag } from "../../../src/kernel/core/take.ts";
import { createCounts } from "../../../src/kernel/store/memory.ts";

/**
 * `counted`: the store has counted it. `owed`: the store has not counted it yet, and is known not to have. `unknown`:
 * the store may have counted it; it is forgiven as soon as the store answers the isolate again. `forgiven`: left out of
 * the sum.
 */
export type Booking = "counted" | "owed" | "unknown" | "forgiven";

interface Admission {
  readonly isolate: number;
  /** By the store's clock, as are all instants in this file. */
  readonly atMs: number;
  readonly cost: number;
  booking: Booking;
  /** A reply of the store has reached the isolate since. The isolate now goes by the store's counts plus its debts. */
  isOld: boolean;
}

export interface Repayment {
  readonly units: number;
  /** Units that were owed, and the part of them that was admitted within the longest window. */
  readonly owed: number;
  readonly recently: number;
}

export interface Ledger {
  readonly repayments: readonly Repayment[];
  /** Whether a cost fits into the limit times the number of isolates. */
  hasRoom(cost: number, atMs: number): boolean;
  admit(isolate: number, cost: number, atMs: number, booking: Booking): void;
  isOwing(isolate: number): boolean;
  /** The store has told the isolate its counts. */
  heard(isolate: number): void;
  /** The store has charged a repayment. @param isHeard whether the isolate got the reply. */
  repaid(isolate: number, units: number, atMs: number, isHeard: boolean): void;
  /** A repayment got lost. It may have run, so it is not repeated. */
  lost(isolate: number): void;
}

/** @param limits must not include concurrency limits. */
export function createLedger(limits: readonly LimitSpec[], isolates: number, longestMs: number): Ledger {
  const admissions: Admission[] = [];
  const repayments: Repayment[] = [];
  const more = limits.map((limit) => timesAsMuch(limit, isolates));
  const bookedAs = (isolate: number, booking: Booking) =>
    admissions.filter((one) => one.isolate === isolate && one.booking === booking);
  const forgive = (some: readonly Admission[]) => {
    for (const one of some) one.booking = "forgiven";
  };

  /**
   * Whether an admission counts at `nowMs`. A debt counts only if it was admitted within the longest window. A weighted
   * window would count a part of the debt for longer.
   */
  const isCounted = ({ booking, isOld, atMs }: Admission, nowMs: number) =>
    booking !== "forgiven" && !(booking === "owed" && isOld && nowMs - atMs >= longestMs);

  return {
    repayments,
    hasRoom(cost, atMs) {
      if (more.length === 0) return true;
      const counts = createCounts(10);
      const take = (cost: number, flag: Flag, nowMs: number) =>
        counts.take({ keys: [{ key: "key", group: ENFORCED, cost, limits: more }], flag }, nowMs);
      for (const one of admissions) if (isCounted(one, atMs)) take(one.cost, Flag.chargeAnyway, one.atMs);
      return take(cost, Flag.look, atMs).allowed;
    },
    admit: (isolate, cost, atMs, booking) => void admissions.push({ isolate, atMs, cost, booking, isOld: false }),
    isOwing: (isolate) => bookedAs(isolate, "owed").length > 0,
    heard(isolate) {
      forgive(bookedAs(isolate, "unknown"));
      for (const one of bookedAs(isolate, "owed")) one.isOld = true;
    },
    repaid(isolate, units, atMs, isHeard) {
      const owed = bookedAs(isolate, "owed");
      const recently = owed.filter((one) => atMs - one.atMs < longestMs);
      repayments.push({ units, owed: sum(owed), recently: sum(recently) });
      // The oldest part is not repaid: it has left the window, or it exceeds what a limit holds.
      let unpaid = sum(owed) - units;
      for (const one of owed) {
        one.booking = unpaid > 0 ? "forgiven" : "counted";
        unpaid -= one.cost;
      }
      if (!isHeard) forgive(owed);
    },
    lost: (isolate) => forgive(bookedAs(isolate, "owed")),
  };
}

const sum = (admissions: readonly Admission[]) => admissions.reduce((units, { cost }) => units + cost, 0);

function timesAsMuch(limit: LimitSpec, n: number): LimitSpec {
  const more = { ...limit, limit: limit.limit * n };
  return "burst" in more ? { ...more, burst: more.burst * n } : more;
}
