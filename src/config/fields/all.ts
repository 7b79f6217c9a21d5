/** The fields of all features, in the order in which messages and tables name them. */

import type { PolicyInput } from "../policy-input.ts";
import { mode, name } from "./basics.ts";
import { consistency } from "./consistency.ts";
import { cost } from "./cost.ts";
import { count } from "./count.ts";
import type { Feature, Field } from "./field.ts";
import { key } from "./key.ts";
import { limits } from "./limits.ts";
import { match } from "./match.ts";
import { meter } from "./meter.ts";
import { once } from "./once.ts";
import { overflow } from "./overflow.ts";
import { plans } from "./plans.ts";
import { withCodes } from "./read.ts";
import { refusal } from "./refusal.ts";

const ALL = [name, match, key, cost, limits, plans, consistency, mode, meter, count, once, refusal, overflow] as const;

export const FEATURES: readonly Feature[] = ALL;

type NamesOf<F> = F extends Feature ? keyof F["fields"] : never;
export type FieldName = NamesOf<(typeof ALL)[number]>;
/** The entry of a field. */
export type EntryOf<N extends FieldName> = Extract<(typeof ALL)[number]["fields"], Readonly<Record<N, unknown>>>[N];

export const FIELDS = withCodes(Object.assign({}, ...FEATURES.map(({ fields }) => fields))) as Readonly<
  Record<FieldName, Field>
> satisfies Readonly<Record<keyof PolicyInput, Field>>;
