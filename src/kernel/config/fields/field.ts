/**
 * A field of a policy, said once: its type, range, default and message. read.ts reads policies by it, and scripts make
 * the JSON schema and the tables of docs/configuration.md and docs/errors.md of it.
 */

import type { Field as LimitField, Values as ValuesOfLimit } from "../../core/named.ts";
import type { Limit, Policy } from "../../core/policy.ts";
import type { MeterUnit } from "../../core/units.ts";
import type { KeySource } from "../../request/sources.ts";
import type { Mistake, MistakeCode, Parsed } from "../mistake.ts";
import type { PolicyInput } from "../policy-input.ts";

/** What the limits of a policy count: `none` without a meter. */
export type Unit = MeterUnit | "none";

/** By name, in the order in which messages and tables name them. */
export type Fields = Readonly<Record<string, Field>>;

type Kind =
  | LimitField
  | { readonly is: "flag" }
  /** Dollars, 0 or more. */
  | { readonly is: "price" }
  /** A part of a whole: above 0, at most 1. */
  | { readonly is: "part" }
  /** One of some integers. */
  | { readonly is: "choice"; readonly numbers: readonly number[] }
  /** At least one item. Messages about an item say what is expected of the list. */
  | { readonly is: "list"; readonly of: Field; readonly most?: number; readonly canBeEmpty?: true }
  /** The same. One item may stand alone. */
  | { readonly is: "oneOrMore"; readonly of: Field; readonly most?: number }
  | { readonly is: "table"; readonly fields: Fields }
  /** A table whose `algorithm` says which fields it has. */
  | { readonly is: "byAlgorithm"; readonly tables: Readonly<Record<string, Fields>> }
  /** A table whose names are the operator's own: at least one. */
  | {
      readonly is: "named";
      readonly of: Field;
      /** Their form, as a regular expression and in words. Absent: code checks it. */
      readonly names?: { readonly form: RegExp; readonly expected: string };
      /** A name that must be there, and what is expected if it is not. */
      readonly required?: { readonly name: string; readonly expected: string };
    }
  /** It stands nowhere. */
  | { readonly is: "absent" };

export type Field = Kind & {
  /** What it may be, in words: the text after "expected". Absent: it follows from the kind. */
  readonly expected?: string;
  /** How a text may be written, in words: `header:<name>`. Absent: `expected` says it. */
  readonly forms?: readonly string[];
  /** As it is written. Absent: none. */
  readonly default?: unknown;
  /** A further condition on a value of this form. Absent: none. */
  readonly isRight?: (value: never) => boolean;
  /** True: it may be absent, and there is no default. */
  readonly isOptional?: true;
  /** Absent: that of the field around it. Fields of policies and limits get their own, which follows from the name. */
  readonly code?: MistakeCode;
  /** The field if a table is written in place of a list. Absent: a table is wrong. */
  readonly asTable?: Field;
  /** The field beside a meter. */
  readonly besideMeter?: Field | Readonly<Record<MeterUnit, Field>>;
  /** What a wrong value was probably meant to be, in words. Undefined: the value says nothing of the kind. */
  readonly meant?: (value: unknown, expected: string) => string | undefined;
  /** True: messages do not show its value. */
  readonly isSecret?: true;
  /** True: a policy that is an overflow has none of its own. That of the policy before it holds. */
  readonly isOfHead?: true;
};

/** The fields of one feature, and what is known about them together. */
export interface FeatureFields {
  readonly fields: Fields;
  /** The limits with other numbers that some clients have. Absent: all have those that are written. */
  readonly otherLimits?: (checked: Omit<Checked, "allLimits">) => readonly Limit[];
  /** Finds what is wrong with the fields beside each other, beside others and beside the limits. */
  readonly beside?: (checked: Checked) => void;
  /** The part of the policy that the checked values make. Absent: the values themselves. */
  readonly compile?: (values: Values) => Partial<Policy>;
  /** Checks policies that are right each by itself beside each other, and adds what the others make of one. */
  readonly together?: (policies: readonly Policy[], all: AllFields) => Parsed<readonly Policy[]>;
  /** The fields as an operator could write them. Absent: the members of the policy with these names. */
  readonly write?: (policy: Policy) => Partial<PolicyInput>;
}

