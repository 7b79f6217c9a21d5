/** Turns the policies that an operator wrote into checked policies, or into the list of all mistakes. */

import type { Policy } from "../core/policy.ts";
import { meterMistakes } from "./meter.ts";
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
  return parseFields(input, path, places, (policy, place) => [
    ...patternMistakes(policy, place),
    ...meterMistakes(policy, place),
  ]);
}
