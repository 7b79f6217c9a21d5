/** The fields of policies: those of the kernel, those that single features add, and those that every program has. */

import { mode, name } from "../kernel/config/fields/basics.ts";
import { consistencyBy } from "../kernel/config/fields/consistency.ts";
import { costBy } from "../kernel/config/fields/cost.ts";
import type { AddedFields, FeatureFields, Field, Fields, FieldTable } from "../kernel/config/fields/field.ts";
import { keyBy } from "../kernel/config/fields/key.ts";
import { limits } from "../kernel/config/fields/limits.ts";
import { conditionsWith, matchBy } from "../kernel/config/fields/match.ts";
import { withCodes } from "../kernel/config/fields/read.ts";
import type { KeySource } from "../kernel/request/sources.ts";
import { DEFAULT_FIELDS } from "./default.ts";

/**
 * @param others what to do for a word of `consistency` that is not among `words`.
 * @param costTable what a table may say in `cost`. Absent: nothing.
 */
export function coreWith<More extends Fields, const Words extends readonly string[]>(
  more: More,
  sources: readonly KeySource[],
  words: Words,
  others = "",
  costTable?: Field,
) {
  const conditions = conditionsWith(more);
  const cost = costBy(conditions, costTable);
  return [name, matchBy(conditions), keyBy(sources), cost, limits, mode, consistencyBy(words, others)] as const;
}

/** @param others as for `coreWith`. */
export function tableOf(added: readonly AddedFields[], others?: string): FieldTable {
  const conditions: Fields = Object.assign({}, ...added.map((one) => one.conditions));
  const words = added.flatMap((one) => one.consistency ?? []);
  const sources = added.flatMap((one) => one.sources ?? []);
  const core = coreWith(conditions, sources, words, others, added.find(({ cost }) => cost)?.cost);
  // In the order in which messages and tables name them.
  const features: readonly FeatureFields[] = [...core, ...added.flatMap(({ own }) => own ?? []), ...DEFAULT_FIELDS];
  return {
    features,
    fields: withCodes(Object.assign({}, ...features.map(({ fields }) => fields))),
    unitOf: added.find(({ unitOf }) => unitOf)?.unitOf ?? (() => "none"),
  };
}
