/** What the running configuration knows of an entry of the live document. The rest of the entry does nothing. */

import { isTable } from "../../config/bindings.ts";
import type { Numbers, Policy } from "../../core/policy.ts";
import { hasPlan, withFactor, withNumbers } from "../numbers.ts";
import { isNumber, type LiveOverride } from "./document.ts";
import { type Field, instantOf, isOfKind, type LivePolicy, OVERRIDE_ENTRIES, POLICY_ENTRIES } from "./fields.ts";

/** An entry as it was read, unchecked. */
export type Entry = Readonly<Record<string, unknown>>;

/** An entry that does nothing under the running configuration. It is kept in the document. */
export interface Ignored {
  readonly path: string;
  readonly reason: string;
}

/** What holds for one client of a policy. */
export interface ClientView {
  readonly override: LiveOverride;
  /** When it ends, in ms since the epoch; infinite: never. */
  readonly untilMs: number;
  /** The policy with the client's numbers. */
  policy(policy: Policy): Policy;
}

/** The part of an entry that this configuration knows: a limit that was renamed leaves the others in force. */
export function knownPolicy(entry: unknown, path: string, policy: Policy, ignored: Ignored[]): LivePolicy {
  if (isTable(entry)) return knownFields(POLICY_ENTRIES, entry, path, policy, ignored);
  ignored.push({ path, reason: "not a table" });
  return {};
}

/**
 * The part of an override that this configuration knows. Undefined: nothing.
 *
 * @param policy the override's policy as it is in force: a client's numbers must fit it. Undefined: there is none.
 */
export function knownOverride(
  entry: Entry,
  path: string,
  policy: Policy | undefined,
  ignored: Ignored[],
): ClientView | undefined {
  const ignore = (reason: string) => void ignored.push({ path, reason });
  if (!policy) return ignore("no policy has this name");
  if (typeof entry.key !== "string") return ignore("the key is not a text");
  const untilMs = entry.until === undefined ? Number.POSITIVE_INFINITY : instantOf(entry.until);
  // Without its end, the override would hold for good.
  if (Number.isNaN(untilMs)) return ignore("until is not an instant");
  const override = knownFields(OVERRIDE_ENTRIES, entry, path, policy, ignored) as unknown as LiveOverride;
  return { override, untilMs, policy: remembered(override) };
}

/** The entry without the fields, or parts of them, that this configuration does not know. */
function knownFields(
  fields: readonly (readonly [name: string, field: Field])[],
  entry: Entry,
  path: string,
  policy: Policy,
  ignored: Ignored[],
): Record<string, unknown> {
  const known = { ...entry };
  for (const [name, field] of fields) {
    const value = entry[name];
    if (value === undefined) continue;
    const at = `${path}.${name}`;
    const reason = whyIgnored(name, field, value, policy, known);
    if (reason !== undefined) {
      ignored.push({ path: at, reason });
      delete known[name];
    } else if (field.is === "numbers") {
      known[name] = knownNumbers(value as Entry, at, policy, ignored);
    }
  }
  return known;
}

/** Undefined: the value holds. @param known of the same entry, as far as it was looked at. */
function whyIgnored(name: string, field: Field, value: unknown, policy: Policy, known: Entry): string | undefined {
  switch (field.is) {
    case "numbers":
      return isTable(value) ? undefined : "not a table";
    case "factor": {
      // It multiplies the client's own numbers, which stand before it in the table.
      const change = () => withFactor(withNumbers(policy, known.limits as Numbers | undefined), value as number);
      return isOfKind(field, value) && attempt(change) ? undefined : "the limits multiplied by it do not fit";
    }
    case "plan":
      return hasPlan(policy, value) ? undefined : "the policy has no plan of this name";
    case "choice":
      return isOfKind(field, value) ? undefined : `not a ${name}`;
    case "flag":
      return isOfKind(field, value) ? undefined : "not true";
    default:
      return undefined;
  }
}

/** Undefined: none. */
function knownNumbers(
  limits: Entry,
  path: string,
  policy: Policy,
  ignored: Ignored[],
): Record<string, number> | undefined {
  const known: Record<string, number> = {};
  for (const [id, number] of Object.entries(limits)) {
    const reason = whyNumberIgnored(id, number, policy);
    if (reason === undefined) known[id] = number as number;
    else ignored.push({ path: `${path}.${id}`, reason });
  }
  return Object.keys(known).length > 0 ? known : undefined;
}

function whyNumberIgnored(id: string, number: unknown, policy: Policy): string | undefined {
  const limit = policy.limits.find((one) => one.id === id);
  if (!limit) return "no limit has this id";
  if (!isNumber(number, limit.unit)) return "not the number of a limit";
  return attempt(() => withNumbers(policy, { [id]: number })) ? undefined : "the number does not fit the limit";
}

/**
 * The document was checked when it was written, but the configuration may have changed since. Undefined: the numbers do
 * not fit.
 */
function attempt(change: () => Policy): Policy | undefined {
  try {
    return change();
  } catch {
    return undefined;
  }
}

export function changePolicy(policy: Policy, { mode, limits }: LivePolicy): Policy {
  const numbered = withNumbers(policy, limits);
  return mode ? { ...numbered, mode } : numbered;
}

/** A client's numbers are computed once for each policy that they change. */
function remembered(override: LiveOverride): (policy: Policy) => Policy {
  const changed = new WeakMap<Policy, Policy>();
  return (policy) => {
    // A factor that fits the policy may not fit the numbers of a plan.
    const known = changed.get(policy) ?? attempt(() => overridePolicy(policy, override)) ?? policy;
    changed.set(policy, known);
    return known;
  };
}

function overridePolicy(policy: Policy, { limits, factor }: LiveOverride): Policy {
  const numbered = withNumbers(policy, limits);
  return factor === undefined ? numbered : withFactor(numbered, factor);
}
