/** A configuration with the fields of all features: for the gateway, the command line and the documentation. */

import type { Bindings } from "../kernel/config/bindings.ts";
import type { Field, Fields } from "../kernel/config/fields/field.ts";
import { type MistakeCode, OTHER_CODES, type Parsed } from "../kernel/config/mistake.ts";
import { type FindMistakes, parseFields, writePolicy as write } from "../kernel/config/policy-fields.ts";
import type { PolicyInput } from "../kernel/config/policy-input.ts";
import { readSettings, type Settings } from "../kernel/config/settings.ts";
import { policyWarnings } from "../kernel/config/warnings.ts";
import type { Policy } from "../kernel/core/policy.ts";
import { DEFAULTS } from "./default.ts";
import { tableOf } from "./fields.ts";
import { allFeatures } from "./index.ts";
import { sharedOverflows } from "./overflow/paid-twice.ts";

export const ALL = tableOf(allFeatures().flatMap(({ fields }) => fields ?? []));

/** By name: those of `PolicyInput`. */
export const FIELDS = ALL.fields as Readonly<Record<keyof PolicyInput, Field>>;

/** Every code of a mistake: docs/errors.md has a heading for each. */
export function mistakeCodes(): readonly MistakeCode[] {
  return [...new Set([...codesIn(FIELDS), ...OTHER_CODES])].sort();
}

/** The codes of wrong fields, and of those of limits. */
function codesIn(fields: Fields): MistakeCode[] {
  return Object.values(fields).flatMap(({ code, ...field }) => {
    const tables = field.is === "list" && field.of.is === "byAlgorithm" ? Object.values(field.of.tables) : [];
    return [code!, ...tables.flatMap(codesIn)];
  });
}

/** The policy as an operator could write it, with defaults filled in. `parsePolicies` reads it back. */
export function writePolicy(policy: Policy): PolicyInput {
  return write(ALL, policy);
}

/** Checks a list of policies: see `parseFields`. */
export function parsePolicies(
  input: unknown,
  path: string,
  paths?: readonly string[],
  more?: FindMistakes,
): Parsed<readonly Policy[]> {
  const parsed = parseFields(ALL, input, path, paths, more);
  if (parsed.mistakes) return parsed;
  const shared = sharedOverflows(parsed.value, (i) => paths?.[i] ?? `${path}[${i}]`);
  return shared.length > 0 ? { mistakes: shared } : parsed;
}

/** The Worker's bindings, checked. */
export function parseSettings(bindings: Bindings): Parsed<Settings> {
  return readSettings(bindings, parsePolicies);
}

/** What is allowed and probably not meant. */
export function warningsOf(policies: readonly Policy[]): string[] {
  return policyWarnings(policies, [...DEFAULTS, ...allFeatures().flatMap(({ http = [] }) => http)]);
}
