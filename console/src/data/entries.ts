/**
 * The entries of a live document that can be shown. Somebody may have written others into the store by hand: they do
 * nothing, the gateway lists them under `ignored`, and an edited document keeps them.
 */

import {
  type Field,
  isOfKind,
  OVERRIDE_ENTRIES,
  OVERRIDE_FIELDS,
  POLICY_ENTRIES,
} from "../../../src/features/live/fields.ts";
import { isTable } from "../../../src/kernel/config/bindings.ts";
import { type LiveAnswer, type LivePolicy, now, type Override, type OverrideFields } from "../api.ts";

/** The overrides that name a client. Fields of a wrong kind are left out, as the gateway leaves them out. */
export function overridesOf({ overrides }: LiveAnswer): readonly Override[] {
  return overrides.filter(isTable).flatMap((entry) => {
    const { policy, kind, key, until } = entry;
    if (typeof policy !== "string" || typeof key !== "string") return [];
    if (until !== undefined && !isOfKind(OVERRIDE_FIELDS.until, until)) return [];
    const fields = fieldsIn(OVERRIDE_ENTRIES, entry);
    return [{ policy, kind: typeof kind === "string" ? kind : "", key, ...fields }];
  });
}

/** A client as the document finds it. */
interface HashedClient {
  readonly policy: string;
  readonly hash: string;
}

/** The override of a client. Undefined: it has none, or it has ended. */
export function overrideOf(document: LiveAnswer, client: HashedClient): Override | undefined {
  const found = overridesOf(document).find((one) => isFor(client, one));
  return found?.until !== undefined && Date.parse(found.until) <= now() ? undefined : found;
}

/** The document with another override of a client. @param fields undefined: none. */
export function withOverride(
  document: LiveAnswer,
  client: HashedClient & { readonly kind: string },
  fields: OverrideFields | undefined,
): LiveAnswer {
  const others = document.overrides.filter((one) => !isFor(client, one));
  const [before] = document.overrides.filter(isTable).filter((one) => isFor(client, one));
  const { policy, kind, hash } = client;
  // Under which key secret the hash was made stays as it is.
  const secret = before?.secret === undefined ? {} : { secret: before.secret };
  const override = { policy, kind, key: hash, ...secret, ...fields };
  return { ...document, overrides: fields ? [...others, override] : others };
}

function isFor({ policy, hash }: HashedClient, override: unknown): boolean {
  return isTable(override) && override.policy === policy && override.key === hash;
}

/** What the document changes for all clients, by the names of policies. */
export function policyChangesOf({ policies }: LiveAnswer): readonly (readonly [name: string, LivePolicy])[] {
  return Object.entries(policies).map(([name, entry]) => [name, policyIn(entry)]);
}

export function policyIn(entry: unknown): LivePolicy {
  return isTable(entry) ? fieldsIn(POLICY_ENTRIES, entry) : {};
}

export function overrideIn(entry: Readonly<Record<string, unknown>>): OverrideFields {
  return fieldsIn(OVERRIDE_ENTRIES, entry);
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
