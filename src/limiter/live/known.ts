/** What the running configuration knows of an entry of the live document. The rest of the entry does nothing. */

import { isTable } from "../../config/bindings.ts";
import type { Policy } from "../../core/policy.ts";
import { hasPlan, withFactor, withNumbers } from "../numbers.ts";
import { instantOf, isNumber, type LiveOverride, type LivePolicy } from "./document.ts";

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
  if (!isTable(entry)) {
    ignored.push({ path, reason: "not a table" });
    return {};
  }
  const { mode, limits } = entry;
  const isMode = mode === "enforce" || mode === "shadow";
  if (mode !== undefined && !isMode) ignored.push({ path: `${path}.mode`, reason: "not a mode" });
  const numbers = knownNumbers(limits, `${path}.limits`, policy, ignored);
  return { ...(isMode && { mode }), ...(numbers && { limits: numbers }) };
}

/**
 * The part of an override that this configuration knows. Undefined: nothing.
 *
 * @param policy the override's policy as it is in force: a client's numbers must fit it. Undefined: there is none.
 */
export function knownOverride(
  entry: Readonly<Record<string, unknown>>,
  path: string,
  policy: Policy | undefined,
  ignored: Ignored[],
): ClientView | undefined {
  const override = entry as unknown as LiveOverride;
  const ignore = (reason: string, field?: string) => {
    ignored.push({ path: field ? `${path}.${field}` : path, reason });
  };
  if (!policy) return void ignore("no policy has this name");
  if (typeof override.key !== "string") return void ignore("the key is not a text");
  const untilMs = override.until === undefined ? Number.POSITIVE_INFINITY : instantOf(override.until);
  if (Number.isNaN(untilMs)) return void ignore("until is not an instant");
  const { limits, factor, plan, exempt, block, ...others } = override;
  const numbers = knownNumbers(limits, `${path}.limits`, policy, ignored);
  const numbered = withNumbers(policy, numbers);
  const isFactor = typeof factor === "number" && attempt(() => withFactor(numbered, factor)) !== undefined;
  if (factor !== undefined && !isFactor) ignore("the limits multiplied by it do not fit", "factor");
  const isPlan = hasPlan(policy, plan);
  if (plan !== undefined && !isPlan) ignore("the policy has no plan of this name", "plan");
  if (exempt !== undefined && exempt !== true) ignore("not true", "exempt");
  if (block !== undefined && block !== true) ignore("not true", "block");
  const known: LiveOverride = {
    ...others,
    ...(numbers && { limits: numbers }),
    ...(isFactor && { factor }),
    ...(isPlan && { plan }),
    ...(exempt === true && { exempt }),
    ...(block === true && { block }),
  };
  return { override: known, untilMs, policy: remembered(known) };
}

/** Undefined: none. */
function knownNumbers(
  limits: unknown,
  path: string,
  policy: Policy,
  ignored: Ignored[],
): Record<string, number> | undefined {
  if (limits === undefined) return undefined;
  if (!isTable(limits)) {
    ignored.push({ path, reason: "not a table" });
    return undefined;
  }
  const entries = Object.entries(limits).filter((entry): entry is [string, number] => {
    const [id, number] = entry;
    const reason = whyIgnored(id, number, policy);
    if (reason !== undefined) ignored.push({ path: `${path}.${id}`, reason });
    return reason === undefined;
  });
  return entries.length > 0 ? Object.fromEntries(entries) : undefined;
}

function whyIgnored(id: string, number: unknown, policy: Policy): string | undefined {
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
