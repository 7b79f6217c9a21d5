/**
 * Overflow: when a policy refuses, the next one of its chain is asked in its place. This stands over decisions that
 * know nothing of chains. Each attempt is one decision: it charges all of its policies or none of them. Thus exactly
 * one policy of a chain pays, and a refusal charges nobody.
 */

import type { Became, Decision, PolicyDecision } from "../../kernel/core/decision.ts";
import { MAX_CHAIN } from "../../kernel/core/layout.ts";
import type { Answered, AppliedPolicy } from "../../kernel/limiter/decide.ts";
import type { DecideTakes, PartOf, Question, SurelyRefused } from "../../kernel/limiter/part.ts";
import { type DecisionNotes, keepAlive } from "../../kernel/place/taker.ts";

/** How many attempts of one decision are made at most, also if a request has several chains. */
const MAX_ATTEMPTS = MAX_CHAIN;
/** How well an isolate knows the clock of a place that refuses from memory, ms: to within the time of a call. */
const CLOCK_ERROR_MS = 1_000;

/** The policies that are asked at once, and the answer. */
interface ChainAttempt {
  readonly attempt: readonly AppliedPolicy[];
  answered?: Answered;
}
type AnsweredChainAttempt = Required<ChainAttempt>;

export const overflow: PartOf = {
  name: "overflow",
  isUsed: ({ chain }) => chain !== undefined,
  make: () => ({
    apply(applied, { link }) {
      if (link !== undefined) applied.link = link;
    },
    around: withOverflow,
  }),
};

/** @param decideOnce decides without overflows. */
function withOverflow(decideOnce: DecideTakes, surelyRefused: SurelyRefused): DecideTakes {
  async function decide(takes: readonly AppliedPolicy[], question: Question): Promise<Answered> {
    const beganAtMs = Date.now();
    const notes: DecisionNotes = { failed: new Map() };
    /** The refused attempts in order. No answer: the attempt was not made, because its refusal was certain. */
    const refused: ChainAttempt[] = [];
    const heard = () => refused.filter((one): one is AnsweredChainAttempt => one.answered !== undefined);

    let attempt: readonly AppliedPolicy[] = takes.filter(({ link }) => !link);
    for (let made = 0; ; ) {
      const later = replaced(takes, attempt, surelyRefused(attempt, question));
      if (later) {
        refused.push({ attempt });
        attempt = later;
        continue;
      }
      const answered = await decideOnce(attempt, { ...question, notes });
      made++;
      if (answered.decision.outcome !== "refused") return concluded(takes, { attempt, answered }, heard());
      refused.push({ attempt, answered });
      const refusing = refusedIn(attempt, answered.decision);
      // Only other policies refuse. They refuse every attempt, so that none has a shorter wait.
      if (![...refusing].some(({ link }) => link !== undefined))
        return concluded(takes, { attempt, answered }, heard());
      const next = made < MAX_ATTEMPTS && replaced(takes, attempt, refusing);
      // What other places have charged for this attempt must not refuse the next one.
      if (next || heard().length < refused.length) await answered.undone;
      if (!next) break;
      attempt = next;
    }

    // Now the waits of the attempts that were not made are needed too.
    for (const one of refused) {
      if (one.answered) continue;
      const answered = await decideOnce(one.attempt, { ...question, notes, mustHear: true });
      // Units have come back meanwhile.
      if (answered.decision.allowed) return concluded(takes, { attempt: one.attempt, answered }, heard());
      if (answered.decision.outcome === "refused") one.answered = answered;
      await answered.undone;
    }
    return concluded(takes, soonest(heard(), Math.max(0, Date.now() - beganAtMs) + CLOCK_ERROR_MS), heard());
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

/** A banned client gets nothing from another policy either. */
function refusedIn(attempt: readonly AppliedPolicy[], { policies }: Decision): ReadonlySet<AppliedPolicy> {
  if (policies.some(({ became }) => became === "banned")) return new Set();
  return new Set(attempt.filter((_, k) => policies[k]!.became === "refused"));
}

/**
 * The refusal whose wait ends first, and of equal ones the first. A later attempt tells a wait that is shorter by the
 * time between the two.
 *
 * @param mostMs no two attempts are further apart, although the clocks of two places may be.
 */
function soonest(refusals: readonly AnsweredChainAttempt[], mostMs: number): AnsweredChainAttempt {
  const waitOf = ({ answered: { decision } }: AnsweredChainAttempt) =>
    decision.retryAfterMs ?? Number.POSITIVE_INFINITY;
  return refusals.reduce((one, other) => {
    const laterMs = (other.answered.atMs ?? 0) - (one.answered.atMs ?? 0);
    const passedMs = Math.max(-mostMs, Math.min(mostMs, laterMs));
    return waitOf(other) + passedMs < waitOf(one) ? other : one;
  });
}

/** What became of all policies, and why stores had no answer to this or to an earlier attempt. */
function concluded(
  takes: readonly AppliedPolicy[],
  last: AnsweredChainAttempt,
  refusals: readonly AnsweredChainAttempt[],
): Answered {
  const all = [...refusals, last];
  const { attempt, answered } = last;
  const decision: Decision = { ...answered.decision, policies: policiesOf(takes, last, all) };
  const payers = attempt.filter(({ link }) => link !== undefined).map(({ policy }) => policy.name);
  const whole = decision.outcome === "admitted" ? { ...decision, paidBy: payers.join(", ") } : decision;
  const failure = all.find((one) => one.answered.failure !== undefined)?.answered.failure;
  return failure === undefined ? { ...answered, decision: whole } : { ...answered, decision: whole, failure };
}

/** An attempt asks one policy of each chain, in the order of the chains. */
function policiesOf(
  takes: readonly AppliedPolicy[],
  last: AnsweredChainAttempt,
  all: readonly AnsweredChainAttempt[],
): PolicyDecision[] {
  const { attempt, answered } = last;
  const isUnanswered = (take: AppliedPolicy) =>
    all.some((one) => one.answered.decision.policies[one.attempt.indexOf(take)]?.unanswered);
  let chain = -1;
  return takes.map((take, i) => {
    const { policy, link } = take;
    if (!link) chain++;
    const asked = attempt[chain]!;
    const { became, limits } = answered.decision.policies[chain]!;
    const isAsked = take === asked;
    const one: { -readonly [K in keyof PolicyDecision]: PolicyDecision[K] } = {
      policy,
      became,
      limits: isAsked ? limits : [],
    };
    if (link !== undefined) one.became = becameOfLink(link, asked.link!, became);
    if (link && isAsked && answered.decision.allowed) one.paidFor = takes[i - link]!.policy.name;
    if (isUnanswered(take)) one.unanswered = true;
    return one;
  });
}

/** What became of a policy of a chain. @param asked the one that was asked last. @param became what became of that. */
function becameOfLink(link: number, asked: number, became: Became): Became {
  // All of them have refused.
  if (became === "refused") return became;
  if (became === "spared" || became === "unavailable") return link === 0 ? became : "unneeded";
  if (link === asked) return became;
  return link < asked ? "overflowed" : "unneeded";
}
