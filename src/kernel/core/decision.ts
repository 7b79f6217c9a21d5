/** What a take means for its caller: from counts to the remaining units, the waits and one verdict. Pure. */

import type { LimitStatus } from "./algorithm.ts";
import { algorithmOf } from "./algorithms.ts";
import type { DecidedLimit, Policy } from "./policy.ts";
import type { LimitReply, Receipt } from "./take.ts";

/**
 * Who answered: `cache` is what this process or Worker instance knew of the store, `lease` are units that it had
 * leased, `shared` is its part of the counts, `fallback` are its own counts without the store, `live` is a block of the
 * live document. Any other word is the `kind` of the store that answered.
 */
export type Source = "redis" | "memory" | "cache" | "lease" | "shared" | "fallback" | "live" | (string & {});

/** One limit's part in a decision. */
export interface LimitDecision extends LimitStatus {
  /** The policy that it belongs to, with the numbers that hold for this client. */
  readonly policy: Policy;
  /**
   * The limit, checked and with its defaults, and with the number that holds for this client. A ban that refuses is
   * among them.
   */
  readonly limit: DecidedLimit;
  /** Whether this limit alone would have admitted the cost. */
  readonly admitted: boolean;
  /** When `remaining` grows, by the clock of the store, ms since the epoch. Absent: as `growsAfterMs`, or not known. */
  readonly growsAtMs?: number;
  /** True: the request was a repeat (`once`), which this limit has neither refused nor counted. Absent: it was none. */
  readonly repeated?: true;
  /** Units surely used where `remaining` is an estimate. Absent: it is none, or nobody asked. */
  readonly used?: number;
}

/** What became of a policy, in force or in shadow, in one decision. */
export type Became =
  /** It admitted, and the request was counted, also with cost 0. While its store is down, it may be counted later. */
  | "charged"
  /** It admitted a repeat (`once`), and nothing was counted. */
  | "repeat"
  /** It admitted, and nothing was counted: it was a peek, or nobody counts it while its store is down. */
  | "admitted"
  /** One of its limits refused. Of a policy with an overflow: and so did each overflow behind it. */
  | "refused"
  /** It refused, and an overflow paid. */
  | "overflowed"
  /** An overflow that did not have to pay. */
  | "unneeded"
  /** Another policy refused, or blocked the client. Nothing was counted here. */
  | "spared"
  /** It has refused the client too often (`ban`), and refuses everything for some time. */
  | "banned"
  /** An operator has blocked the client under this policy. */
  | "blocked"
  /** Its store had no answer, or that of another policy, and one says `onStoreFailure = "deny"`. */
  | "unavailable";

/** One policy's part in a decision. */
export interface PolicyDecision {
  /** The policy, with the numbers that hold for this client. */
  readonly policy: Policy;
  /** What became of it. */
  readonly became: Became;
  /** Those of `limits` and `shadow` that are its own. */
  readonly limits: readonly LimitDecision[];
  /** The policy that the request matched, if this is an overflow that paid for it. Absent: it is none. */
  readonly paidFor?: string;
  /** True: its store had no answer, and its `onStoreFailure` decided. Absent: it had one. */
  readonly unanswered?: true;
}

/** The slots of a request in flight. A store that does not answer is not an error: an abandoned slot frees itself. */
export interface Hold {
  /** How often to renew, in milliseconds: at half the shortest timeout. */
  readonly renewEveryMs: number;
  /**
   * Keeps the slots for another timeout.
   *
   * @returns false if this request may not call the store any more: the slots are lost after their timeout.
   */
  renew(): Promise<boolean>;
  /** Gives the slots back. Call it once, when the request has ended. */
  release(): Promise<void>;
}

