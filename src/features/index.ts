/** The features that a program of the library adds by itself (`features: [meter()]`): the gateway has all of them. */

import type { ClientWords } from "../kernel/config/fields/field.ts";
import type { InsideFeature } from "../kernel/limiter/feature.ts";
import { banWords } from "./ban/fields.ts";
import { ban } from "./ban/index.ts";
import { body } from "./body/index.ts";
import { DEFAULT_WORDS } from "./default.ts";
import { leasesWords } from "./leases/fields.ts";
import { leases } from "./leases/index.ts";
import { live } from "./live/index.ts";
import { meterWords } from "./meter/fields.ts";
import { meterTelling } from "./meter/index.ts";
import type { OnSettled } from "./meter/settled.ts";
import { overflowWords } from "./overflow/fields.ts";
import { overflow } from "./overflow/index.ts";
import { rpc } from "./rpc/index.ts";
import { sharedWords } from "./shared/fields.ts";
import { shared } from "./shared/index.ts";
import { statedCostWords } from "./stated-cost/fields.ts";
import { statedCost } from "./stated-cost/index.ts";

/**
 * In the order in which messages and tables name their fields.
 *
 * @param onSettled get what the answers of language models have used.
 */
export function allFeatures(onSettled: readonly OnSettled[] = []): readonly InsideFeature[] {
  const meter = meterTelling(onSettled);
  return [rpc(), leases(), shared(), meter, live(), body(), ban(), overflow(), statedCost()];
}

/** What clients are told of all features, in the order of the limits document. */
export const WORDS: readonly ClientWords[] = [
  leasesWords,
  sharedWords,
  meterWords,
  ...DEFAULT_WORDS,
  banWords,
  overflowWords,
  statedCostWords,
];
