/** One JSON line for each decision that an operator wants to see. */

import type { LimitDecision } from "../core/decision.ts";
import { toWritten } from "../core/units.ts";
import { ANONYMOUS } from "../keys/sources.ts";
import type { OnDecision } from "../limiter.ts";
import { createLines } from "../lines.ts";

/**
 * Logs refusals, blocked clients, shadow refusals (of a policy in shadow, or of a `shadowLimit`), decisions without the
 * store, and requests without a key and an address. At most 10 lines a second and isolate; the next line says how many
 * were left out. Keys appear as the hash that Redis sees.
 *
 * @param write where lines go. Default: the console, which `wrangler tail` and Workers Logs show.
 */
export function logDecisions(write: (line: string) => void = console.log): OnDecision {
  const writeLine = createLines(write);

  return (decision, context) => {
    const { takes, failure } = context;
    const isRefusedInShadow =
      decision.limits.some(isShadowLimitReached) ||
      decision.shadow.some((one) => !one.admitted || isShadowLimitReached(one));
    const anonymous = takes.some(({ kind }) => kind === ANONYMOUS.kind);
    if (decision.allowed && !isRefusedInShadow && failure === undefined && !anonymous) return;

    writeLine(() => {
      const shadowLimits = [...decision.limits, ...decision.shadow].flatMap(describeShadowLimit);
      return {
        event: decision.blocked ? "blocked" : eventOf(decision.allowed, isRefusedInShadow, failure !== undefined),
        at: new Date().toISOString(),
        region: context.region,
        source: decision.source,
        policies: takes.map(({ policy, kind, partition, cost }) => ({
          policy: policy.name,
          kind,
          key: partition,
          cost,
        })),
        violated: idsOf(decision.limits),
        shadow: idsOf(decision.shadow),
        ...(shadowLimits.length > 0 && { shadowLimits }),
        ...(decision.retryAfterMs && { retryAfterMs: decision.retryAfterMs }),
        ...(failure !== undefined && { failure }),
      };
    });
  };
}

/** The most important event; the line's other members tell about the others. */
function eventOf(allowed: boolean, shadowRefused: boolean, failed: boolean): string {
  if (!allowed) return "refused";
  if (shadowRefused) return "shadow-refused";
  return failed ? "store-failure" : "anonymous";
}

function isShadowLimitReached({ shadowLimit }: LimitDecision): boolean {
  return shadowLimit?.admitted === false;
}

function describeShadowLimit({ limit, shadowLimit }: LimitDecision) {
  return shadowLimit ? [{ id: limit.id, ...shadowLimit, limit: toWritten(shadowLimit.limit, limit.unit) }] : [];
}

function idsOf(limits: readonly LimitDecision[]): string[] {
  return limits.filter(({ admitted }) => !admitted).map(({ limit }) => limit.id);
}
