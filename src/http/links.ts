/** The policies that are asked about a request: each that matches, and behind it the overflows of its chain. */

import type { Policy } from "../core/policy.ts";
import type { Matched } from "./match.ts";

/** A policy that is asked about a request. */
export interface Asked extends Matched {
  /** As in `AppliedPolicy`. */
  readonly link?: number;
  /** The model that the request asks for instead if this policy pays. Absent: its own. */
  readonly model?: string;
}

/** @param matched without an overflow among them, the same list is returned. */
export function withLinks(matched: readonly Matched[]): readonly Asked[] {
  if (!matched.some(({ policy }) => policy.chain)) return matched;
  return matched.flatMap(({ policy: head, cost }): readonly Asked[] => {
    if (!head.chain) return [{ policy: head, cost }];
    let before: Policy | undefined;
    return [head, ...head.chain].map((policy, link) => {
      const model = before?.overflow?.model;
      before = policy;
      return { policy, cost, link, ...(model !== undefined && { model }) };
    });
  });
}

/** The same without the overflows that pay for another model only. */
export function withoutModels(asked: readonly Asked[]): readonly Asked[] {
  let last = 0;
  return asked.flatMap((one): readonly Asked[] => {
    if (one.model !== undefined) return [];
    if (one.link === undefined) return [one];
    last = one.link === 0 ? 0 : last + 1;
    return [{ ...one, link: last }];
  });
}
