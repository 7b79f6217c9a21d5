/** Policies with `once`: the id of a request is part of what its store is asked. */

import type { ClientKey, PartitionHasher } from "../partition/hash.ts";
import type { MoreOfKey } from "./keys.ts";
import type { Take } from "./types.ts";

/** The hash of a request's id under its policy. Undefined: nothing is charged once. */
export function idsBy(hash: PartitionHasher): (take: Take) => string | undefined {
  return ({ policy, cost, once }) => {
    if (!once || !policy.once || cost === 0) return undefined;
    const id: ClientKey = { kind: "once", values: [...once, String(cost)] };
    return hash(id, false);
  };
}

/** A policy with `count` gives units back: its requests have no ids. */
export const chargeOnce: MoreOfKey = (request, { policy: { count, once }, once: id }) => {
  if (once && id !== undefined && !count) request.once = { id, forMs: once.forMs, repeats: once.repeats };
};
