/** Checks what an operator writes into the live document, with the rules of the configuration. */

import { parsePolicies, writePolicy } from "../../features/configuration.ts";
import { addressOf, EMPTY, type LiveDocument } from "../../features/live/document.ts";
import {
  EFFECTS,
  type Entry,
  type Field,
  instantOf,
  type LivePolicy,
  OVERRIDE_ENTRIES,
  OVERRIDE_FIELDS,
  POLICY_ENTRIES,
  POLICY_FIELDS,
} from "../../features/live/fields.ts";
import { changePolicy } from "../../features/live/view.ts";
import { UNTIL_EXPECTED, wrongValuesOf } from "../../features/live/wrong-values.ts";
import { isTable } from "../../kernel/config/bindings.ts";
import { BLOCK_INSTEAD } from "../../kernel/config/fields/limits.ts";
import { describeValue } from "../../kernel/config/mistake.ts";
import { MAX_UNITS } from "../../kernel/core/layout.ts";
import { timesFactor, withWritten } from "../../kernel/core/numbers.ts";
import type { Limit, Policy } from "../../kernel/core/policy.ts";
import { describeUnits } from "../../kernel/core/units.ts";
import { hasPlan } from "../../kernel/limiter/numbers.ts";
import { noField } from "../../kernel/nearest.ts";
import type { LiveMistake } from "./answers.ts";

const ADDRESS_FIELDS = ["policy", "kind", "key", "secret"];
/** Those of an answer too: it may be written back as it is. */
const DOCUMENT_FIELDS = ["policies", "overrides", "owner", "secret", "version", "changes", "ignored", "notes"];
/** An instant before all others. */
const NEVER_MS = Number.NEGATIVE_INFINITY;
const PARTITION = /^[A-Za-z0-9_-]{22}$/;

/**
 * Every mistake of a whole document. Empty: it may be written.
 *
 * @param kept the document in force. An entry that stands in it was checked before, perhaps by another configuration.
 * @param nowMs the gateway's clock. What replaces an override must not have ended. Others may: documents move.
 */
export function checkDocument(
  value: unknown,
  policies: readonly Policy[],
  kept: LiveDocument = EMPTY,
  nowMs = NEVER_MS,
): LiveMistake[] {
  if (!isTable(value)) return [ofKind("", "a table { policies, overrides }", value)];
  const { policies: changes, overrides, secret } = value;
  const mistakes = unknownFields("", value, DOCUMENT_FIELDS, "policies and overrides");
  // Under another secret no client of the document can be found: a typing error must not switch off every override.
  if (secret !== undefined && secret !== null && secret !== kept.secret)
    mistakes.push(...checkSecret(secret, "secret"));
  const changed = new Map(policies.map((policy) => [policy.name, policy]));
  if (!isTable(changes)) mistakes.push(ofKind("policies", "a table of policies by name", changes));
  else {
    for (const [name, change] of Object.entries(changes)) {
      const policy = changed.get(name);
      const isKept =
        Object.hasOwn(kept.policies, name) && JSON.stringify(change) === JSON.stringify(kept.policies[name]);
      const wrong = checkPolicy(change, `policies.${name}`, policy);
      if (!isKept) mistakes.push(...wrong);
      // A client's numbers must fit the policy as it will be in force.
      if (policy && wrong.length === 0) changed.set(name, changePolicy(policy, change as LivePolicy));
    }
  }
  if (!Array.isArray(overrides)) return [...mistakes, ofKind("overrides", "a list of overrides", overrides)];
  const seen = new Map<string, number>();
  const known = new Set(kept.overrides.map((override) => JSON.stringify(override)));
  const replaced = new Set(kept.overrides.map(addressOf));
  for (const [i, override] of overrides.entries()) {
    const path = `overrides[${i}]`;
    const address = addressOf(override);
    const endsAfterMs = replaced.has(address) ? nowMs : NEVER_MS;
    if (!known.has(JSON.stringify(override))) mistakes.push(...checkAddressed(override, path, changed, endsAfterMs));
    if (address === undefined) continue;
    const first = seen.get(address);
    if (first !== undefined) {
      const expected = "one override for each policy and key";
      mistakes.push({ path, expected, found: `the policy and key of overrides[${first}]` });
    }
    seen.set(address, i);
  }
  return mistakes;
}

/** @param path in messages; empty: the value itself. @param policy undefined: no policy has that name. */
export function checkPolicy(value: unknown, path: string, policy: Policy | undefined): LiveMistake[] {
  if (!policy) return [mistake(path, "the name of a policy of this gateway", path.replace(/^policies\./, ""))];
  if (!isTable(value)) return [ofKind(path, `a table { ${Object.keys(POLICY_FIELDS).join(", ")} }`, value)];
  return [
    ...unknownFields(path, value, Object.keys(POLICY_FIELDS)),
    ...POLICY_ENTRIES.flatMap(([name, field]) => checkField(name, field, value, path, policy)),
  ];
}

function checkAddressed(
  value: unknown,
  path: string,
  policies: ReadonlyMap<string, Policy>,
  endsAfterMs: number,
): LiveMistake[] {
  if (!isTable(value)) return [ofKind(path, "a table { policy, kind, key, … }", value)];
  const { policy: name, kind, key, secret, ...override } = value;
  const policy = typeof name === "string" ? policies.get(name) : undefined;
  if (!policy) return [mistake(`${path}.policy`, "the name of a policy of this gateway", name)];
  const mistakes: LiveMistake[] = [];
  if (typeof kind !== "string" || kind === "") mistakes.push(mistake(`${path}.kind`, "the kind of the key", kind));
  if (typeof key !== "string" || !PARTITION.test(key)) {
    // It may be a raw key.
    const found = key === undefined ? "nothing" : "a value that is not shown";
    mistakes.push({ path: `${path}.key`, expected: "the hash of a client's key: 22 letters, digits, - or _", found });
  }
  if (secret !== undefined) mistakes.push(...checkSecret(secret, `${path}.secret`));
  return [...mistakes, ...checkOverride(override, path, policy, endsAfterMs)];
}

