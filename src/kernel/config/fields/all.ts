/** The fields with those of all features: for the gateway, the command line and the documentation. */

import { leasesFields } from "../../../features/leases/fields.ts";
import { meterFields } from "../../../features/meter/fields.ts";
import { rpcFields } from "../../../features/rpc/fields.ts";
import { sharedFields } from "../../../features/shared/fields.ts";
import type { PolicyInput } from "../policy-input.ts";
import type { FeatureFields, Field } from "./field.ts";
import { type partsWith, tableOf } from "./table.ts";

export const ALL = tableOf([rpcFields, leasesFields, sharedFields, meterFields]);

type Words = readonly [typeof leasesFields.consistency, typeof sharedFields.consistency];
type Parts = ReturnType<typeof partsWith<typeof rpcFields.conditions, Words>>;
type All = Parts["before" | "after"][number] | typeof sharedFields.own | typeof meterFields.own;

type NamesOf<F> = F extends FeatureFields ? keyof F["fields"] : never;
export type FieldName = NamesOf<All>;
/** The entry of a field. */
export type EntryOf<N extends FieldName> = Extract<All["fields"], Readonly<Record<N, unknown>>>[N];

export const FIELDS = ALL.fields as Readonly<Record<FieldName, Field>> satisfies Readonly<
  Record<keyof PolicyInput, Field>
>;
