/** The features that every program has. One that no policy uses is on the way of no request. */

import type { ClientWords, FeatureFields } from "../kernel/config/fields/field.ts";
import type { Feature } from "../kernel/http/feature.ts";
import type { InsideFeature } from "../kernel/limiter/feature.ts";
import type { PartOf } from "../kernel/limiter/part.ts";
import { alertsFields } from "./alerts/fields.ts";
import { count as countPart } from "./count/attempts.ts";
import { count } from "./count/count.ts";
import { countFields, countWords } from "./count/fields.ts";
import { delay } from "./delay/delay.ts";
import { foldFields, foldWords } from "./fold/fields.ts";
import { fold as foldPart } from "./fold/part.ts";
import { identity } from "./identity/on-the-way.ts";
import { onceFields, onceWords } from "./once/fields.ts";
import { once } from "./once/once.ts";
import { once as oncePart } from "./once/part.ts";
import { partsInOrder } from "./order.ts";
import { payer } from "./overflow/payer.ts";
import { plansFields } from "./plans/fields.ts";
import { plans } from "./plans/plans.ts";
import { preflight } from "./preflight/preflight.ts";
import { refusalFields, refusalWords } from "./refusal/fields.ts";
import { refusal } from "./refusal/refusal.ts";
import { reserve } from "./reserve/reserve.ts";
import { slotsFields } from "./slots/fields.ts";
import { slots as slotsPart } from "./slots/part.ts";
import { slots } from "./slots/slots.ts";

/** Their fields, in the order in which messages and tables name them. */
export const DEFAULT_FIELDS = [
  foldFields,
  plansFields,
  countFields,
  onceFields,
  refusalFields,
  alertsFields,
  slotsFields,
] as const satisfies readonly FeatureFields[];

/** What clients are told of them, in the order of the limits document. */
export const DEFAULT_WORDS: readonly ClientWords[] = [foldWords, countWords, onceWords, refusalWords];

/** What they do on the way of a request, in no order. */
export const DEFAULTS: readonly Feature[] = [
  count,
  delay,
  identity,
  once,
  payer,
  plans,
  preflight,
  refusal,
  reserve,
  /* @__PURE__ */ slots(),
];

/** What they and these add to the decisions of a limiter. */
export function partsWith(features: readonly InsideFeature[]): readonly PartOf[] {
  return partsInOrder([slotsPart, foldPart, oncePart, countPart, ...features.flatMap(({ parts = [] }) => parts)]);
}
