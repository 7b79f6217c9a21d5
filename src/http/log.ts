/** One JSON line for each decision that an operator wants to see. */

import { type ByOutcome, byOutcome, type LimitDecision } from "../core/decision.ts";
import { ANONYMOUS } from "../keys/sources.ts";
import type { DecisionContext, OnDecision } from "../limiter.ts";
import { createLines } from "../lines.ts";

/**
 * Logs refusals, blocked clients, shadow refusals, decisions without the store, and requests without a key and an address. At most 10 lines a second and isolate; the next line says how many
 * were left out. Keys appear as the hash that Redis sees.
 *
 * @param write where lines go. Default: the console, which `wrangler tail` and Workers Logs show.
 */
export function logDecisions(write: (line: string) => void = console.log): OnDecision {
  const writeLine = createLines(write);

  return (decision, context) => {
    const event = byOutcome(decision, EVENT, context);
    if (event === undefined) return;
    const { takes, failure } = context;

    writeLine(() => {
      return {
        event,
        at: new Date().toISOString(),
        region: context.region,
        source: decision.source,
        policies: takes.map(({ policy, kind, partition, cost }) => ({
          policy: policy.name,
          kind,
          key: partition,
          cost,
        })),
        ...(decision.paidBy !== undefined && { paidBy: decision.paidBy }),
        violated: idsOf(decision.limits),
        shadow: idsOf(decision.shadow),
        ...(decision.retryAfterMs && { retryAfterMs: decision.retryAfterMs }),
        ...(failure !== undefined && { failure }),
      };
    });
  };
}

/** The event of the line: the most important one, and its other members tell about the others. Undefined: no line. */
const EVENT: ByOutcome<string | undefined, [DecisionContext]> = {
  admitted({ shadow }, { takes, failure }) {
    if (shadow.some(({ admitted }) => !admitted)) return "shadow-refused";
    if (failure !== undefined) return "store-failure";
    return takes.some(({ kind }) => kind === ANONYMOUS.kind) ? "anonymous" : undefined;
  },
  refused: () => "refused",
  blocked: () => "blocked",
  // The line's `failure` says why.
  unavailable: () => "refused",
};

function idsOf(limits: readonly LimitDecision[]): string[] {
  return limits.filter(({ admitted }) => !admitted).map(({ limit }) => limit.id);
}
