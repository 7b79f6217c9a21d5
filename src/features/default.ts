/** The features that every program has. One that no policy uses is on the way of no request. */

import type { ClientWords, FeatureFields } from "../kernel/config/fields/field.ts";
import type { Feature } from "../kernel/http/feature.ts";
import type { PartOf } from "../kernel/limiter/part.ts";
import { alertsFields } from "./alerts/fields.ts";
import { ban } from "./ban/ban.ts";
import { banFields, banWords } from "./ban/fields.ts";
import { ban as banPart } from "./ban/part.ts";
import { count as countPart } from "./count/attempts.ts";
import { count } from "./count/count.ts";
import { countFields, countWords } from "./count/fields.ts";
import { delay } from "./delay/delay.ts";
import { foldFields, foldWords } from "./fold/fields.ts";
import { fold as foldPart } from "./fold/part.ts";
import { identity } from "./identity/on-the-way.ts";
import { meter as meterPart } from "./meter/part.ts";
import { onceFields, onceWords } from "./once/fields.ts";
import { once } from "./once/once.ts";
import { once as oncePart } from "./once/part.ts";
import { overflowFields, overflowWords } from "./overflow/fields.ts";
import { overflow, payer } from "./overflow/overflow.ts";
import { overflow as overflowPart } from "./overflow/part.ts";
import { plansFields } from "./plans/fields.ts";
import { plans } from "./plans/plans.ts";
import { preflight } from "./preflight/preflight.ts";
import { refusalFields, refusalWords } from "./refusal/fields.ts";
import { refusal } from "./refusal/refusal.ts";
import { reserve } from "./reserve/reserve.ts";
import { slotsFields } from "./slots/fields.ts";
import { slots as slotsPart } from "./slots/part.ts";
import { slots } from "./slots/slots.ts";
import { statedCostFields, statedCostWords } from "./stated-cost/fields.ts";
import { statedCost } from "./stated-cost/stated-cost.ts";

/** Their fields, in the order in which messages and tables name them. */
export const DEFAULT_FIELDS = [
  foldFields,
  plansFields,
  countFields,
  onceFields,
  banFields,
  refusalFields,
  overflowFields,
  alertsFields,
  slotsFields,
  statedCostFields,
] as const satisfies readonly FeatureFields[];

/** What clients are told of them, in the order of the limits document. */
export const DEFAULT_WORDS: readonly ClientWords[] = [
  foldWords,
  countWords,
  onceWords,
  banWords,
  refusalWords,
  overflowWords,
  statedCostWords,
];

/** What they do on the way of a request, in no order. */
export const DEFAULTS: readonly Feature[] = [
  ban,
  count,
  delay,
  identity,
  once,
  overflow,
  payer,
  plans,
  preflight,
  refusal,
  reserve,
  /* @__PURE__ */ slots(),
  statedCost,
];

/**
 * What they add to the decisions of a limiter, from the innermost to the outermost: each attempt of `overflow` has
 * slots of its own, and `count` shortens the waits of each policy of a chain that has refused, but not that of a ban.
 * Of a policy with both a meter says what is reserved.
 */
export const PARTS: readonly PartOf[] = [slotsPart, foldPart, oncePart, meterPart, banPart, countPart, overflowPart];