/** What a decision may have. A member that an outcome never has is `undefined` there. */
export interface DecisionBase {
  /** Who answered. */
  readonly source: Source;
  /** The fewest units left under any enforced limit. Absent: no enforced limit has stated its number. */
  readonly remaining?: number;
  /**
   * The time until this cost is admitted if nothing else is counted, in ms; 0 if allowed. Absent: never, or not known.
   */
  readonly retryAfterMs?: number;
  /** The time until every enforced limit is full again, in ms. Absent: as for `remaining`. */
  readonly resetAfterMs?: number;
  /** How long the admitted request must be delayed, in ms (leaky bucket). Absent: it is not delayed. */
  readonly delayMs?: number;
  /**
   * Every policy that applies, in the order in which they were asked, each followed by its overflows. One that exempts
   * the client is not among them.
   */
  readonly policies: readonly PolicyDecision[];
  /**
   * Every enforced limit, in the order of the policies. Of a policy with an overflow and those after it these are the
   * limits of the one that pays; after a refusal, of the one with the shortest wait.
   */
  readonly limits: readonly LimitDecision[];
  /** Every limit of a policy in shadow. */
  readonly shadow: readonly LimitDecision[];
  /**
   * Who paid of each chain, in the order of the policies that matched: names joined by `", "`. Absent: no policy that
   * applies has an overflow.
   */
  readonly paidBy?: string;
  /** The slots of a request that was counted under a concurrency limit. Release them when the request has ended. */
  readonly hold?: Hold;
  /** True: the store had no answer, and a policy with `onStoreFailure = "deny"` applies. */
  readonly unavailable?: true;
  /** True: an operator has blocked this client in the live document. A block without an end has no `retryAfterMs`. */
  readonly blocked?: true;
}

/** A decision whose outcome never has these members. */
type Without<Members extends keyof DecisionBase> = Omit<DecisionBase, Members> & {
  readonly [Member in Members]?: never;
};

/** Every enforced limit admitted, and all of them were counted. Limits of policies in shadow may have refused. */
export type AdmittedDecision = Without<"unavailable" | "blocked"> & {
  readonly outcome: "admitted";
  readonly allowed: true;
  readonly retryAfterMs: 0;
};

/** A limit refused: those of `limits` that have not `admitted`. Nothing was counted. */
export type RefusedDecision = Without<"paidBy" | "delayMs" | "hold" | "unavailable" | "blocked"> & {
  readonly outcome: "refused";
  readonly allowed: false;
};

/** An operator has blocked the client in the live document. No limit was asked: `limits` and `shadow` are empty. */
export type BlockedDecision = Without<"remaining" | "resetAfterMs" | "paidBy" | "delayMs" | "hold" | "unavailable"> & {
  readonly outcome: "blocked";
  readonly allowed: false;
  readonly source: "live";
  readonly blocked: true;
};

/**
 * The store had no answer, and a policy with `onStoreFailure = "deny"` applies. No number is known: `limits` and
 * `shadow` are empty.
 */
export type UnavailableDecision = Without<
  "remaining" | "retryAfterMs" | "resetAfterMs" | "paidBy" | "delayMs" | "hold" | "blocked"
> & {
  readonly outcome: "unavailable";
  readonly allowed: false;
  readonly source: "fallback";
  readonly unavailable: true;
};

/**
 * The answer to a take. A refusal is a value: nothing throws because a limit was reached. `outcome` says which of the
 * four it is.
 */
export type Decision = AdmittedDecision | RefusedDecision | BlockedDecision | UnavailableDecision;

/** What follows from each outcome. */
export type ByOutcome<T, More extends readonly unknown[] = []> = {
  readonly [D in Decision as D["outcome"]]: (decision: D, ...more: More) => T;
};

/**
 * What follows from a decision. HTTP, metrics and log lines all ask here: one more outcome does not
 * compile until each of them says what follows from it.
 */
export function byOutcome<T, More extends readonly unknown[]>(
  decision: Decision,
  follows: ByOutcome<T, More>,
  ...more: More
): T {
  const follow = follows[decision.outcome] as (decision: Decision, ...more: More) => T;
  return follow(decision, ...more);
}

