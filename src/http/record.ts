/**
 * With `RECORD = "on"` the gateway writes one JSON line for each decision, for `headgate replay` (docs/recording.md).
 * The line holds the hash of a client's key, as Redis sees it, and neither the key nor the path of the request.
 */

import type { Decision } from "../core/decision.ts";
import type { NamedPolicy } from "../limiter/live/apply.ts";
import type { AppliedPolicy, OnDecision } from "../limiter.ts";

/** A new version says that a member has another meaning. */
const VERSION = 1;

/**
 * Every decision is written: a replay needs all of them.
 *
 * @param share of the clients, above 0 and at most 1. Every isolate takes the same clients.
 * @param write where lines go. Default: the console, which `wrangler tail`, Workers Logs and Logpush show.
 */
export function recordDecisions(share: number, write: (line: string) => void = console.log): OnDecision {
  return (decision, { takes, region, atMs = Date.now(), peek }) => {
    // A look changes no count.
    if (peek || !isInSample(takes, share)) return;
    const { allowed, source } = decision;
    write(
      JSON.stringify({
        event: "decision",
        v: VERSION,
        at: atMs,
        region,
        source,
        allowed,
        ...(share < 1 && { share }),
        takes: takes.map((one) => describe(one, decision)),
      }),
    );
  };
}

/** The plan is the client's own: a replay applies the overrides of the live document that it is given. */
function describe({ policy, kind, partition, cost, plan, once, own = { plan } }: NamedPolicy, decision: Decision) {
  const { name, mode, match } = policy;
  const decided = mode === "shadow" ? decision.shadow : decision.limits;
  const isRefused = decided.some((one) => !one.admitted && one.policy.name === name);
  const [path, ...others] = match.path ?? [];
  return {
    policy: name,
    kind,
    key: partition,
    cost,
    ...(own.plan !== undefined && { plan: own.plan }),
    ...(once !== undefined && { once }),
    ...(path !== undefined && others.length === 0 && { path }),
    ...(isRefused && { refused: true }),
  };
}

/** The kinds under which one key stands for many clients. */
const SHARED = /^((global|host|region|country|asn|anonymous)(\+|$))+$/;

/**
 * The client of the first policy that counts clients one by one decides. Requests that are only counted under shared
 * keys are always in the sample: of such a key, all requests or none would be recorded.
 */
function isInSample(takes: readonly AppliedPolicy[], share: number): boolean {
  const client = takes.find(({ kind }) => !SHARED.test(kind));
  return share === 1 || !client || shareOf(client.partition) < share;
}

/** The first 24 bits of the hash, 0 … 1. */
function shareOf(partition: string): number {
  const bytes = atob(partition.slice(0, 4).replaceAll("-", "+").replaceAll("_", "/"));
  return [...bytes].reduce((sum, byte) => sum * 256 + byte.charCodeAt(0), 0) / 2 ** 24;
}
