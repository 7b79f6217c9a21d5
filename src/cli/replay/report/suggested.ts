/** What a suggestion says, for the text and for the page. */

import type { Suggestion, TriedNumber } from "../engine/summary.ts";
import { limitNumber, share } from "./numbers.ts";

/** How many rungs are shown on each side of the present and of the suggested number. */
const AROUND = 2;

export function suggestionText({ policy, limit, present, suggested, share: asked, rungs }: Suggestion): string {
  const what = `${policy}, limit ${limit}`;
  const now = `now ${limitNumber(present)}`;
  if (rungs.length === 0) return `${what}: no requests (${now})`;
  if (suggested === undefined) return `${what}: no number of the ladder refuses less than ${share(asked)} (${now})`;
  return `${what}: ${limitNumber(suggested)} refuses less than ${share(asked)} (${now})`;
}

/** The rungs that a reader compares, and where others are left out. */
export function ladderAround({ rungs, present, suggested }: Suggestion): readonly (TriedNumber | "gap")[] {
  const middles = [
    nearest(rungs, present),
    suggested === undefined ? rungs.length - 1 : rungs.findIndex(({ limit }) => limit === suggested),
  ];
  const shown = rungs.flatMap((_, i) => (middles.some((middle) => Math.abs(middle - i) <= AROUND) ? [i] : []));
  return shown.flatMap((i, at) => (at > 0 && i !== shown[at - 1]! + 1 ? ["gap" as const, rungs[i]!] : [rungs[i]!]));
}

/** Numbers of a ladder grow by a factor: the nearest rung is the one with the nearest logarithm. */
function nearest(rungs: readonly TriedNumber[], number: number): number {
  const distances = rungs.map(({ limit }) => Math.abs(Math.log(limit / number)));
  return distances.indexOf(Math.min(...distances));
}
