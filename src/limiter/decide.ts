/** From the applied policies to the keys of the store, and from the store's reply to a decision. */

import { hasLimitKey } from "../core/algorithms.ts";
import { isConcurrency } from "../core/concurrency.ts";
import {
  type AdmittedDecision,
  type Decision,
  decide,
  decideLimit,
  type LimitDecision,
  type RefusedDecision,
  type Source,
  type UnavailableDecision,
} from "../core/decision.ts";
import { MAX_LIMITS } from "../core/layout.ts";
import type { Limit, Policy } from "../core/policy.ts";
import { asCharged, ENFORCED, Flag, type KeyRequest, type TakeReply, type TakeRequest } from "../core/take.ts";
import {
  askOnce,
  type Background,
  type Consistency,
  type DecisionNotes,
  type SourcedReply,
} from "../isolate/reply-source.ts";
import { holdSlots, type SlotOptions } from "../isolate/slots.ts";
import type { StoreErrorCode } from "../store/store.ts";
import { storeKey } from "./store-key.ts";

/** A policy as it is applied to one client. */
export interface AppliedPolicy {
  /** The policy, with the numbers that hold for this client. */
  readonly policy: Policy;
  /** Which kind of key the client presented, for example `ip`; `key` if the key was given by hand without a kind. */
  readonly kind: string;
  /** The hash of the key, as Redis sees it. */
  readonly partition: string;
  /** Units, 0 … 10^9. */
  readonly cost: number;
  /** The client's plan. Absent: none of the policy's plans. */
  readonly plan?: string;
  /**
   * Its place in a chain: 0 is the policy that matched, n its n-th overflow, which follows it in the list. Absent: the
   * policy has no overflow, or is asked without it.
   */
  readonly link?: number;
  /** The request is a preflight, which counts apart from other requests, and strictly. Absent: it is none. */
  readonly isPreflight?: true;
  /** The hash of the request's id, as Redis sees it. Absent: it has none, or the policy has no `once`. */
  readonly once?: string;
}

/** One key of the store, with its policy and limits. */
export interface PolicyKey {
  /** Position in the list of takes. */
  readonly take: number;
  readonly policy: Policy;
  readonly limits: readonly Limit[];
  readonly request: KeyRequest;
}

const SCOPES = ["global", "region"] as const;
/**
 * How long a reply may refuse other requests under a policy with `count`, in ms: attempts in flight anywhere may give
 * their units back at any moment.
 */
const COUNTED_TRUSTED_MS = 1_000;

/** Behind the partition of a client's preflights: a count of their own, of the same size. */
export const PREFLIGHT = "#preflight";

/** One key per policy, partition and scope. The braces are the cluster hash tag. */
export function keysOf(
  takes: readonly AppliedPolicy[],
  region: () => string,
  namespace: string | undefined,
): PolicyKey[] {
  let shadowPolicies = 0;
  const keys: PolicyKey[] = [];
  for (const [take, { policy, partition, cost, once: id, isPreflight }] of takes.entries()) {
    const group = policy.mode === "shadow" ? ++shadowPolicies : ENFORCED;
    const base = storeKey(policy.name, isPreflight ? `${partition}${PREFLIGHT}` : partition, namespace);
    for (const scope of SCOPES) {
      const isOfScope = (limit: Limit) => limit.scope === scope;
      // Most policies have one scope: no list is made, and none is kept beside what the isolate remembers.
      const limits = policy.limits.every(isOfScope) ? policy.limits : policy.limits.filter(isOfScope);
      if (limits.length === 0) continue;
      const key = scope === "global" ? base : `${base}:${region()}`;
      const { count, syncMs, once: rule } = policy;
      const request: { -readonly [K in keyof KeyRequest]: KeyRequest[K] } = { key, group, cost, limits };
      if (count) request.trustedMs = COUNTED_TRUSTED_MS;
      else if (rule && id !== undefined) request.once = { id, forMs: rule.forMs, repeats: rule.repeats };
      if (syncMs !== undefined) request.syncMs = syncMs;
      keys.push({ take, policy, limits, request });
    }
  }
  return keys;
}

