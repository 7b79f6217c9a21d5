/** What a candidate changes that recorded lines cannot try: they hold policies, keys and costs, and no requests. */

import { isDeepStrictEqual } from "node:util";
import type { Policy } from "../../../core/policy.ts";

/** What the gateway has asked before it wrote the line. */
const ASKED = {
  match: ({ match }) => match,
  except: ({ except }) => except,
  key: ({ key }) => key,
  cost: ({ cost }) => cost,
  meter: ({ meter }) => meter,
  plan: ({ plan }) => plan,
  "plan names": ({ plans = {} }) => Object.keys(plans).sort(),
} satisfies Record<string, (policy: Policy) => unknown>;

/** The candidate's policies that cannot be tried, and why. A policy that only the candidate has is no such change. */
export function untried(present: readonly Policy[], candidate: readonly Policy[]): Map<string, string> {
  const reasons = new Map<string, string>();
  for (const after of candidate) {
    const before = present.find(({ name }) => name === after.name);
    if (!before) continue;
    const parts = Object.entries(ASKED).flatMap(([part, of]) =>
      isDeepStrictEqual(of(before), of(after)) ? [] : [part],
    );
    if (parts.length === 0) continue;
    const [differ, one] = parts.length === 1 && parts[0] !== "plan names" ? ["differs", "one"] : ["differ", "ones"];
    reasons.set(after.name, `its ${parts.join(", ")} ${differ}, and recorded lines hold the old ${one}`);
  }
  return reasons;
}
