/** `concurrency`: an admitted request holds slots, which somebody has to release. */

import { isConcurrency, type Sockets } from "../../kernel/core/concurrency.ts";
import type { Hold } from "../../kernel/core/decision.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import { ENFORCED, Flag } from "../../kernel/core/take.ts";
import { groupBy } from "../../kernel/group-by.ts";
import type { DecideTakes, PartOf } from "../../kernel/limiter/part.ts";
import { type Background, type Charge, chargesOf, type Taken } from "../../kernel/place/taker.ts";
import type { Held } from "./keep-slots.ts";

const hasSlots = ({ limits }: Pick<Policy, "limits">) => limits.some(isConcurrency);

export const slots: PartOf = {
  name: "slots",
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
    const hold = decision.outcome === "admitted" ? holdOf(taken, question.background) : undefined;
    return hold && decision.outcome === "admitted" ? { ...answered, decision: { ...decision, hold } } : answered;
  };
}

/** 53 random bits, so that no two requests in flight share it. */
function randomSlot(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}

/** The slots of an admitted request, wherever they are held. Undefined: it holds none. */
export function holdOf(taken: readonly Taken[], background: Background | undefined): (Hold & Held) | undefined {
  const charges = taken.flatMap((one) => (one.slot ? chargesOf(one).filter(holdsSlots) : []));
  if (charges.length === 0) return undefined;
  const parts = groupBy(charges, socketsOf).map(([sockets, own]) => {
    return { ...holdWith(own, background), sockets, isShadow: own.every(isShadow) };
  });
  return parts.length === 1 ? parts[0] : { ...holdWith(charges, background), parts };
}

/** @param background keeps alive what the store is told after its replies. */
function holdWith(charges: readonly Charge[], background: Background | undefined): Hold {
  const held = groupBy(charges, ({ by }) => by);
  const limits = charges.flatMap(({ receipt }) => receipt.limits.filter(isConcurrency));
  return {
    renewEveryMs: Math.min(...limits.map(({ timeoutMs }) => timeoutMs)) / 2,
    renew: async () => (await Promise.all(held.map(([by, own]) => by.renew(own, { background })))).every(Boolean),
    async release() {
      const changes = (own: readonly Charge[]) => own.map((charge) => ({ charge, back: 0, frees: true }));
      await Promise.all(held.map(([by, own]) => by.settle(changes(own), { background })));
    },
  };
}

/** How long a WebSocket holds the slots of a charge: all limits of a policy say the same. */
function socketsOf({ receipt: { limits } }: Charge): Sockets | undefined {
  return limits.find(isConcurrency)!.sockets;
}

function isShadow({ receipt: { group } }: Charge): boolean {
  return group !== ENFORCED;
}

function holdsSlots({ receipt: { cost, limits } }: Charge): boolean {
  return cost > 0 && limits.some(isConcurrency);
}
