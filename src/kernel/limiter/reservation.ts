/** Units that are charged before their cost is known, and settled afterwards. */

import { withoutSlots } from "../core/concurrency.ts";
import type { Decision } from "../core/decision.ts";
import { MAX_UNITS } from "../core/layout.ts";
import { type Background, chargesOf, keepAlive } from "../place/taker.ts";
import type { Answered, PolicyKey } from "./decide.ts";
import { addCharge, type BookedCharge, settleCharges } from "./settlement.ts";

/**
 * What a request has reserved. Settle or release it once, when its cost is known: the first call counts, later ones do
 * nothing. A reservation that is never settled stays counted until its windows have passed.
 *
 * Settling is one call for each place that holds counts, and none if nothing differs and no slot is held. It never
 * rejects because of a store. If the store has no answer, an excess that surely was not counted is counted later, slots
 * are given back later, and so are units that surely did not go back. Others lapse with their window.
 *
 * Units go back to the bucket or the instant that was counted. A window that has left gets nothing back. A token bucket
 * gets the units at once, and never more than it lacks: what it has refilled meanwhile stays. In a leaky bucket,
 * requests that wait already keep their time. A concurrency limit counts one slot, whatever the units. What a `reset`
 * of this instance has removed is not given back; after one of another instance it may be, never below zero.
 */
export interface Reservation {
  /** The answer, as `take` gives it. */
  readonly decision: Decision;
  /**
   * The units that are counted, by policy name; empty after a refusal. The cost of a policy with a `meter` is at most
   * half of its smallest limit, and at least 1. A policy in shadow that refused is absent, and so is one from which the
   * client is exempt.
   */
  readonly reserved: Readonly<Record<string, number>>;
  /**
   * Counts more units of these policies if every limit admits them, or none. They are reserved then. `onDecision` is
   * not called. Policies that have reserved nothing are passed over.
   *
   * @throws {TypeError} after a refusal, after `settle` or `release`, for a policy that was not asked for, for units
   * that are not an integer of 0 … 10^9.
   */
  extend(more: Readonly<Record<string, number>>): Promise<Decision>;
  /**
   * Counts what was used beyond the reservation, also above the limit, or gives back what was not used. Gives slots
   * back too. Waits for an `extend` that is under way.
   *
   * @param actual the units used by policy name; a number if the reservation has one policy. A policy that is not named
   * keeps what it has reserved. More than 10^9 counts as 10^9.
   * @throws {TypeError} for a policy that was not asked for, for units that are not an integer of 0 or more, and for a
   * number with several policies.
   */
  settle(actual: number | Readonly<Record<string, number>>): Promise<void>;
  /** Gives everything back: the units of every policy, and slots. */
  release(): Promise<void>;
}

/** The reservation of an HTTP request. */
export interface MatchedReservation extends Reservation {
  /**
   * Settles these policies before the others: several features of one request settle their policies at different
   * times. Each policy once, and then `settle` changes none of its units. Slots stay taken. Policies that have reserved
   * nothing are passed over.
   */
  settleFirst(used: Readonly<Record<string, number>>): Promise<void>;
  /** The request has its status, and what goes back for that has gone back. Call it once. */
  ended(): void;
}

interface ReservationParts {
  /** The names of the policies that the caller named. */
  readonly names: readonly string[];
  readonly answered: Answered;
  readonly background: Background | undefined;
  /** As in `Part`. Absent: nobody needs to know, or nobody will tell when the request has ended. */
  readonly begin?: ((charged: readonly PolicyKey[]) => () => void) | undefined;
  /** Asks for more units under these keys. */
  ask(keys: readonly PolicyKey[]): Promise<Answered>;
}

export function createReservation(parts: ReservationParts): MatchedReservation {
  const { names, answered, background, begin, ask } = parts;
  const { decision } = answered;
  const charges: BookedCharge[] = [];
  const reserved = new Map<string, number>();
  const settledFirst = new Set<string>();
  let extending: Promise<unknown> = Promise.resolve();
  let settled: Promise<void> | undefined;

  /** @returns the keys that were charged. A repeat was not. */
  function book({ lines = [], taken = [] }: Answered): PolicyKey[] {
    const keys: PolicyKey[] = [];
    /** A policy may have several keys, all with the same cost. */
    const units = new Map<string, number>();
    for (const charge of taken.flatMap(chargesOf)) {
      const { key, cost, once } = charge.receipt;
      if (once?.isRepeat) continue;
      const line = lines.find(({ request }) => request.key === key)!;
      keys.push(line);
      addCharge(charges, { policy: line.policy.name, charge });
      units.set(line.policy.name, cost);
    }
    for (const [name, cost] of units) reserved.set(name, (reserved.get(name) ?? 0) + cost);
    return keys;
  }

  /** @throws {TypeError} */
  function unitsBy(what: string, given: Readonly<Record<string, number>>, most: number): Map<string, number> {
    const units = new Map(Object.entries(given));
    for (const [name, number] of units) {
      if (names.includes(name) && Number.isInteger(number) && number >= 0 && number <= most) continue;
      const found = `${JSON.stringify(name)}: ${number}`;
      throw new TypeError(`${what}: expected integers from 0 to 10^9 of ${names.join(", ")}; found ${found}`);
    }
    return units;
  }

  function settleOnce(usedOf: (policy: string) => number | undefined): Promise<void> {
    settled ??= keepAlive(settleBy(usedOf), background);
    return settled;
  }

  async function settleBy(usedOf: (policy: string) => number | undefined): Promise<void> {
    await extending;
    await settleCharges(
      charges,
      (policy) => (settledFirst.has(policy) ? 0 : unusedOf(policy, usedOf(policy))),
      background,
    );
  }

  function unusedOf(policy: string, used: number | undefined): number {
    const units = reserved.get(policy)!;
    return units - Math.min(MAX_UNITS, used ?? units);
  }

  const first = book(answered);
  const endAttempt = begin?.(first);
  return {
    decision,
    get reserved() {
      return Object.fromEntries(reserved);
    },

    async extend(more) {
      const units = unitsBy("extend", more, MAX_UNITS);
      if (settled || !decision.allowed) throw new TypeError("extend: the reservation was refused or settled");
      const keys = first.map((key) => withUnits(key, units.get(key.policy.name) ?? 0));
      const asked = ask(keys.filter(({ limits, request }) => limits.length > 0 && request.cost > 0));
      extending = Promise.all([extending, asked.then(book, () => {})]);
      return (await asked).decision;
    },

    async settle(actual) {
      // Without a name, a number of several policies is misuse.
      const name = names.length > 1 ? "" : names[0]!;
      const given = typeof actual === "number" ? { [name]: actual } : actual;
      const used = unitsBy("settle", given, Number.MAX_VALUE);
      await settleOnce((policy) => used.get(policy));
    },
    release: () => settleOnce(() => 0),
    async settleFirst(used) {
      const own = charges.filter(({ policy }) => Object.hasOwn(used, policy) && !settledFirst.has(policy));
      if (own.length === 0) return;
      const work = settleCharges(own, (policy) => unusedOf(policy, used[policy]), background, false);
      for (const { policy } of own) {
        settledFirst.add(policy);
        reserved.set(policy, used[policy]!);
      }
      await keepAlive(work, background);
    },
    ended: () => endAttempt?.(),
  };
}

/** The request already has its slots: more units take no other. Its id is that of the units that it reserved first. */
function withUnits(key: PolicyKey, cost: number): PolicyKey {
  const limits = withoutSlots(key.limits);
  const { once: _, ...request } = key.request;
  return { ...key, limits, request: { ...request, limits, cost } };
}
