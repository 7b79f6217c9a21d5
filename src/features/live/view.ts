/**
 * A live document over the running configuration: what holds for a policy, and for a client of it. What the
 * configuration does not know of an entry does nothing.
 */

import { isTable } from "../../kernel/config/bindings.ts";
import type { Numbers, Policy } from "../../kernel/core/policy.ts";
import { hasPlan, withFactor, withNumbers } from "../../kernel/limiter/numbers.ts";
import type { LiveDocument, LiveOverride } from "./document.ts";
import { type Entry, type Field, instantOf, type LivePolicy, OVERRIDE_ENTRIES, POLICY_ENTRIES } from "./fields.ts";
import { NO_FACTOR, type WrongValue, wrongValuesOf } from "./wrong-values.ts";

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

/** Entries that are named one by one when a document is read: one line of the log holds them. */
const MAX_NAMED = 20;

export interface LiveView {
  readonly version: number;
  readonly document: LiveDocument;
  /** Every entry, or part of one, that does nothing. Asking checks the whole document. */
  readonly ignored: readonly Ignored[];
  /** What is ignored because the configuration has no such name: found when the document is read. */
  readonly unknown: { readonly first: readonly Ignored[]; readonly more: number };
  /** Whether overrides' keys were hashed under another key secret: the clients of these overrides cannot be found. */
  readonly hasOtherSecret: boolean;
  /** The policy as the document changes it for all clients. The same object if it does not. */
  policy(policy: Policy): Policy;
  /** What also holds for this client. @param nowMs the local clock, in ms since the epoch. */
  client(policy: string, partition: string, nowMs: number): ClientView | undefined;
}

interface InForce {
  readonly policy: Policy;
  readonly ids: ReadonlySet<string>;
  /** Its overrides' indices by partition. */
  readonly clients: Map<string, number>;
}

/**
 * One request pays for this, and a runtime may give a request 10 ms. Therefore an override is only indexed here. It is
 * checked and computed at the first request of its client.
 *
 * @param secret the fingerprint of the running key secret.
 */
export function viewOf(version: number, document: LiveDocument, policies: readonly Policy[], secret: string): LiveView {
  const ofPolicies: Ignored[] = [];
  const inForce = new Map<string, InForce>();
  for (const policy of policies) {
    inForce.set(policy.name, { policy, ids: new Set(policy.limits.map(({ id }) => id)), clients: new Map() });
  }
  for (const [name, entry] of Object.entries(document.policies)) {
    const path = `policies.${name}`;
    const found = inForce.get(name);
    if (found) {
      const changed = changePolicy(found.policy, knownPolicy(entry, path, found.policy, ofPolicies));
      inForce.set(name, { ...found, policy: changed });
    } else ofPolicies.push({ path, reason: "no policy has this name" });
  }

  const { overrides } = document;
  /** An entry that is not a table counts as an empty one. */
  const overrideOf = (i: number): Entry => {
    const one: unknown = overrides[i];
    return isTable(one) ? one : {};
  };
  const find = ({ policy }: Entry) => inForce.get(policy as string);
  const known = (i: number, ignored: Ignored[]) => {
    const override = overrideOf(i);
    return knownOverride(override, `overrides[${i}]`, find(override)?.policy, ignored);
  };
  const isOther = (one: Entry) => (one.secret ?? document.secret ?? secret) !== secret;

  const named = [...ofPolicies];
  let [unnamed, hasOtherSecret] = [0, false];
  for (let i = 0; i < overrides.length; i++) {
    const override = overrideOf(i);
    if (isOther(override)) {
      hasOtherSecret = true;
      continue;
    }
    const found = find(override);
    if (found && typeof override.key === "string") found.clients.set(override.key, i);
    if (found && hasNames(override, found)) continue;
    if (named.length < MAX_NAMED) known(i, named);
    else unnamed++;
  }

  /** Links of chains with changed limits. */
  const links = new Map<Policy, Policy>();
  /** By index. Bounded by the document. */
  const computed = new Map<number, ClientView | undefined>();
  return {
    version,
    document,
    unknown: { first: named.slice(0, MAX_NAMED), more: Math.max(0, named.length - MAX_NAMED) + unnamed },
    hasOtherSecret,
    get ignored() {
      const all = [...ofPolicies];
      for (let i = 0; i < overrides.length; i++) if (!isOther(overrideOf(i))) known(i, all);
      return all;
    },
    policy(policy) {
      const changed = inForce.get(policy.name)?.policy ?? policy;
      if (!policy.isOverflow) return changed;
      if (changed.limits === policy.limits) return policy;
      // As a link of a chain it has what it takes over from the policy before it: only its numbers change.
      const link = links.get(policy) ?? { ...policy, limits: changed.limits };
      links.set(policy, link);
      return link;
    },
    client(policy, partition, nowMs) {
      const i = inForce.get(policy)?.clients.get(partition);
      if (i === undefined) return undefined;
      if (!computed.has(i)) computed.set(i, known(i, []));
      const found = computed.get(i);
      return found && nowMs < found.untilMs ? found : undefined;
    },
  };
}

