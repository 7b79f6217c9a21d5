/** The fields with those of all features: for the gateway, the command line and the documentation. */

import type { PolicyInput } from "../policy-input.ts";
import type { Feature, Field } from "./field.ts";
import { leasesFields } from "./leases.ts";
import { meterFields } from "./meter.ts";
import { rpcFields } from "./rpc.ts";
import { sharedFields } from "./shared.ts";
import { type partsWith, tableOf } from "./table.ts";

export const ALL = tableOf([rpcFields, leasesFields, sharedFields, meterFields]);

type Words = readonly [typeof leasesFields.consistency, typeof sharedFields.consistency];
type Parts = ReturnType<typeof partsWith<typeof rpcFields.conditions, Words>>;
type All = Parts["before" | "after"][number] | typeof sharedFields.own | typeof meterFields.own;

type NamesOf<F> = F extends Feature ? keyof F["fields"] : never;
export type FieldName = NamesOf<All>;
/** The entry of a field. */
export type EntryOf<N extends FieldName> = Extract<All["fields"], Readonly<Record<N, unknown>>>[N];

export const FIELDS = ALL.fields as Readonly<Record<FieldName, Field>> satisfies Readonly<
  Record<keyof PolicyInput, Field>
>;
