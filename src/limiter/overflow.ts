/**
 * Overflow: when a policy refuses, the next one of its chain is asked in its place. This stands over decisions that
 * know nothing of chains. Each attempt is one decision: it charges all of its policies or none of them. Thus exactly
 * one policy of a chain pays, and a refusal charges nobody.
 */

import type { Decision } from "../core/decision.ts";
import { MAX_CHAIN } from "../core/layout.ts";
import { type Ask, type Call, type DecisionNotes, keepAlive } from "../isolate/taker.ts";
import type { Answered, AppliedPolicy } from "./decide.ts";

/** What is asked about the policies of a request. */
export interface Question extends Call, Pick<Ask, "flag"> {
  readonly region: () => string;
  /** Units are reserved, for a cost that is known only afterwards. */
  readonly isReserving: boolean;
}

/** Decides about these policies: all of them are charged, or none. */
export type DecideTakes = (takes: readonly AppliedPolicy[], question: Question) => Promise<Answered>;

/** The policies of the request that this isolate knows to refuse, although it may not know for how long. */
export type SurelyRefused = (takes: readonly AppliedPolicy[], question: Question) => ReadonlySet<AppliedPolicy>;

/** How many attempts of one decision are made at most, also if a request has several chains. */
const MAX_ATTEMPTS = MAX_CHAIN;

/** @param decideOnce decides without overflows. */
export function withOverflow(decideOnce: DecideTakes, surelyRefused: SurelyRefused): DecideTakes {
  async function decide(takes: readonly AppliedPolicy[], question: Question): Promise<Answered> {
    const notes: DecisionNotes = { failed: new Map() };
    /** The refused attempts in order. No answer: the attempt was not made, because its refusal was certain. */
    const refused: { readonly attempt: readonly AppliedPolicy[]; answered?: Answered }[] = [];
    const heard = () => refused.flatMap(({ answered }) => answered ?? []);

    let attempt: readonly AppliedPolicy[] = takes.filter(({ link }) => !link);
    let last: Answered | undefined;
    for (let made = 0; !last; ) {
      const later = replaced(takes, attempt, surelyRefused(attempt, question));
      if (later) {
        refused.push({ attempt });
        attempt = later;
        continue;
      }
      const answered = await decideOnce(attempt, { ...question, notes });
      made++;
      if (answered.decision.outcome !== "refused") return withFailures(withPayers(answered, attempt), heard());
      refused.push({ attempt, answered });
      const refusing = refusedIn(attempt, answered.decision);
      // Only other policies refuse. They refuse every attempt, so that none has a shorter wait.
      if (![...refusing].some(({ link }) => link !== undefined)) return withFailures(answered, heard());
      const next = made < MAX_ATTEMPTS && replaced(takes, attempt, refusing);
      // What other places have charged for this attempt must not refuse the next one.
      if (next || heard().length < refused.length) await answered.undone;
      if (next) attempt = next;
      else last = answered;
    }

    // Now the waits of the attempts that were not made are needed too.
    for (const one of refused) {
      if (one.answered) continue;
      const answered = await decideOnce(one.attempt, { ...question, notes, mustHear: true });
      // Units have come back meanwhile.
      if (answered.decision.allowed) return withFailures(withPayers(answered, one.attempt), heard());
      if (answered.decision.outcome === "refused") one.answered = answered;
      await answered.undone;
    }
    const shown = soonest(heard());
    const decision = { ...shown.decision, shadow: last.decision.shadow };
    return withFailures({ ...shown, decision }, heard());
  }

  return async (takes, question) => {
    if (takes.every(({ link }) => link === undefined)) return await decideOnce(takes, question);
    // A client that goes away in the middle leaves nothing undone.
    return await keepAlive(decide(takes, question), question.background);
  };
}

/** The next attempt: each policy that has refused is replaced by the one after it. undefined: none has one. */
function replaced(
  takes: readonly AppliedPolicy[],
  attempt: readonly AppliedPolicy[],
  refused: ReadonlySet<AppliedPolicy>,
): readonly AppliedPolicy[] | undefined {
  const next = attempt.map((one) => {
    const after = takes[takes.indexOf(one) + 1];
    return after?.link && refused.has(one) ? after : one;
  });
  return next.some((one, i) => one !== attempt[i]) ? next : undefined;
}

function refusedIn(attempt: readonly AppliedPolicy[], { limits }: Decision): ReadonlySet<AppliedPolicy> {
  const isRefused = ({ policy }: AppliedPolicy) => limits.some((one) => !one.admitted && one.policy === policy);
  return new Set(attempt.filter(isRefused));
}

/**
 * The refusal whose wait ends first, and of equal ones the first. Instants are compared, because a later attempt tells
 * a wait that is shorter by the time between the two.
 */
function soonest(refusals: readonly Answered[]): Answered {
  const endOf = ({ decision, atMs = 0 }: Answered) => atMs + (decision.retryAfterMs ?? Number.POSITIVE_INFINITY);
  return refusals.reduce((one, other) => (endOf(other) < endOf(one) ? other : one));
}

/** The answer with the names of those that have paid, one for each chain. */
function withPayers(answered: Answered, attempt: readonly AppliedPolicy[]): Answered {
  const { decision } = answered;
  if (decision.outcome !== "admitted") return answered;
  const payers = attempt.filter(({ link }) => link !== undefined);
  return { ...answered, decision: { ...decision, paidBy: payers.map(({ policy }) => policy.name).join(", ") } };
}

/** The answer, and why stores had no answer to this or to an earlier attempt. */
function withFailures(answered: Answered, refusals: readonly Answered[]): Answered {
  const first = refusals.find(({ failure }) => failure !== undefined) ?? answered;
  if (first.failure === undefined) return answered;
  const unanswered = [...refusals.filter((one) => one !== answered), answered].flatMap((one) => one.unanswered ?? []);
  return { ...answered, failure: first.failure, unanswered };
}
