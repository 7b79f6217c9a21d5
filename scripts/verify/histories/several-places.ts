/**
 * What limiters promise over several places (docs/consistency.md, "Several places"). It is less than linearizability:
 * the units of a request that another place has refused keep others out until they are back.
 *
 * - No limit is exceeded: at no instant do admitted requests hold more units of a policy than its limit. Under `local`
 *   an isolate may admit up to one limit more between two answers of the place.
 * - Each refusal is explained: by units of admitted requests, by units on their way back, or by units of which nobody
 *   knows whether they were charged.
 * - Nothing is given back that is still paid for: in the end every place holds at least what was admitted, and at most
 *   what may have been charged.
 * - A place is silent for a reason: a call of this isolate to the place had no answer, or a late one.
 */

import type { History } from "./history.ts";
import { exceeded, exceededAlone } from "./places/exceeded.ts";
import { explanationOf, unexplained } from "./places/explained.ts";
import { heldWrongly } from "./places/held.ts";
import { type Decided, keyed } from "./places/keyed.ts";
import { silentForNothing, troubleIn, unavailableForNothing } from "./places/trouble.ts";

export interface JudgedPlaces {
  readonly decisions: number;
  readonly admitted: number;
  /** Refusals by the units of admitted requests alone. */
  readonly refusedByCounts: number;
  /** Refusals that only units on their way back explain, or units with an unknown outcome. */
  readonly refusedByReturning: number;
  /** Decisions of an isolate alone, and answers that nobody decided. */
  readonly alone: number;
  readonly violations: readonly string[];
}

export function checkPlaces(history: History): JudgedPlaces {
  const { operations, policies = {} } = history;
  const decisions = operations.filter((one): one is Decided => one.op === "decide" && one.output !== undefined);
  const keys = keyed(operations, policies, decisions);
  const trouble = troubleIn(history);
  const violations = unavailableForNothing(decisions, keys, trouble);
  const explained = { counts: new Set<Decided>(), returning: new Set<Decided>() };
  for (const one of keys) {
    violations.push(
      ...exceeded(one),
      ...exceededAlone(one),
      ...silentForNothing(one, trouble),
      ...heldWrongly(one, trouble),
    );
    for (const decision of one.decisions.filter(({ output }) => output.refusedBy.includes(one.name))) {
      const by = explanationOf(decision, one);
      if (by) explained[by].add(decision);
      else violations.push(unexplained(decision, one));
    }
  }
  const refusedByReturning = [...explained.returning].filter((one) => !explained.counts.has(one)).length;
  return {
    decisions: decisions.length,
    admitted: decisions.filter(({ output }) => output.allowed).length,
    refusedByCounts: explained.counts.size,
    refusedByReturning,
    alone: decisions.filter(({ output }) => output.unavailable || output.silent.length > 0).length,
    violations,
  };
}
