/** `concurrency`: an admitted request holds slots, which somebody has to release. */

import { isConcurrency } from "../../kernel/core/concurrency.ts";
import type { Hold } from "../../kernel/core/decision.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { Flag } from "../../kernel/core/take.ts";
import type { DecideTakes, PartOf } from "../../kernel/limiter/part.ts";
import { type Charge, chargesOf, type Taken } from "../../kernel/place/taker.ts";

const hasSlots = ({ limits }: Pick<Policy, "limits">) => limits.some(isConcurrency);

export const slots: PartOf = {
  isUsed: hasSlots,
  make: () => ({ around: withSlots }),
};

function withSlots(decide: DecideTakes): DecideTakes {
  return async (takes, question) => {
    if (question.flag !== Flag.take || !takes.some(({ policy }) => hasSlots(policy)))
      return await decide(takes, question);
    // Each question has a slot of its own: what another place has charged for the first may still be on its way back.
    const answered = await decide(takes, { ...question, slot: randomSlot() });
    const { decision, taken = [] } = answered;
    const hold = decision.outcome === "admitted" ? holdOf(taken) : undefined;
    return hold && decision.outcome === "admitted" ? { ...answered, decision: { ...decision, hold } } : answered;
  };
}

/** 53 random bits, so that no two requests in flight share it. */
function randomSlot(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}

/** The slots of an admitted request, wherever they are held. Undefined: it holds none. */
export function holdOf(taken: readonly Taken[]): Hold | undefined {
  const held = taken.flatMap((one) => {
    const charges = one.slot ? chargesOf(one).filter(holdsSlots) : [];
    return charges.length > 0 ? [{ by: one.by, charges }] : [];
  });
  if (held.length === 0) return undefined;
  const limits = held.flatMap(({ charges }) => charges.flatMap(({ receipt }) => receipt.limits.filter(isConcurrency)));
  return {
    renewEveryMs: Math.min(...limits.map(({ timeoutMs }) => timeoutMs)) / 2,
    renew: async () => (await Promise.all(held.map(({ by, charges }) => by.renew(charges)))).every(Boolean),
    async release() {
      const changes = (charges: readonly Charge[]) => charges.map((charge) => ({ charge, back: 0, frees: true }));
      await Promise.all(held.map(({ by, charges }) => by.settle(changes(charges), {})));
    },
  };
}

function holdsSlots({ receipt: { cost, limits } }: Charge): boolean {
  return cost > 0 && limits.some(isConcurrency);
}
