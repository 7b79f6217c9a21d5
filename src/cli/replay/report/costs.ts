/** What calls cost, in rows for the terminal and for the page. */

import type { PolicyCosts } from "../engine/summary.ts";
import { count, percent } from "./numbers.ts";

export const COSTS_HEADINGS = ["consistency", "calls", "per request", "refused", "dollars", "per million"] as const;

/** One row for each policy and consistency: the policy, and a cell for each heading. */
export function costsRows(costs: readonly PolicyCosts[]): string[][] {
  return costs.flatMap(({ policy, present, requests, settings }) =>
    settings.map(({ consistency, calls, refused, dollars, perMillion }) => [
      policy,
      consistency === present ? `${consistency} (now)` : consistency,
      ...[count(calls), requests > 0 ? (calls / requests).toFixed(3) : "", percent(refused, requests)],
      ...[dollars.toFixed(4), perMillion.toFixed(2)],
    ]),
  );
}