function checkSecret(secret: unknown, path: string): LiveMistake[] {
  if (typeof secret === "string" && PARTITION.test(secret)) return [];
  // It may be the secret itself.
  return [{ path, expected: "the fingerprint of a key secret, as it was read", found: "a value that is not shown" }];
}

/**
 * @param value the override without its policy and key. @param path in messages; empty: the value itself.
 * @param policy the one in force. @param endsAfterMs its `until` must be later, in ms since the epoch.
 */
export function checkOverride(value: unknown, path: string, policy: Policy, endsAfterMs = NEVER_MS): LiveMistake[] {
  if (!isTable(value)) return [ofKind(path, `a table with one of ${EFFECTS.join(", ")}`, value)];
  const fields = Object.keys(OVERRIDE_FIELDS);
  const mistakes = unknownFields(path, value, path ? [...fields, ...ADDRESS_FIELDS] : fields, fields.join(", "));
  const isGiven = (name: string | undefined) => name !== undefined && value[name] !== undefined;
  if (!EFFECTS.some(isGiven)) {
    mistakes.push({ path, expected: `one of ${EFFECTS.join(", ")}`, found: "none of them" });
  }
  for (const [name, { notBeside }] of OVERRIDE_ENTRIES) {
    if (!isGiven(name) || !isGiven(notBeside)) continue;
    mistakes.push({ path: below(path, name), expected: `either ${notBeside} or ${name}`, found: "both" });
  }
  if (instantOf(value.until) <= endsAfterMs) mistakes.push(mistake(below(path, "until"), UNTIL_EXPECTED, value.until));
  return [...mistakes, ...OVERRIDE_ENTRIES.flatMap(([name, field]) => checkField(name, field, value, path, policy))];
}

/** @param entry the override, or what is changed about a policy. @param path of the entry. */
function checkField(name: string, field: Field, entry: Entry, path: string, policy: Policy): LiveMistake[] {
  const value = entry[name];
  const at = below(path, name);
  if (value === undefined) return [];
  const problems = wrongValuesOf(name, field, value, policy);
  if (problems.length > 0) {
    return problems.map(({ id, expected, found }) => {
      if (id === undefined) return mistake(at, expected, found);
      return mistake(below(at, id), found === 0 ? `${expected}${BLOCK_INSTEAD}` : expected, found);
    });
  }
  if (field.is === "factor") return checkFactor(value as number, at, policy, entry.plan);
  if (field.is !== "numbers") return [];
  const numbers = new Map(Object.entries(value as Record<string, number>));
  return fitMistakes(policy, (limit) => numbered(limit, numbers.get(limit.id)), at);
}

/** @param plan of the same override: the factor multiplies its numbers. */
function checkFactor(factor: number, path: string, policy: Policy, plan: unknown): LiveMistake[] {
  const planned = new Map(Object.entries((hasPlan(policy, plan) && policy.plans?.[plan]) || {}));
  const multiplied = (limit: Limit) => timesFactor(numbered(limit, planned.get(limit.id)), factor);
  if (policy.limits.some((limit) => multiplied(limit).limit > MAX_UNITS)) {
    const most = describeUnits(MAX_UNITS, policy.meter?.unit);
    return [mistake(path, `a factor that leaves every limit at most ${most}`, factor)];
  }
  return fitMistakes(policy, multiplied, path);
}

function numbered(limit: Limit, number: number | undefined): Limit {
  return number === undefined ? limit : withWritten(limit, number);
}

/** What the configuration's own validator says about a policy with other numbers. */
function fitMistakes(policy: Policy, change: (limit: Limit) => Limit, path: string): LiveMistake[] {
  // Alone: no other policy is there that could be its overflow.
  const { overflow: _, ...alone } = policy;
  const changed = { ...alone, limits: policy.limits.map(change) };
  const { mistakes = [] } = parsePolicies([writePolicy(changed)], "POLICIES");
  return mistakes.map(({ path: configured, expected, found }) => {
    const [, index] = /\.limits\[(\d)\]/.exec(configured) ?? [];
    return { path: index === undefined ? path : `${path}.${policy.limits[Number(index)]!.id}`, expected, found };
  });
}

/** @param named the fields, as a message names them: it need not name all. */
function unknownFields(
  path: string,
  entry: object,
  known: readonly string[],
  named: string = known.join(", "),
): LiveMistake[] {
  const unknown = Object.keys(entry).filter((name) => !known.includes(name));
  return unknown.map((name) => {
    return { path: below(path, name), expected: noField(name, known, named), found: "an unknown field" };
  });
}

/** The path of a field. @param path empty: the value itself. */
function below(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}

function mistake(path: string, expected: string, found: unknown): LiveMistake {
  return { path, expected, found: describeValue(found) };
}

/** For what may hold a raw key: only its kind is shown. */
function ofKind(path: string, expected: string, value: unknown): LiveMistake {
  const kind = value === null ? "null" : Array.isArray(value) ? "a list" : isTable(value) ? "a table" : undefined;
  const found = value === undefined ? "nothing" : (kind ?? `a ${typeof value}`);
  return { path, expected, found };
}
