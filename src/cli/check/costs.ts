/** What the policies of a configuration would cost under each consistency, as docs/consistency.md has measured it. */

import { possibleConsistencies } from "../../config/policy-fields.ts";
import type { Policy } from "../../core/policy.ts";
import { DOLLARS_PER_MILLION_CALLS, MEASURED_CALLS } from "../prices.ts";

const OWN = "for your own traffic: headgate replay --costs";

/** A line for each policy. */
export function costNotes(policies: readonly Policy[]): string[] {
  const lines = policies.map((policy) => {
    const settings = possibleConsistencies(policy).map((consistency) => {
      const now = consistency === policy.consistency ? " (now)" : "";
      return `${consistency}${now} ${range(MEASURED_CALLS[consistency])}`;
    });
    return `${policy.name}: calls per request, and dollars per million requests: ${settings.join("; ")}`;
  });
  return [...lines, OWN];
}

function range([few, many]: readonly [number, number]): string {
  const dollars = (calls: number) => (calls * DOLLARS_PER_MILLION_CALLS).toFixed(2);
  if (few === many) return `${few.toFixed(3)}, ${dollars(few)}`;
  return `${few.toFixed(3)} to ${many.toFixed(3)}, ${dollars(few)} to ${dollars(many)}`;
}
