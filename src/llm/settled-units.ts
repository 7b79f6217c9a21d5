/** What a reservation is settled with. */

import type { Estimate } from "./estimate.ts";
import type { AnswerScanner } from "./scanner.ts";
import type { Usage } from "./usage.ts";

/**
 * By what the answer tells, otherwise by the text that was streamed. A model in the background works on when its client
 * has left: without a told usage its client pays at least what was reserved.
 *
 * @param scanner absent: the answer cannot be read.
 * @param unitsOf the units of a policy for a usage.
 * @returns units by the name of the policy. A policy that is not named keeps what it has reserved.
 */
export function settledUnits(
  scanner: AnswerScanner | undefined,
  { isBackground }: Estimate,
  reserved: Readonly<Record<string, number>>,
  names: readonly string[],
  unitsOf: (name: string, usage: Usage) => number,
): Record<string, number> {
  const told = scanner?.usage();
  const usage = told ?? scanner?.streamed();
  if (!usage) return {};
  const mayKeep = isBackground && !told;
  return Object.fromEntries(
    names.flatMap((name) => {
      const units = unitsOf(name, usage);
      return mayKeep && units <= reserved[name]! ? [] : [[name, units]];
    }),
  );
}
