/** Which requests a policy is asked about. */

import type { PolicyAnswer } from "../api.ts";
import { headsOf, matchText } from "./words.ts";

/** No request matches an overflow. @param all policies. */
export function Match({ policy, all }: { policy: PolicyAnswer; all: readonly PolicyAnswer[] }) {
  const heads = headsOf(policy, all).map(({ name }) => name);
  return heads.length > 0 ? <>requests over the limits of {heads.join(" and ")}</> : <code>{matchText(policy)}</code>;
}
