/**
 * The entries of a live document that can be shown. Somebody may have written others into the store by hand: they do
 * nothing, the gateway lists them under `ignored`, and an edited document keeps them.
 */

import type { Effect, LiveDocument, LivePolicy, Override } from "../api.ts";

/** The overrides that name a client. Fields of a wrong kind are left out, as the gateway leaves them out. */
export function overridesOf({ overrides }: LiveDocument): readonly Override[] {
  return overrides.filter(isTable).flatMap((entry) => {
    const { policy, kind, key, until } = entry;
    if (typeof policy !== "string" || typeof key !== "string") return [];
    if (until !== undefined && !(typeof until === "string" && Date.parse(until) > 0)) return [];
    return [{ policy, kind: typeof kind === "string" ? kind : "", key, ...effectIn(entry) }];
  });
}

/** What the document changes for all clients, by the names of policies. */
export function policyChangesOf({ policies }: LiveDocument): readonly (readonly [name: string, LivePolicy])[] {
  return Object.entries(policies).map(([name, entry]) => [name, policyIn(entry)]);
}

export function policyIn(entry: unknown): LivePolicy {
  const { mode, limits } = isTable(entry) ? entry : {};
  return { ...((mode === "enforce" || mode === "shadow") && { mode }), ...numbersIn(limits) };
}

function effectIn({ factor, plan, exempt, block, until, note, limits }: Readonly<Record<string, unknown>>): Effect {
  return {
    ...numbersIn(limits),
    ...(typeof factor === "number" && { factor }),
    ...(typeof plan === "string" && { plan }),
    ...(exempt === true && { exempt }),
    ...(block === true && { block }),
    ...(typeof until === "string" && { until }),
    ...(typeof note === "string" && { note }),
  };
}

function numbersIn(limits: unknown): { readonly limits?: Readonly<Record<string, number>> } {
  if (!isTable(limits)) return {};
  const numbers = Object.entries(limits).filter((one): one is [string, number] => typeof one[1] === "number");
  return numbers.length > 0 ? { limits: Object.fromEntries(numbers) } : {};
}

export function isTable(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
