/**
 * How many calls a second leases make, on paper: the rules of src/isolate/leases as a formula.
 * test/simulate/scale.test.ts compares it with the simulated rows.
 */

import { leasedMs } from "../../../src/core/far-algorithm.ts";
import { shareOf } from "./run.ts";

/** As in src/isolate/leases/lease-size.ts, while plenty is left of the limit. */
const STOCKED_PART = 1.2;
const RENEWED_BELOW = 0.25;

export interface Traffic {
  readonly isolates: number;
  /** Requests per second of one key, of all isolates together. */
  readonly rate: number;
  readonly windowMs: number;
  /** How long one call takes, there and back, in ms. */
  readonly callMs: number;
}

/** The calls per second that an isolate makes for one key that has plenty left. */
function callsOfIsolate(ratePerMs: number, { windowMs, callMs }: Traffic): number {
  const lifeMs = leasedMs(windowMs);
  const demand = ratePerMs * lifeMs;
  // Less than two units ahead are not worth asking for: each request makes its own call.
  if (demand < 1) return ratePerMs * 1_000;
  const mean = ratePerMs * Math.min(callMs, lifeMs);
  const meanwhile = mean + Math.sqrt(mean);
  const stock = Math.floor(meanwhile + demand * STOCKED_PART);
  // From a full stock down to where more is asked for.
  const units = stock - Math.max(meanwhile, stock * RENEWED_BELOW);
  return (ratePerMs * 1_000) / Math.max(1, units);
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
