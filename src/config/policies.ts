/** Turns the policies that an operator wrote into checked policies, or into the list of all mistakes. */

import type { Policy } from "../core/policy.ts";
import { meterMistakes } from "./meter.ts";
import type { Mistake } from "./mistake.ts";
import { patternMistakes } from "./patterns.ts";
import { type Parsed, parseFields } from "./policy-fields.ts";

export { LEASABLE, type Parsed, writePolicy } from "./policy-fields.ts";

/**
 * Checks a list of policies.
 *
 * @param path the list's name in messages, for example `POLICIES`.
 * @param places the name of each policy in messages. Default: its position in the list.
 */
export function parsePolicies(input: unknown, path: string, places?: readonly string[]): Parsed<readonly Policy[]> {
  const parsed = parseFields(input, path, places, matcherMistakes);
  if (!parsed.mistakes) for (const policy of parsed.value) checked.add(policy);
  return parsed;
}

const checked = new WeakSet<object>();

/** What a limiter that is asked by hand does not carry the rules of. Nothing is looked for in a policy of ours. */
export function matcherMistakes(policy: unknown, place: string): readonly Mistake[] {
  if (checked.has(policy as object)) return [];
  return [...patternMistakes(policy, place), ...meterMistakes(policy, place)];
}
