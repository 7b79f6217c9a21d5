// The types of policies are written by hand, so that editors show them with their words: they are those of the entries.

import { expect, it } from "vitest";
import type { banFields } from "../../../src/features/ban/fields.ts";
import type { bodyFields } from "../../../src/features/body/fields.ts";
import type { DEFAULT_FIELDS } from "../../../src/features/default.ts";
import type { coreWith } from "../../../src/features/fields.ts";
import type { leasesFields } from "../../../src/features/leases/fields.ts";
import type { meterFields } from "../../../src/features/meter/fields.ts";
import type { overflowFields } from "../../../src/features/overflow/fields.ts";
import type { rpcFields } from "../../../src/features/rpc/fields.ts";
import type { sharedFields } from "../../../src/features/shared/fields.ts";
import type { FeatureFields } from "../../../src/kernel/config/fields/field.ts";
import type { KeyPart, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Duration } from "../../../src/kernel/core/duration.ts";
import type { KEY_SOURCES, KeySource } from "../../../src/kernel/request/sources.ts";

/** What may be written for a field. */
type Written<F> = F extends { readonly is: "word"; readonly words: readonly (infer Word)[] }
  ? Word | (F extends { readonly asTable: infer Form } ? Written<Form> : never)
  : F extends { readonly is: "flag" }
    ? boolean
    : F extends { readonly is: "integer" | "units" | "price" | "part" | "choice" }
      ? number
      : F extends { readonly is: "duration" }
        ? Duration
        : F extends { readonly is: "text" }
          ? string
          : F extends { readonly is: "list"; readonly of: infer Item; readonly asTable: infer Form }
            ? readonly Written<Item>[] | Written<Form>
            : F extends { readonly is: "list"; readonly of: infer Item }
              ? readonly Written<Item>[]
              : F extends { readonly is: "oneOrMore"; readonly of: infer Item }
                ? Written<Item> | readonly Written<Item>[]
                : F extends { readonly is: "named"; readonly of: infer Item }
                  ? Readonly<Record<string, Written<Item>>>
                  : F extends { readonly is: "table"; readonly fields: infer Fields }
                    ? WrittenTable<Fields>
                    : never;

type MayBeAbsent = { readonly default: unknown } | { readonly isOptional: true };
type OptionalIn<Fields> = { [N in keyof Fields]: Fields[N] extends MayBeAbsent ? N : never }[keyof Fields];
type WrittenTable<Fields> = { readonly [N in Exclude<keyof Fields, OptionalIn<Fields>>]: Written<Fields[N]> } & {
  readonly [N in OptionalIn<Fields>]?: Written<Fields[N]> | undefined;
};

type Words = readonly [typeof leasesFields.consistency, typeof sharedFields.consistency];
type Conditions = typeof rpcFields.conditions & typeof bodyFields.conditions;
type Core = ReturnType<typeof coreWith<Conditions, Words>>;
/** The entries of all features. */
type All =
  | (Core | typeof DEFAULT_FIELDS)[number]
  | (
      | typeof rpcFields.own
      | typeof sharedFields.own
      | typeof meterFields.own
      | typeof banFields
      | typeof overflowFields
    );
type NamesOf<F> = F extends FeatureFields ? keyof F["fields"] : never;
type FieldName = NamesOf<All>;
type EntryOf<N extends FieldName> = Extract<All["fields"], Readonly<Record<N, unknown>>>[N];

/** A field of a policy as its entry says it. */
type OfEntry<N extends FieldName> = Written<EntryOf<N>>;
/** The same as its type says it. */
type OfType<N extends FieldName> = Exclude<PolicyInput[N], undefined>;
/** The names of the fields whose two types differ. */
type Differing<N extends FieldName> = {
  [K in N]: [OfEntry<K>, OfType<K>] extends [OfType<K>, OfEntry<K>] ? never : K;
}[N];

/** A source of a key, with what follows its name. */
type Source = {
  [S in KeySource]: (typeof KEY_SOURCES)[S] extends { readonly name: string } ? `${S}:${string}` : S;
}[KeySource];

it("a field of a policy has the type of its entry", () => {
  // The compiler names those that differ. The two forms of `cost` are too much for it. The limits of each algorithm
  // have types of their own in src/kernel/core, and the type of `count` says which statuses there are.
  const differing: readonly never[] = [] as readonly Differing<
    Exclude<FieldName, "limits" | "count" | "cost" | "key">
  >[];
  const unknown: readonly never[] = [] as readonly (
    | Exclude<FieldName, keyof PolicyInput>
    | Exclude<keyof PolicyInput, FieldName>
  )[];
  const sources: readonly KeyPart[] = [] as readonly Source[];
  const written: readonly Source[] = [] as readonly KeyPart[];
  expect([...differing, ...unknown, ...sources, ...written]).toEqual([]);
});
