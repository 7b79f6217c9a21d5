/** The slots that a request holds under concurrency limits, and the units that it is charged under other limits. */

import { isConcurrency, withoutSlots } from "../core/concurrency.ts";
import type { KeyRequest } from "../core/take.ts";
import type { SlotKey } from "./memory.ts";

/** The keys under which a charged request holds slots, with the limits that count them. */
export function slotsOf(keys: readonly KeyRequest[]): SlotKey[] {
  return keys.flatMap((request) => {
    const limits = request.limits.filter(isConcurrency);
    return limits.length > 0 && request.cost > 0 ? [{ ...request, limits }] : [];
  });
}

/** The same keys with their other limits. */
export function unitsOf(keys: readonly KeyRequest[]): KeyRequest[] {
  return keys.flatMap((request) => {
    const limits = withoutSlots(request.limits);
    return limits.length > 0 ? [{ ...request, limits }] : [];
  });
}
