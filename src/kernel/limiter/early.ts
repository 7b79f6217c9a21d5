/** The refusal of a request whose body nobody has read: what the isolate remembers refuses whatever it costs. */

import { Flag } from "../core/take.ts";
import type { Inquiry, Taker } from "../place/taker.ts";
import { type Answered, type AppliedPolicy, answeredOf, type PolicyKey } from "./decide.ts";
import type { KeysOf } from "./keys.ts";
import type { Part, Question } from "./part.ts";
import type { TakerFor } from "./takers.ts";
import type { EarlyTake } from "./types.ts";

/** Makes what finds a refusal. undefined: the request may be admitted. Nothing is asked of a store, or charged. */
export function earlyRefusals(parts: readonly Part[], keysOf: KeysOf, takerFor: TakerFor) {
  /** @param takes what is known about the cost. @param applied to whom they apply. */
  return async (
    takes: readonly EarlyTake[],
    applied: readonly AppliedPolicy[],
    { flag, background, region }: Question,
  ): Promise<Answered | undefined> => {
    const asked = applied.filter(isAsked);
    if (asked.length === 0) return undefined;
    const keys = keysOf(applied, region);
    const known = await knownAbout(keys.filter(isAsked), takerFor(asked, flag), background);
    if (!known) return undefined;
    let answered = answeredOf(keys, flag, known);
    for (const { hear } of parts) answered = hear?.(answered) ?? answered;
    return answered.decision.limits.some((limit) => isSure(limit, takes)) ? answered : undefined;
  };
}

/** An overflow may pay for what the policy before it refuses. */
function isAsked({ policy }: Pick<AppliedPolicy, "policy">): boolean {
  return policy.mode === "enforce" && !policy.chain;
}

async function knownAbout(lines: readonly PolicyKey[], taker: Taker, background: Question["background"]) {
  const about = (lines: readonly PolicyKey[]): Inquiry<PolicyKey> => ({ lines, flag: Flag.take, slot: 0 });
  const known = await taker.known(about(lines), { background });
  if (known) return known;
  // Of the other keys nothing is known.
  const refusing = lines.filter(taker.surelyRefuses);
  return refusing.length > 0 ? await taker.known(about(refusing), { background }) : undefined;
}

type Limits = Answered["decision"]["limits"];

/** Whether the limit refuses any cost that the request may have, and tells no wait that is too long. */
function isSure({ admitted, policy, remaining, retryAfterMs }: Limits[number], takes: readonly EarlyTake[]): boolean {
  const { atLeast, cost } = takes.find((one) => one.policy.name === policy.name)!;
  // A request that costs more than was asked for could be told "never" although it costs less.
  return !admitted && remaining < atLeast && (retryAfterMs !== undefined || atLeast === cost);
}
