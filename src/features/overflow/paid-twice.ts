/** Overflows that would be charged twice for one request. Apart: a limiter that is asked by hand parses no pattern. */

import type { Mistake } from "../../kernel/config/mistake.ts";
import { areApart } from "../../kernel/config/patterns.ts";
import type { Policy } from "../../kernel/core/policy.ts";

/** Policies that may match one request and have the same overflow: the request would be charged to it twice. */
export function sharedOverflows(policies: readonly Policy[], pathOf: (i: number) => string): Mistake[] {
  const heads = [...policies.entries()].filter(([, { chain, isOverflow }]) => chain && !isOverflow);
  return heads.flatMap(([i, { name, match, chain }], at) =>
    heads.slice(0, at).flatMap(([, other]): Mistake[] => {
      const both = chain!.find((link) => other.chain!.some((one) => one.name === link.name));
      // A request may name a second method in a field: methods keep no two policies apart.
      const [one, two] = [match, other.match].map(({ method: _, ...where }) => where);
      if (!both || areApart(one!, two!)) return [];
      const expected = `an overflow that ${other.name} does not have, or other requests: both may match one request`;
      const found = `${both.name}, which pays for ${name} and for ${other.name}`;
      return [{ code: "ERR_POLICY_OVERFLOW", path: `${pathOf(i)}.overflow`, expected, found }];
    }),
  );
}