/** What `keysPerClient` returns at most: two keys for each scope, and a limit key for each limit. */
export const MOST_KEYS_OF_CLIENT = 2 * SCOPES.length + MAX_LIMITS;

/** How many keys of the store a policy has for each client: with limit keys, and with the keys of one id. */
export function keysPerClient({ limits, once }: Policy): number {
  const scopes = SCOPES.filter((scope) => limits.some((limit) => limit.scope === scope));
  return scopes.length * (once ? 2 : 1) + limits.filter(hasLimitKey).length;
}

/** What is asked of the store, for all keys of a request. */
export interface Asked {
  readonly flag: Flag;
  /** The number of the request; 0: it holds no slots. */
  readonly slot: number;
  /** As for `ReplySource`. */
  readonly background?: Background | undefined;
  /** As for `ReplySource`. */
  readonly consistency?: Consistency;
  /** Shared with other attempts of the same decision. Absent: this is the only one. */
  readonly notes?: DecisionNotes;
  /** Only an answer of the store will do: without one the answer is `unavailable`, whatever the policies say. */
  readonly mustHear?: true;
}

/**
 * Settles what was charged: `giveBack` for units that were not used and for slots, `chargeAnyway` for units beyond.
 * Never rejects because of a store.
 */
export type Settle = (request: TakeRequest, background?: Background) => Promise<unknown>;

/** What one place has charged for a decision, or this isolate in its stead. */
export interface Charge {
  /** The keys that were charged, with all their units. */
  readonly keys: readonly PolicyKey[];
  /** The instant of the charge by the clock of the place, ms since the epoch. */
  readonly atMs: number;
  /** The number of the request there; 0: it holds no slots. */
  readonly slot: number;
  readonly settle: Settle;
  /** Charges with the same value are settled in one call. Default: `settle`. */
  readonly at?: unknown;
}

/** The answer to a request. */
export interface Answered {
  readonly decision: Decision;
  /** The instant of the decision by the clock of the store, ms since the epoch. Absent: no counts were looked at. */
  readonly atMs?: number | undefined;
  /** What was charged. Absent: nothing. */
  readonly charges?: readonly Charge[];
  /** Why the store had no answer. Absent: it had one. */
  readonly failure?: StoreErrorCode;
  /** The keys whose store had no answer, with `failure`. */
  readonly unanswered?: readonly PolicyKey[];
  /** Fulfilled when what was charged in vain has come back. Absent: nothing was. */
  readonly undone?: Promise<unknown>;
}

/** Decides for a limiter, and keeps what an isolate knows of the store or stores. */
export interface Decider {
  /** Never rejects because of a store: each policy says what happens while its store has no answer. */
  decide(keys: readonly PolicyKey[], asked: Asked): Promise<Answered>;
  /** The refusal that the isolate knows without asking a store. Undefined: it knows none. Charges nothing. */
  known(keys: readonly PolicyKey[], asked: Asked): Promise<Answered | undefined>;
  /** Of these keys, those that the isolate knows to be refused, although it may not know for how long. */
  surelyRefused(keys: readonly PolicyKey[]): readonly PolicyKey[];
  /** Forgets the counts of these keys of a store. @throws {StoreError} if a store does not answer. */
  reset(keys: readonly string[]): Promise<void>;
}

/** Whether the answer is a refusal if the store of this key has no answer. */
export function denies({ policy }: PolicyKey): boolean {
  return policy.onStoreFailure === "deny" && policy.mode === "enforce";
}

/**
 * The answer if a store has none and one of its policies denies. Each time a new object: listeners use
 * decisions as keys.
 */
export function unavailable(): UnavailableDecision {
  const outcome = "unavailable";
  return { outcome, allowed: false, source: "fallback", limits: [], shadow: [], unavailable: true };
}

/** Where the reply comes from, what is asked, and where it is settled. */
type DecideOptions = Asked & SlotOptions & Pick<Charge, "settle">;

