/** Who paid for the requests of chains, in rows for the terminal and for the page. */

import { describeUnits } from "../../../core/units.ts";
import type { ChainSummary, PayerChange, PayerSummary } from "../engine/summary.ts";
import { count } from "./numbers.ts";

export const CHAIN_HEADINGS = ["chain", "paid by", "requests", "units", "clients"] as const;

/** One row for each policy of a chain, and for the requests that nobody paid. */
export function chainRows(chains: readonly ChainSummary[]): string[][] {
  return chains.flatMap(({ policy, unit, payers, refused, spared }) => {
    const row = (paidBy: string, { requests, units, clients }: PayerSummary) => {
      return [policy, paidBy, count(requests), unitsOf(units, unit), count(clients)];
    };
    return [
      ...payers.map((one) => row(one.policy!, one)),
      row("nobody: all of them refused", refused),
      ...(spared.requests > 0 ? [row("nobody: another policy refused", spared)] : []),
    ];
  });
}

export const PAYER_HEADINGS = ["chain", "payer before", "payer after", "requests", "units"] as const;

export function payerRows(changes: readonly PayerChange[]): string[][] {
  return changes.map(({ policy, unit, before, after, requests, units }) => {
    return [policy, before ?? "nobody", after ?? "nobody", count(requests), unitsOf(units, unit)];
  });
}

export function unitsOf(units: number, unit: ChainSummary["unit"]): string {
  return unit === "usd" ? describeUnits(units, unit) : count(units);
}