/**
 * What clients are told because of a feature's fields. It stands beside their entries, and apart: a program without a
 * limits page does not carry it.
 */
export interface ClientWords<Members extends object = Values> {
  /** Members of a policy in the limits document. @param documented the policies that clients see. */
  readonly tell?: (policy: Policy, documented: readonly Policy[]) => Members | undefined;
  /** The same in sentences, for people. */
  readonly say?: (members: Members) => Said;
  /** What its limits count, if not every request. */
  readonly counted?: (policy: Policy) => `${string} requests` | undefined;
  /** What its word of `consistency` means. */
  readonly consistency?: Readonly<Record<string, string>>;
}

/** Sentences about a policy, by what they are about. */
export interface Said {
  /** What a request costs, or which requests count. It follows "Under <policy>". */
  readonly costs?: string | undefined;
  /** How a request is refused. It follows "Under <policy>". */
  readonly whenRefused?: string | undefined;
  /** What comes after a refusal. It follows "If <policy> refuses a request,". */
  readonly next?: string | undefined;
}

/** What a feature of the library adds to the fields that all policies have. */
export interface AddedFields {
  /** Fields of its own, and what is known about them. */
  readonly own?: FeatureFields;
  /** Further conditions of `match`, `except` and `cost`. */
  readonly conditions?: Fields;
  /** What a table may say in `cost`. Its `expected` is an example. */
  readonly cost?: Field;
  /** Further sources of `key`. */
  readonly sources?: readonly KeySource[];
  /** A further word of `consistency`. */
  readonly consistency?: string;
  /** What the limits of a policy count, as it was written. */
  readonly unitOf?: (policy: unknown) => Unit;
}

/** The fields of all features, for one that looks at several policies. */
export interface AllFields {
  /** The name of a policy in messages, by its position. */
  readonly pathOf: (i: number) => string;
  readonly fields: Fields;
  /** Writes a policy as an operator could. */
  readonly write: (policy: Policy) => PolicyInput;
}

/** All fields of a limiter's policies. */
export interface FieldTable {
  readonly features: readonly FeatureFields[];
  readonly fields: Fields;
  readonly unitOf: (policy: unknown) => Unit;
  /** Finds what belongs to missing features. @param path of the policy in messages. Absent: none is missing. */
  readonly missing?: (policy: Readonly<Record<string, unknown>>, path: string) => Mistake[];
}

// biome-ignore lint/suspicious/noExplicitAny: the fields say the types of their values; TypeScript cannot follow.
export type Values = Readonly<Record<string, any>>;

/** A policy whose fields have been checked, each by itself. Some may be wrong. */
export interface Checked {
  /** As it was written. */
  readonly written: Readonly<Record<string, unknown>>;
  /** The fields that are right, as the program uses them. */
  readonly values: Values;
  /** In messages. */
  readonly path: string;
  readonly unit: Unit;
  /** The limits whose fields are right. */
  readonly limits: readonly CheckedLimit[];
  /** These, and those with other numbers. */
  readonly allLimits: readonly Limit[];
  /** The ids of all limits. Empty: the policy has no name, or no limits. */
  readonly ids: readonly string[];
  /** Gets what is found. */
  readonly mistakes: Mistake[];
  /** Notes a mistake about a field. @param below its path in the policy. @param found absent: the field's value. */
  readonly wrong: (code: MistakeCode, below: string, expected: string, found?: unknown) => void;
}

/** A limit with its defaults filled in and its durations in milliseconds, and as the program uses it. */
export interface CheckedLimit {
  readonly values: LimitValues;
  readonly limit: Limit;
  readonly path: string;
}

export type LimitValues = ValuesOfLimit & Pick<Limit, "algorithm" | "scope">;
