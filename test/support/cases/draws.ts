// How many cases a property draws, and how long a simulation or a crowd of requests goes on.

import { expect } from "vitest";

/** The part of its cases that each test takes: a seventh in `npm test`, a tenth in `npm run test:unit`. */
const SHARE = Number(process.env.DRAWS ?? 1);
if (!(SHARE > 0)) throw new Error(`DRAWS: expected a number above 0, found ${process.env.DRAWS}`);

/** For `fc.assert`: draws this many cases, or the part of them that DRAWS names. */
export const draws = (cases: number) => ({ numRuns: Math.ceil(cases * SHARE) });

/** The first of these cases: all, or the part of them that DRAWS names. At least one. */
export const firstOf = <T>(cases: readonly T[]): readonly T[] => cases.slice(0, partOf(cases.length));

/** This many, or the part of them that DRAWS names: never more, since requests take real time. At least one. */
export const partOf = (number: number): number => Math.ceil(number * Math.min(1, SHARE));

/** Expects that all cases together came to something more than this often. Fewer cases need not. */
export function expectReached(times: number, moreThan: number): void {
  if (SHARE >= 1) expect(times).toBeGreaterThan(moreThan);
}