/** A reply, and what it is about. */
export interface KeysReply extends SourcedReply {
  readonly keys: readonly PolicyKey[];
}

const requestOf = ({ request }: PolicyKey) => request;

/** Asks for a reply about these keys. @throws {StoreError} */
export function ask(
  keys: readonly PolicyKey[],
  { replies, flag, slot, background, consistency, notes }: DecideOptions,
) {
  return askOnce(replies, { keys: keys.map(requestOf), flag, slot }, background, consistency, notes);
}

/** What the reply about these keys means. */
export function answerOf(
  keys: readonly PolicyKey[],
  { reply, source }: SourcedReply,
  options: DecideOptions,
): Answered {
  const { flag, slot, settle } = options;
  const decision = decideAll(source, [{ keys, reply, source }], flag);
  // 0: without a key no counts were looked at.
  const atMs = keys.length && reply.nowMs;
  if (!decision.allowed) return { decision, atMs };
  const charged = chargedBy(keys, reply);
  const hold = slot ? holdSlots(charged.map(requestOf), options) : undefined;
  const charge = { keys: charged, atMs, slot, settle };
  return { decision: hold ? { ...decision, hold } : decision, atMs, charges: [charge] };
}

/** The keys that a take has charged, each with its request as it has to be given back. A repeat has charged nothing. */
export function chargedBy(keys: readonly PolicyKey[], reply: TakeReply): readonly PolicyKey[] {
  const requests = keys.map(requestOf);
  const charged = asCharged(requests, reply);
  if (charged === requests) return keys;
  return keys.flatMap((key) => {
    const request = charged.find((one) => one.key === key.request.key);
    return request && !request.once?.isRepeat ? [{ ...key, request }] : [];
  });
}

/** The keys that an admitted decision has charged: all but those of policies in shadow that refused. */
export function chargedOf(keys: readonly PolicyKey[], { shadow }: Decision): PolicyKey[] {
  return keys.filter(({ policy }) => shadow.every((one) => one.admitted || one.policy !== policy));
}

/**
 * The decision that all replies together give.
 *
 * @param isHidden whether the numbers of a reply are not shown: those of the isolate's own counts beside those of a
 * store. They are shown all the same if nothing else explains a refusal. Absent: all are shown.
 */
export function decideAll(
  source: Source,
  replies: readonly KeysReply[],
  flag: Flag,
  isHidden?: (reply: KeysReply) => boolean,
): AdmittedDecision | RefusedDecision {
  const shown = isHidden ? replies.filter((reply) => !isHidden(reply)) : replies;
  const decision = decide(source, limitDecisions(shown, flag));
  if (shown.length === replies.length || replies.every(({ reply }) => reply.allowed)) return decision;
  const whole = decide("fallback", limitDecisions(replies, flag));
  if (decision.allowed) return whole;
  // The wait is that of all: who is refused longest says when to come back.
  const { retryAfterMs: _, ...refused } = decision;
  return whole.retryAfterMs === undefined ? refused : { ...refused, retryAfterMs: whole.retryAfterMs };
}

/** What replies say about each limit, in the order of the configuration. Two scopes of a policy are two keys. */
function limitDecisions(replies: readonly KeysReply[], flag: Flag): LimitDecision[] {
  const charged = flag !== Flag.look;
  /** By position in the configuration. A limit without a decision leaves a hole. */
  const decisions: LimitDecision[] = [];
  for (const { keys, reply, source } of replies) {
    for (let k = 0; k < keys.length; k++) {
      const { take, policy, limits, request } = keys[k]!;
      for (let l = 0; l < limits.length; l++) {
        const limit = limits[l]!;
        // The number of requests in flight is not known from memory. Leave such a limit out: its number would be wrong.
        if (source === "cache" && isConcurrency(limit)) continue;
        const position = take * MAX_LIMITS + policy.limits.indexOf(limit);
        decisions[position] = decideLimit(policy, limit, reply.keys[k]![l]!, request.cost, reply.nowMs, charged);
      }
    }
  }
  return decisions.filter(() => true);
}
