// The same random cases of each kind in every run.

import fc from "fast-check";
import { type ParityCase, type ParityName, parityCases } from "./parity-case.ts";

/** Cases of each kind. Each mutant shows a difference in one of them. */
export const CASES = 200;
/** So many of them are all that any mutant needs: about 3,000 steps of each kind. */
export const SOUND_CASES = 130;

export const fixedCases = (name: ParityName): ParityCase[] =>
  fc.sample<ParityCase>(parityCases[name], { seed: 1, numRuns: CASES });
