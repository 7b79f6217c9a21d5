/** Conditions on what a body says: `match = { body = { model = "gpt-5*" } }`. */

import type { Match, Policy } from "../../kernel/core/policy.ts";
import { type CostBy, conditionsOf, type Matched, type Verdict } from "../../kernel/http/match.ts";
import { compileText, namePattern } from "../../kernel/request/pattern.ts";
import type { BodyValue, FindValue } from "./values.ts";

/** How much of a value patterns see, in characters. */
export const LONGEST_SEEN = 256;

/** Whether a condition looks at what a body says. */
export function looksAtBody({ body }: Match): boolean {
  return body !== undefined;
}

type BodyTest = (find: FindValue) => Verdict;

/** Makes what says whether a body fulfils a condition. A condition that does not look at bodies is fulfilled. */
export function compileBodies(policies: readonly Policy[]): (condition: Match, find: FindValue) => Verdict {
  const tests = new Map<Match, BodyTest>();
  for (const condition of policies.flatMap(conditionsOf)) {
    if (condition.body) tests.set(condition, compileTest(condition.body));
  }
  return (condition, find) => tests.get(condition)?.(find) ?? "yes";
}

function compileTest(patterns: NonNullable<Match["body"]>): BodyTest {
  const tests = Object.entries(patterns).map(([path, texts]) => [path, anyOf(texts)] as const);
  return (find) => {
    let verdict: Verdict = "yes";
    for (const [path, test] of tests) verdict = both(verdict, test(find(path)));
    return verdict;
  };
}

/** What some servers drop. Some trim, too. */
const DROPPED = /[\p{Cc}\p{Cf}]/gu;
/** Where characters to drop or to trim are looked for. Nobody can tell what is behind very many of them. */
const LONGEST_READ = 4_096;

function anyOf(patterns: readonly string[]): (value: BodyValue) => Verdict {
  const tests = patterns.map((pattern) => compileText(namePattern(pattern)));
  const matches = (text: string) => {
    // As for paths, case makes no difference: some servers do not look at it.
    const seen = text.slice(0, LONGEST_SEEN).toLowerCase();
    return tests.some((test) => test(seen));
  };
  return (value) => {
    if (value === undefined) return "no";
    if (value === null) return "perhaps";
    if (matches(value)) return "yes";
    const plain = value.slice(0, LONGEST_READ).replace(DROPPED, "").trim();
    const isHidden = value.length > LONGEST_READ && plain.length < LONGEST_SEEN;
    return isHidden || matches(plain) ? "perhaps" : "no";
  };
}

function both(one: Verdict, other: Verdict): Verdict {
  if (one === "no" || other === "no") return "no";
  return one === "perhaps" ? one : other;
}

/**
 * The policies that still match when some of their conditions are decided, with their costs.
 *
 * @param isOpen whether a condition is decided by more than this.
 */
export function decided(
  matched: readonly Matched[],
  verdictOf: (condition: Match) => Verdict,
  isOpen: (condition: Match) => boolean,
): readonly Matched[] {
  return matched.flatMap((one): readonly Matched[] => {
    const { policy, costBy } = one;
    if (!costBy) return [one];
    const left: CostBy = (others) =>
      costBy((condition) => both(verdictOf(condition), isOpen(condition) ? others(condition) : "yes"));
    const cost = left(() => "perhaps");
    if (cost === undefined) return [];
    return [conditionsOf(policy).some(isOpen) ? { policy, cost, costBy: left } : { policy, cost }];
  });
}
