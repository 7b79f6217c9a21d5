/** Applies the live document to a request: other numbers and modes, exempt clients, blocked clients. */

import type { PolicyDecision } from "../../kernel/core/decision.ts";
import type { AppliedPolicy } from "../../kernel/limiter/decide.ts";
import type { AppliedLive, ApplyOptions, NamedPolicy, WithNumbers } from "../../kernel/limiter/live.ts";
import { hasPlan } from "../../kernel/limiter/numbers.ts";
import type { LiveView } from "./view.ts";

/** @param nowMs the local clock, in ms since the epoch. */
export function applyLive(
  view: LiveView | undefined,
  applied: readonly NamedPolicy[],
  nowMs: number,
  numbers: WithNumbers,
  { asCounted = false }: ApplyOptions = {},
): AppliedLive {
  const changed: AppliedPolicy[] = [];
  /** The longest block. */
  let untilMs: number | undefined;
  const blocking = new Set<AppliedPolicy>();
  /** The client is exempt from the policy whose links follow. */
  let isExempt = false;
  /** The last link that applies: a link that does not leaves no gap. */
  let link = 0;
  for (const one of applied) {
    const client = view?.client(one.policy.name, one.partition, nowMs);
    const isBlocked = client?.override.block && !asCounted;
    // A blocked overflow pays for nobody. What the policies before it admit is admitted.
    if (one.link && (isExempt || isBlocked)) continue;
    isExempt = Boolean(client?.override.exempt && !client.override.block && !asCounted);
    if (isExempt) continue;
    if (isBlocked) {
      untilMs = Math.max(untilMs ?? 0, client.untilMs);
      blocking.add(one);
    }
    const { own = {} } = one;
    const plan = client?.override.plan ?? own.plan;
    const numbered = numbers(view?.policy(one.policy) ?? one.policy, plan === own.plan ? own : { ...own, plan });
    link = one.link ? link + 1 : 0;
    changed.push({
      ...one,
      policy: client?.policy(numbered) ?? numbered,
      ...(one.link !== undefined && { link }),
      ...(hasPlan(numbered, plan) && { plan }),
    });
  }
  if (untilMs === undefined) return { applied: changed };
  const retry = Number.isFinite(untilMs) && { retryAfterMs: Math.max(1, untilMs - nowMs) };
  const policies = applied.map((one): PolicyDecision => {
    const became = blocking.has(one) ? "blocked" : one.link ? "unneeded" : "spared";
    return { policy: one.policy, became, limits: [] };
  });
  const decided = { outcome: "blocked", allowed: false, source: "live", policies, limits: [], shadow: [] } as const;
  return { applied, blocked: { ...decided, blocked: true, ...retry } };
}
