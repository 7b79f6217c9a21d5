/** Which requests a policy is asked about. */

import type { Policy } from "../api.ts";
import { headsOf, matchText } from "./words.ts";

/** No request matches an overflow. @param all policies. */
export function Match({ policy, all }: { policy: Policy; all: readonly Policy[] }) {
  const heads = headsOf(policy, all).map(({ name }) => name);
  return heads.length > 0 ? <>requests over the limits of {heads.join(" and ")}</> : <code>{matchText(policy)}</code>;
}
