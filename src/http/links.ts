/** The policies that are asked about a request: each that matches, and behind it the overflows of its chain. */

import type { ClientKey } from "../partition/hash.ts";
import type { Matched } from "./match.ts";

/** A policy that is asked about a request. */
export interface Asked extends Matched {
  /** As in `AppliedPolicy`. */
  readonly link?: number;
  /** The client that the program names. Absent: the policy's `key` says it. */
  readonly key?: ClientKey;
  /** It costs nothing, whatever the program says. */
  readonly onlyLooks?: boolean;
}

/** @param matched without an overflow among them, the same list is returned. */
export function withLinks(matched: readonly Matched[]): readonly Asked[] {
  if (!matched.some(({ policy }) => policy.chain)) return matched;
  return matched.flatMap((one): readonly Asked[] => {
    if (!one.policy.chain) return [one];
    return [one.policy, ...one.policy.chain].map((policy, link) => ({ ...one, policy, link }));
  });
}
