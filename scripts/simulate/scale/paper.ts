/**
 * How many calls a second leases make, on paper: the rules of src/isolate/leases as a formula.
 * test/simulate/scale.test.ts compares it with the simulated rows.
 */

import { leasedMs } from "../../../src/core/algorithm.ts";
import { shareOf } from "./run.ts";

/** As in src/isolate/lease-size.ts, while plenty is left of the limit. */
const REMEMBERED_LIVES = 14;
const PART_UNTIL_END = 0.85;

export interface Traffic {
  readonly isolates: number;
  /** Requests per second of one key, of all isolates together. */
  readonly rate: number;
  /** `sliding-window`: with one bucket. */
  readonly algorithm: "sliding-window" | "token-bucket";
  readonly windowMs: number;
  /** How long one call takes, there and back, in ms. */
  readonly callMs: number;
}

/** The calls per second that an isolate makes for one key that has plenty left. */
function callsOfIsolate(ratePerMs: number, { algorithm, windowMs, callMs }: Traffic): number {
  const lifeMs = leasedMs(windowMs);
  // One call at a time, and no call without a request.
  const leastMs = Math.max(callMs, 1 / ratePerMs);
  if (algorithm === "token-bucket") return 1_000 / Math.max(leastMs, lifeMs);
  let calls = 0;
  for (let atMs = 0; atMs < windowMs; calls++) {
    const lastsMs = Math.min(REMEMBERED_LIVES * lifeMs, PART_UNTIL_END * (windowMs - atMs));
    atMs += Math.max(leastMs, lastsMs);
  }
  return 1_000 * Math.min(ratePerMs, calls / windowMs);
}

/** With busy and quiet isolates, as they are simulated. */
export function callsUnevenly(traffic: Traffic): number {
  const shares = Array.from({ length: traffic.isolates }, (_, i) => shareOf(i + 1));
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.reduce((sum, share) => sum + callsOfIsolate((traffic.rate * share) / total / 1_000, traffic), 0);
}

/** With equal traffic in all isolates. */
export function callsEvenly(traffic: Traffic): number {
  return traffic.isolates * callsOfIsolate(traffic.rate / traffic.isolates / 1_000, traffic);
}
