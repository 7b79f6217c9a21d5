/** The fields of policies: those that all have, and those of the features that a program adds to its limiter. */

import { mode, name } from "./basics.ts";
import { consistencyBy } from "./consistency.ts";
import { costBy } from "./cost.ts";
import { count } from "./count.ts";
import type { AddedFields, FeatureFields, Fields, FieldTable } from "./field.ts";
import { key } from "./key.ts";
import { limits } from "./limits.ts";
import { conditionsWith, matchBy } from "./match.ts";
import { once } from "./once.ts";
import { overflow } from "./overflow.ts";
import { plans } from "./plans.ts";
import { withCodes } from "./read.ts";
import { refusal } from "./refusal.ts";

/** In the order in which messages and tables name them: those before the fields that features add, and those after. */
export function partsWith<More extends Fields, const Words extends readonly string[]>(more: More, words: Words) {
  const conditions = conditionsWith(more);
  return {
    before: [name, matchBy(conditions), key, costBy(conditions), limits, plans, mode, consistencyBy(words)],
    after: [count, once, refusal, overflow],
  } as const;
}

export function tableOf(added: readonly AddedFields[]): FieldTable {
  const conditions: Fields = Object.assign({}, ...added.map((one) => one.conditions));
  const words = added.flatMap((one) => one.consistency ?? []);
  const { before, after } = partsWith(conditions, words);
  const features: readonly FeatureFields[] = [...before, ...added.flatMap(({ own }) => own ?? []), ...after];
  return {
    features,
    fields: withCodes(Object.assign({}, ...features.map(({ fields }) => fields))),
    unitOf: added.find(({ unitOf }) => unitOf)?.unitOf ?? (() => "none"),
  };
}
