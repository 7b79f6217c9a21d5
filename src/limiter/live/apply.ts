/** What the live document makes of a request: other numbers and modes, exempt clients, blocked clients. */

import type { Decision } from "../../core/decision.ts";
import type { AppliedPolicy } from "../decide.ts";
import type { LiveView } from "./view.ts";

export interface AppliedLive {
  /** What applies to the client, with the numbers and modes that hold. */
  readonly applied: readonly AppliedPolicy[];
  /** The refusal of a blocked client, which needs no call to the store. Absent: it is not blocked. */
  readonly blocked?: Decision;
}

export interface ApplyOptions {
  /** As if the client were neither blocked nor exempt. */
  readonly asCounted?: boolean;
}

/** @param nowMs the local clock, in ms since the epoch. */
export function applyLive(
  view: LiveView,
  applied: readonly AppliedPolicy[],
  nowMs: number,
  { asCounted = false }: ApplyOptions = {},
): AppliedLive {
  const changed: AppliedPolicy[] = [];
  /** The longest block. */
  let untilMs: number | undefined;
  for (const one of applied) {
    const client = view.client(one.policy.name, one.partition, nowMs);
    if (client?.override.block) untilMs = Math.max(untilMs ?? 0, client.untilMs);
    if (client?.override.exempt && !client.override.block && !asCounted) continue;
    const forAll = view.policy(one.policy);
    const policy = client?.policy(forAll) ?? forAll;
    changed.push(policy === one.policy ? one : { ...one, policy });
  }
  if (untilMs === undefined || asCounted) return { applied: changed };
  const retry = Number.isFinite(untilMs) && { retryAfterMs: Math.max(1, untilMs - nowMs) };
  return { applied, blocked: { allowed: false, source: "live", limits: [], shadow: [], blocked: true, ...retry } };
}
