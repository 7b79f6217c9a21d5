/** A live document over the running configuration: what holds for a policy, and for a client of it. */

import { isTable } from "../../config/bindings.ts";
import type { Policy } from "../../core/policy.ts";
import { hasPlan } from "../numbers.ts";
import type { LiveDocument } from "./document.ts";
import { OVERRIDE_ENTRIES } from "./fields.ts";
import { type ClientView, changePolicy, type Entry, type Ignored, knownOverride, knownPolicy } from "./known.ts";

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

/** A policy as it is in force. */
interface InForce {
  readonly policy: Policy;
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
  const inForce = new Map<string, InForce>(policies.map((policy) => [policy.name, { policy, clients: new Map() }]));
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
    if (found && hasNames(override, found.policy)) continue;
    if (named.length < MAX_NAMED) known(i, named);
    else unnamed++;
  }

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
    policy: (policy) => inForce.get(policy.name)?.policy ?? policy,
    client(policy, partition, nowMs) {
      const i = inForce.get(policy)?.clients.get(partition);
      if (i === undefined) return undefined;
      if (!computed.has(i)) computed.set(i, known(i, []));
      const found = computed.get(i);
      return found && nowMs < found.untilMs ? found : undefined;
    },
  };
}

/** Whether the configuration has all names of an override. Numbers and instants take too long to check for all. */
function hasNames(override: Entry, policy: Policy): boolean {
  if (typeof override.key !== "string") return false;
  for (const [name, { is }] of OVERRIDE_ENTRIES) {
    const value = override[name];
    if (value === undefined) continue;
    if (is === "plan" && !hasPlan(policy, value)) return false;
    if (is === "numbers" && !hasIds(value, policy)) return false;
  }
  return true;
}

function hasIds(numbers: unknown, { limits }: Policy): boolean {
  return isTable(numbers) && Object.keys(numbers).every((id) => limits.some((limit) => limit.id === id));
}
