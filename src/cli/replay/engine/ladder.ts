/** The numbers that are tried in place of a limit's own. */

import { misfit, withWritten } from "../../../core/numbers.ts";
import type { Limit } from "../../../core/policy.ts";
import { toWritten } from "../../../core/units.ts";

/** Ten round numbers for each power of ten. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
/** The ladder reaches from a hundredth of the present number to a hundred times of it. */
const REACH = 100;

/** Rising numbers as they are written in the configuration: round ones, and the present one. */
export function ladderOf(limit: Limit): number[] {
  const present = toWritten(limit.limit, limit.unit);
  const [least, most] = [present / REACH, present * REACH];
  const numbers = new Set([present]);
  for (let power = Math.floor(Math.log10(least)); power <= Math.ceil(Math.log10(most)); power++) {
    for (const round of ROUND) {
      const number = Number(`${round}e${power}`);
      if (number < least || number > most) continue;
      if (misfit(withWritten(limit, number)) === undefined) numbers.add(number);
    }
  }
  return [...numbers].sort((a, b) => a - b);
}
