/** The features that a program of the library adds by itself: `features: [meter()]`. */

import { isTable } from "../kernel/config/bindings.ts";
import type { AddedFields, FieldTable } from "../kernel/config/fields/field.ts";
import { type Mistake, mistakeAbout } from "../kernel/config/mistake.ts";
import { type KeySource, sourceOf } from "../kernel/request/sources.ts";
import { tableOf } from "./fields.ts";

/** What a feature brings to policies. */
interface Brings {
  /** Fields of policies. */
  readonly own?: readonly string[];
  /** Conditions of `match`, `except` and `cost`. */
  readonly conditions?: readonly string[];
  /** Whether `cost` may be a table. */
  readonly costTable?: true;
  /** Sources of `key`. */
  readonly sources?: readonly KeySource[];
  /** A word of `consistency`. */
  readonly consistency?: string;
}

/**
 * What belongs to each, in the order in which messages and tables name their fields. Programs without a feature carry
 * this alone, to name it where it is missing.
 */
export const OPTIONAL: Readonly<Record<string, Brings>> = {
  rpc: { conditions: ["rpc", "tool"], own: ["originChecksMcpHeaders"] },
  leases: { consistency: "leased" },
  shared: { consistency: "shared", own: ["sync"] },
  meter: { own: ["meter"] },
  live: {},
  body: { conditions: ["body"], sources: ["body"] },
  ban: { own: ["ban"] },
  overflow: { own: ["overflow"] },
  statedCost: { costTable: true },
};

/** The fields of a program's policies, of which some features may be missing. */
export function tableOfSome(features: readonly { readonly name: string; readonly fields?: AddedFields }[]): FieldTable {
  const missing = Object.entries(OPTIONAL).filter(([feature]) => !features.some(({ name }) => name === feature));
  const words = missing.flatMap(([feature, { consistency }]) =>
    consistency === undefined ? [] : `; "${consistency}" needs ${howToAdd(feature)}`,
  );
  return {
    ...tableOf(
      features.flatMap(({ fields }) => fields ?? []),
      words.join(""),
    ),
    missing: (policy, path) => missingFeatures(policy, path, missing),
  };
}

function howToAdd(feature: string): string {
  return `the feature ${feature}: import { ${feature} } from "headgate", and write features: [${feature}()] in createLimiter`;
}

function missingFeatures(
  policy: Readonly<Record<string, unknown>>,
  path: string,
  missing: readonly (readonly [feature: string, Brings])[],
): Mistake[] {
  const mistakes: Mistake[] = [];
  const look = (isOf: (brings: Brings) => boolean | undefined, below: string, found: unknown) => {
    const [feature] = missing.find(([, brings]) => isOf(brings)) ?? [];
    if (feature === undefined) return;
    mistakes.push(mistakeAbout("ERR_FEATURE_MISSING", `${path}.${below}`, howToAdd(feature), found));
  };
  for (const [name, value] of given(policy)) look(({ own }) => own?.includes(name), name, value);
  for (const field of ["match", "except", "cost"]) {
    const value = policy[field];
    const rules = Array.isArray(value)
      ? [...value.entries()].map(([i, rule]) => [`${field}[${i}]`, rule])
      : [[field, value]];
    for (const [below, rule] of rules) {
      for (const [name, found] of given(rule)) {
        look(({ conditions }) => conditions?.includes(name), `${below}.${name}`, found);
      }
    }
  }
  if (isTable(policy.cost)) look(({ costTable }) => costTable, "cost", policy.cost);
  const kinds = [policy.key].flat().filter((kind) => typeof kind === "string");
  const named = new Set(kinds.flatMap((kind) => kind.split("+")).map(sourceOf));
  look(({ sources }) => sources?.some((source) => named.has(source)), "key", policy.key);
  const { consistency } = policy;
  if (consistency !== undefined) look((brings) => brings.consistency === consistency, "consistency", consistency);
  return mistakes;
}

function given(table: unknown): [name: string, value: unknown][] {
  return isTable(table) ? Object.entries(table).filter(([, value]) => value !== undefined) : [];
}
