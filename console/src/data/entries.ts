/**
 * The entries of a live document that can be shown. Somebody may have written others into the store by hand: they do
 * nothing, the gateway lists them under `ignored`, and an edited document keeps them.
 */

import { isTable } from "../../../src/config/bindings.ts";
import {
  type Field,
  isOfKind,
  OVERRIDE_ENTRIES,
  OVERRIDE_FIELDS,
  POLICY_ENTRIES,
} from "../../../src/limiter/live/fields.ts";
import type { LiveDocument, LivePolicy, Override } from "../api.ts";

/** The overrides that name a client. Fields of a wrong kind are left out, as the gateway leaves them out. */
export function overridesOf({ overrides }: LiveDocument): readonly Override[] {
  return overrides.filter(isTable).flatMap((entry) => {
    const { policy, kind, key, until } = entry;
    if (typeof policy !== "string" || typeof key !== "string") return [];
    if (until !== undefined && !isOfKind(OVERRIDE_FIELDS.until, until)) return [];
    const fields = fieldsIn(OVERRIDE_ENTRIES, entry);
    return [{ policy, kind: typeof kind === "string" ? kind : "", key, ...fields }];
  });
}

/** What the document changes for all clients, by the names of policies. */
export function policyChangesOf({ policies }: LiveDocument): readonly (readonly [name: string, LivePolicy])[] {
  return Object.entries(policies).map(([name, entry]) => [name, policyIn(entry)]);
}

export function policyIn(entry: unknown): LivePolicy {
  return isTable(entry) ? fieldsIn(POLICY_ENTRIES, entry) : {};
}

function fieldsIn(
  fields: readonly (readonly [name: string, field: Field])[],
  entry: Readonly<Record<string, unknown>>,
): object {
  const values = fields.map(([name, field]) => {
    const value = entry[name];
    return [name, field, field.is === "numbers" && isTable(value) ? numbersIn(value) : value] as const;
  });
  return Object.fromEntries(
    values.filter(([, field, value]) => isOfKind(field, value)).map(([name, , value]) => [name, value]),
  );
}

function numbersIn(numbers: object): object {
  return Object.fromEntries(Object.entries(numbers).filter(([, number]) => typeof number === "number"));
}