/** @param charged false after a look: the counts do not include the cost if it was admitted. */
export function decideLimit(
  policy: Policy,
  limit: DecidedLimit,
  { refused, view, pausedMs, leastWaitMs, driftPart, repeated, used }: LimitReply,
  units: number,
  nowMs: number,
  charged = true,
): LimitDecision {
  const status = algorithmOf(limit).tell(view, limit, repeated ? 0 : units, refused, nowMs, charged);
  const decision: { -readonly [K in keyof LimitDecision]: LimitDecision[K] } = {
    policy,
    limit,
    admitted: !refused,
    ...status,
  };
  if (driftPart !== undefined) {
    Object.assign(decision, longerWaits(status, driftPart));
    if (used !== undefined) decision.used = used;
  }
  if (pausedMs !== undefined) {
    Object.assign(decision, { remaining: 0, retryAfterMs: pausedMs, growsAfterMs: pausedMs });
  }
  if (leastWaitMs !== undefined) {
    Object.assign(decision, estimatedStatus(status, leastWaitMs, units, refused));
    if (used !== undefined) decision.used = used;
  }
  if (decision.growsAfterMs !== undefined) decision.growsAtMs = nowMs + decision.growsAfterMs;
  if (repeated) decision.repeated = repeated;
  return decision;
}

/** What an estimate of the counts may say: fewer units than a refused cost, and no wait that is too short. */
function estimatedStatus(
  { remaining, retryAfterMs, growsAfterMs }: LimitStatus,
  leastWaitMs: number,
  units: number,
  refused: boolean,
): Partial<LimitStatus> {
  return {
    ...(refused && { remaining: Math.max(0, Math.min(remaining, units - 1)) }),
    ...(refused && retryAfterMs !== undefined && { retryAfterMs: Math.max(leastWaitMs, retryAfterMs) }),
    ...(growsAfterMs !== undefined && { growsAfterMs: Math.max(leastWaitMs, growsAfterMs) }),
  };
}

/** Waits by a clock that may be slow. */
function longerWaits({ retryAfterMs, growsAfterMs }: LimitStatus, driftPart: number): Partial<LimitStatus> {
  const longer = (ms: number) => Math.ceil(ms / (1 - driftPart));
  return {
    ...(retryAfterMs !== undefined && { retryAfterMs: longer(retryAfterMs) }),
    ...(growsAfterMs !== undefined && { growsAfterMs: longer(growsAfterMs) }),
  };
}

/** What became of a policy by this receipt. @param before what became of it by those of its other keys. */
export function becameBy({ once }: Receipt, before: Became): Became {
  // A policy with two scopes may know the id under one of them.
  if (once) return once.isRepeat && before !== "charged" ? "repeat" : "charged";
  return "charged";
}

/** One verdict over all policies: admitted if every enforced limit admitted. */
export function decide(source: Source, policies: readonly PolicyDecision[]): AdmittedDecision | RefusedDecision {
  const limits: LimitDecision[] = [];
  const shadow: LimitDecision[] = [];
  const byMode = { enforce: limits, shadow };
  for (const { policy, limits: own } of policies) byMode[policy.mode].push(...own);
  let allowed = true;
  let remaining = Number.POSITIVE_INFINITY;
  let resetAfterMs = 0;
  let delayMs = 0;
  let retryAfterMs = 0;
  for (const one of limits) {
    allowed &&= one.admitted;
    remaining = Math.min(remaining, one.remaining);
    resetAfterMs = Math.max(resetAfterMs, one.resetAfterMs);
    delayMs = Math.max(delayMs, one.delayMs ?? 0);
    // A limit that never admits makes this NaN for good.
    retryAfterMs = Math.max(retryAfterMs, one.retryAfterMs ?? Number.NaN);
  }
  const parts = { policies, limits, shadow };
  // What is spread first costs little: every request comes by here.
  if (!allowed) {
    const refused = { ...parts, outcome: "refused", allowed, source, remaining, resetAfterMs } as const;
    return retryAfterMs >= 0 ? { ...refused, retryAfterMs } : refused;
  }
  const admitted = { ...parts, outcome: "admitted", allowed, source, retryAfterMs: 0 } as const;
  if (limits.length === 0) return admitted;
  const counted = { ...admitted, remaining, resetAfterMs };
  return delayMs > 0 ? { ...counted, delayMs } : counted;
}
