/** A live document over the running configuration: what holds for a policy, and for a client of it. */

import { algorithmOf } from "../../core/algorithms.ts";
import type { Policy } from "../../core/policy.ts";
import { withFactor, withNumbers } from "../numbers.ts";
import {
  hasPlan,
  instantOf,
  isNumber,
  isTable,
  type LiveDocument,
  type LiveOverride,
  type LivePolicy,
} from "./document.ts";

/** An entry that the running configuration does not know. It is kept in the document, and does nothing. */
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

export interface LiveView {
  readonly version: number;
  readonly document: LiveDocument;
  readonly ignored: readonly Ignored[];
  /** Whether overrides' keys were hashed under another key secret: the clients of these overrides cannot be found. */
  readonly hasOtherSecret: boolean;
  /** The policy as the document changes it for all clients. The very policy if it does not. */
  policy(policy: Policy): Policy;
  /** What holds for this client besides. @param nowMs the local clock, in ms since the epoch. */
  client(policy: string, partition: string, nowMs: number): ClientView | undefined;
}

/** @param secret the fingerprint of the running key secret. */
export function viewOf(version: number, document: LiveDocument, policies: readonly Policy[], secret: string): LiveView {
  const ignored: Ignored[] = [];
  const changed = new Map<string, Policy>();
  for (const [name, entry] of Object.entries(document.policies)) {
    const path = `policies.${name}`;
    const policy = policies.find((one) => one.name === name);
    if (policy) changed.set(name, changePolicy(policy, knownPolicy(entry, path, policy, ignored)));
    else ignored.push({ path, reason: "no policy has this name" });
  }

  const clients = new Map<string, ClientView>();
  const isOther = (one: string | undefined) => one !== undefined && one !== secret;
  let hasOtherSecret = false;
  for (const [i, override] of document.overrides.entries()) {
    const path = `overrides[${i}]`;
    if (isOther((isTable(override) ? override.secret : undefined) ?? document.secret)) {
      hasOtherSecret = true;
      continue;
    }
    const known = knownOverride(override, path, policies, ignored);
    if (!known) continue;
    const untilMs = known.until === undefined ? Number.POSITIVE_INFINITY : instantOf(known.until);
    clients.set(`${known.policy}:${known.key}`, { override: known, untilMs, policy: remembered(known) });
  }

  return {
    version,
    document,
    ignored,
    hasOtherSecret,
    policy: (policy) => changed.get(policy.name) ?? policy,
    client(policy, partition, nowMs) {
      if (clients.size === 0) return undefined;
      const found = clients.get(`${policy}:${partition}`);
      return found && nowMs < found.untilMs ? found : undefined;
    },
  };
}

/** The part of an entry that this configuration knows: a limit that was renamed leaves the others in force. */
function knownPolicy(entry: unknown, path: string, policy: Policy, ignored: Ignored[]): LivePolicy {
  const { mode, limits } = isTable(entry) ? entry : {};
  const isMode = mode === "enforce" || mode === "shadow";
  if (!isTable(entry) || (mode !== undefined && !isMode)) ignored.push({ path, reason: "not a mode or numbers" });
  const numbers = knownNumbers(limits, `${path}.limits`, policy, ignored);
  return { ...(isMode && { mode }), ...(numbers && { limits: numbers }) };
}

/** The part of an override that this configuration knows. Undefined: nothing of it. */
function knownOverride(
  entry: unknown,
  path: string,
  policies: readonly Policy[],
  ignored: Ignored[],
): LiveOverride | undefined {
  const override = (isTable(entry) ? entry : {}) as unknown as LiveOverride;
  const policy = policies.find(({ name }) => name === override.policy);
  const isAddressed = policy !== undefined && typeof override.key === "string";
  const untilMs = override.until === undefined ? Number.POSITIVE_INFINITY : instantOf(String(override.until));
  if (!isAddressed || Number.isNaN(untilMs)) {
    ignored.push({ path, reason: isAddressed ? "until is no instant" : "no policy has this name" });
    return undefined;
  }
  const { limits, factor, plan, ...others } = override;
  const numbers = knownNumbers(limits, `${path}.limits`, policy, ignored);
  const isFactor = factor === undefined || (factor > 0 && fits(withFactor(policy, factor)));
  if (!isFactor) ignored.push({ path: `${path}.factor`, reason: "the limits multiplied by it do not fit" });
  const isPlan = plan === undefined || hasPlan(policy, plan);
  if (!isPlan) ignored.push({ path: `${path}.plan`, reason: "the policy has no plan of this name" });
  return {
    ...others,
    ...(numbers && { limits: numbers }),
    ...(factor !== undefined && isFactor && { factor }),
    ...(plan !== undefined && isPlan && { plan }),
  };
}

/** Undefined: none. */
function knownNumbers(
  limits: unknown,
  path: string,
  policy: Policy,
  ignored: Ignored[],
): Record<string, number> | undefined {
  if (limits === undefined) return undefined;
  const entries = Object.entries(isTable(limits) ? limits : {}).filter(([id, number]) => {
    const isKnown = policy.limits.some((limit) => limit.id === id) && isNumber(number);
    if (!isKnown) ignored.push({ path: `${path}.${id}`, reason: "no limit has this id, or its number is none" });
    return isKnown;
  });
  const numbers = Object.fromEntries(entries) as Record<string, number>;
  if (entries.length > 0 && fits(withNumbers(policy, numbers))) return numbers;
  if (entries.length > 0) ignored.push({ path, reason: "the numbers do not fit the windows" });
  return undefined;
}

/** Whether the numbers can be computed with: what is written was checked, but the configuration may have changed. */
function fits({ limits }: Policy): boolean {
  return limits.every((limit) => isNumber(limit.limit) && algorithmOf(limit).tooLarge?.(limit) === undefined);
}

export function changePolicy(policy: Policy, { mode, limits }: LivePolicy): Policy {
  const numbered = limits ? withNumbers(policy, limits) : policy;
  return mode ? { ...numbered, mode } : numbered;
}

/** A client's numbers are computed once for each policy that they change. */
function remembered(override: LiveOverride): (policy: Policy) => Policy {
  const changed = new WeakMap<Policy, Policy>();
  return (policy) => {
    const known = changed.get(policy) ?? overridePolicy(policy, override);
    changed.set(policy, known);
    return known;
  };
}

function overridePolicy(policy: Policy, { limits, factor }: LiveOverride): Policy {
  const numbered = limits ? withNumbers(policy, limits) : policy;
  return factor === undefined ? numbered : withFactor(numbered, factor);
}
