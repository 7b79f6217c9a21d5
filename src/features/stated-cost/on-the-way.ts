/** `cost = { answer = "x-cost" }`: units are reserved before the answer, and what the answer states is settled. */

import type { PolicyDecision } from "../../kernel/core/decision.ts";
import type { Feature } from "../../kernel/http/feature.ts";
import type { AnswerHeaders } from "../../kernel/http/headers.ts";
import { isUnlearned, Kept, type Passage } from "../../kernel/http/passage.ts";
import type { MatchedReservation } from "../../kernel/limiter/reservation.ts";
import { createLines } from "../../kernel/lines.ts";
import { keepAlive } from "../../kernel/place/taker.ts";
import type { StatedCost } from "./fields.ts";
import { statedBy } from "./stated.ts";

/** What is known of the answer. */
interface Heard {
  /** Absent: nobody has learned it. */
  status?: number;
  /** The headers that state costs, by name. */
  readonly fields: Map<string, string | null>;
}

const heard = new Kept<Heard>();

export const statedCost: Feature = {
  name: "statedCost",
  needs: ["reserve"],
  isUsed: (policies) => policies.some((policy) => policy.statedCost),
  around(inner) {
    const write = createLines();
    return {
      take(passage, takes) {
        if (statedIn(passage).length > 0) passage.isReserving = true;
        return inner.take(passage, takes);
      },
      async answer(passage, decision) {
        const { reservation, background } = passage;
        const stated = statedIn(passage);
        if (!reservation || !decision.allowed || stated.length === 0) return await inner.answer(passage, decision);
        const answer: Heard = { fields: new Map() };
        heard.set(passage, answer);
        passage.beforeFields((headers) => takeFields(answer, headers, stated));
        const answered = passage.lingering(() => inner.answer(passage, decision));
        const settle = () => settleBy(answer, passage, reservation, write);
        // Until then the background waits: the client may leave before the answer.
        void keepAlive(answered.then(settle, settle), background);
        return await answered;
      },
      async pass(passage) {
        const answer = await inner.pass(passage);
        const known = heard.of(passage);
        if (known && !isUnlearned(answer)) known.status = answer.status;
        return answer;
      },
    };
  },
};

/** Where the answer states its costs, for the policies that the request matches. */
function statedIn({ matched }: Passage): StatedCost[] {
  return matched.flatMap(({ policy }) => policy.statedCost ?? []);
}

/** Clients see the header only if a policy keeps it. */
function takeFields({ fields }: Heard, headers: AnswerHeaders, stated: readonly StatedCost[]): void {
  for (const { answer } of stated) fields.set(answer, headers.get(answer));
  for (const { answer } of stated) {
    if (!stated.some((one) => one.keep && one.answer === answer)) headers.delete(answer);
  }
}

async function settleBy(
  { status, fields }: Heard,
  { matched }: Passage,
  reservation: MatchedReservation,
  write: ReturnType<typeof createLines>,
): Promise<void> {
  const { decision, reserved } = reservation;
  const used: Record<string, number> = {};
  for (const one of decision.policies) {
    const { name } = one.policy;
    const stated = statedFor(one, matched);
    if (!stated || !Object.hasOwn(reserved, name)) continue;
    const field = fields.get(stated.answer) ?? null;
    const { units, doubt } = statedBy(status, field, reserved[name]!);
    used[name] = units;
    if (doubt === undefined) continue;
    const found = field ?? undefined;
    write(() => ({
      ...{ event: "stated-cost", at: new Date().toISOString(), policy: name, header: stated.answer },
      ...{ problem: doubt, found, counted: units },
    }));
  }
  await reservation.settleFirst(used);
}

/** An overflow is settled as the policy for which it pays. */
function statedFor({ policy, paidFor = policy.name }: PolicyDecision, matched: Passage["matched"]) {
  return matched.find((one) => one.policy.name === paidFor)?.policy.statedCost;
}