/** The fields that name something of the configuration. */
const NAMING = OVERRIDE_ENTRIES.filter(([, { is }]) => is === "numbers" || is === "plan").map(([name, { is }]) => {
  return { name, is };
});

/** Whether the configuration has all names of an override. Numbers and instants take too long to check for all. */
function hasNames(override: Entry, { policy, ids }: InForce): boolean {
  if (typeof override.key !== "string") return false;
  for (const { name, is } of NAMING) {
    const value = override[name];
    if (value === undefined) continue;
    if (is === "plan" ? !hasPlan(policy, value) : !isTable(value)) return false;
    if (is === "numbers") for (const id in value as object) if (!ids.has(id)) return false;
  }
  return true;
}

/** The part of an entry that this configuration knows: a limit that was renamed leaves the others in force. */
function knownPolicy(entry: unknown, path: string, policy: Policy, ignored: Ignored[]): LivePolicy {
  if (isTable(entry)) return knownFields(POLICY_ENTRIES, entry, path, policy, ignored);
  ignored.push({ path, reason: "not a table" });
  return {};
}

/**
 * The part of an override that this configuration knows. Undefined: nothing.
 *
 * @param policy the override's policy as it is in force: a client's numbers must fit it. Undefined: there is none.
 */
function knownOverride(
  entry: Entry,
  path: string,
  policy: Policy | undefined,
  ignored: Ignored[],
): ClientView | undefined {
  const ignore = (reason: string) => void ignored.push({ path, reason });
  if (!policy) return ignore("no policy has this name");
  if (typeof entry.key !== "string") return ignore("the key is not a string");
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
    const problems: ReasonOfLimit[] = wrongValuesOf(name, field, value, policy);
    const numbers = field.is === "numbers" && isTable(value) ? fittingNumbers(value, policy, problems) : [];
    // A factor multiplies the client's own numbers, which stand before it in the table.
    const multiply = () => withFactor(withNumbers(policy, known.limits as Numbers | undefined), value as number);
    if (field.is === "factor" && problems.length === 0 && !attempt(multiply)) problems.push({ reason: NO_FACTOR });
    for (const { id, reason } of problems) {
      ignored.push({ path: id === undefined ? `${path}.${name}` : `${path}.${name}.${id}`, reason });
    }
    if (numbers.length > 0) known[name] = Object.fromEntries(numbers);
    else if (problems.length > 0) delete known[name];
  }
  return known;
}

type ReasonOfLimit = Pick<WrongValue, "id" | "reason">;

/** The numbers that hold. @param problems those of the numbers; gets one more for each number that does not fit. */
function fittingNumbers(numbers: Entry, policy: Policy, problems: ReasonOfLimit[]): [id: string, number: unknown][] {
  return Object.entries(numbers).filter(([id, number]) => {
    if (problems.some((problem) => problem.id === id)) return false;
    if (attempt(() => withNumbers(policy, { [id]: number as number }))) return true;
    problems.push({ id, reason: "the number does not fit the limit" });
    return false;
  });
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
