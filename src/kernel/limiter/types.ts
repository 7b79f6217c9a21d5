/// <reference lib="esnext.disposable" preserve="true" />
/** What a limiter is to its callers. */

import type { CheckedPolicies, Inferred } from "../config/policy-checked.ts";
import type { PolicyInput } from "../config/policy-input.ts";
import type { Decision } from "../core/decision.ts";
import type { Numbers, Policy } from "../core/policy.ts";
import type { Background } from "../place/taker.ts";
import type { ClientKey } from "../request/hash.ts";
import type { Store } from "../store/store.ts";
import type { AppliedPolicy } from "./decide.ts";
import type { Identify, Identity } from "./identity.ts";
import type { KeyByHand } from "./key-by-hand.ts";
import type { LiveReader } from "./live.ts";
import type { OwnNumbers } from "./numbers.ts";
import type { OnDecision } from "./on-decision.ts";
import type { OnWarning } from "./on-warning.ts";
import type { MatchedReservation, Reservation } from "./reservation.ts";

/** A feature of the way in: kernel/http/feature.ts says what that is. A limiter only hands it on. */
// biome-ignore lint/suspicious/noEmptyInterface: the limiter knows nothing of the way in
export interface HttpFeature {}

/** What `meter()`, `ban()` and their like make: for `features` of `createLimiter`. */
export interface LimiterFeature {
  /** The name of the function. */
  readonly name: string;
}

/** Options of `createLimiter`. @typeParam P the policies as they are written. */
export interface LimiterOptions<P = readonly PolicyInput[]> {
  /**
   * The policies as in wrangler.toml. Every mistake in them is reported at once.
   */
  readonly policies: Inferred<P, CheckedPolicies<P>>;
  /** Where counts are held: `redisStore(…)` for limits over all regions, `memoryStore()`, or a store of your own. */
  readonly store: Store;
  /**
   * Name of the region under which limits with `scope: "region"` count: 1 to 32 letters, digits, `_` `.` `-`, beginning
   * with a letter or digit. Default `"local"`.
   */
  readonly region?: string;
  /**
   * Secret with which client keys are hashed before they reach the store, at least 16 characters. Default: derived from
   * the store's token. Required if the store has no secret: a `redisStore` over TCP without `keySecret`.
   */
  readonly keySecret?: string;
  /**
   * The name of this deployment among those that count in the same store: up to 24 letters, digits and `-`. It is part
   * of every key, so two namespaces share nothing. Default: none.
   */
  readonly namespace?: string;
  /**
   * How many bits of an IPv6 address name a client: an integer 32 … 128. Default 64, the least that a subscriber has.
   * 48 or 56 is what many providers give to one subscriber, and 128 counts each address. With another number the
   * clients at IPv6 addresses begin at zero.
   */
  readonly ipv6Prefix?: number;
  /**
   * Called after every decision, before its answer: one function, or a list of them. If one throws, the console reports
   * the error, the others are called, and the decision stands. Default: the console reports decisions without the
   * store, about one each second.
   */
  readonly onDecision?: OnDecision | readonly OnDecision[];
  /**
   * Called when an admitted request has taken a client over a part of a limit that its policy names in `warn`: once for
   * each client, limit, part and window in this process or Worker instance. Its promise is kept alive after the answer.
   * If it throws, the console reports the error. Default: nobody is told.
   */
  readonly onWarning?: OnWarning;
  /**
   * What the limiter has beyond the rest: any of `meter()`, `rpc()`, `leases()`, `shared()`, `live()`, `body()`,
   * `ban()`, `overflow()` and `statedCost()`, each once. A bundle carries only those that a program imports. A field of
   * a policy whose feature is missing is a mistake. Default: none.
   */
  readonly features?: readonly LimiterFeature[];
  /**
   * Who issues the tokens whose claims are keys and plans (`jwt:sub`): what `jwtIdentity` makes. Required if a policy
   * names a claim. Default: nobody.
   */
  readonly identity?: Identity;
}

/** One policy applied to one client. */
export interface Take extends OwnNumbers {
  readonly policy: Policy;
  readonly key: ClientKey;
  /** Units, 0 … 10^9. */
  readonly cost: number;
  /** As in `AppliedPolicy`. */
  readonly link?: number;
  /** As in `AppliedPolicy`. */
  readonly isPreflight?: true | undefined;
  /** The id of the request under a policy with `once`, and what else makes it the same request. Absent: it has none. */
  readonly once?: readonly string[] | undefined;
}

/** What is known about a take before the body of its request is read. */
export interface EarlyTake extends Take {
  /** The most that it is expected to cost: a refusal reports the wait for it. */
  readonly cost: number;
  /** What it costs in any case, 1 or more. */
  readonly atLeast: number;
}

/** Options of `take`, `peek` and `reset`. */
export interface TakeOptions extends KeyByHand {
  /** Units, an integer 0 … 10^9; 0 only peeks. Default 1. */
  readonly cost?: number;
  /** The client's plan: a name in `plans` of the policies. Default, and for another name: the limits as written. */
  readonly plan?: string;
  /**
   * Other numbers for this client by the ids of limits, for example `{ "api-1": 200 }`. They come before those of a
   * plan. A limit without a number keeps its own; the client's counts stay what they are.
   */
  readonly limits?: Numbers;
  /**
   * The id of this request, any non-empty string: under policies with `once`, the same id again, at the same cost
   * and from the same client, is a repeat, which is admitted without being counted. Other policies ignore it.
   * Default: none, and every take is counted.
   */
  readonly once?: string;
  /** A name as in `LimiterOptions`. Default: the limiter's region. */
  readonly region?: string;
  /**
   * Where work may go on after the answer: the `ctx` of a fetch handler. Without it a policy with `consistency:
   * "leased"` behaves as one with `"strict"`.
   */
  readonly background?: Background;
}

/** Options of `wait`: those of a take, and how long to wait. */
export interface WaitOptions extends TakeOptions {
  /**
   * How long to wait at most, in milliseconds, 0 or more; `Infinity`: no end; 0: one take. Default 60,000. The time of
   * a call to the store may come on top.
   */
  readonly timeoutMs?: number;
  /** Ends the wait: it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options of `close`. */
export interface CloseOptions {
  /** How long to wait at most, in milliseconds, more than 0. Default 3,000. */
  readonly timeoutMs?: number;
}

/** One of several policies of a take. */
export interface PolicyTake<Name extends string = string> extends KeyByHand {
  /** The name of the policy. */
  readonly policy: Name;
  /** Default: the cost of the whole take. */
  readonly cost?: number;
  /** As in `TakeOptions`. Default: that of the whole take. */
  readonly plan?: string;
  /** As in `TakeOptions`. Default: those of the whole take. */
  readonly limits?: Numbers;
  /** As in `TakeOptions`. Default: that of the whole take. */
  readonly once?: string;
}

/**
 * All methods reject with a `TypeError` for misuse: a policy that does not exist, a missing key, a kind that the policy
 * does not count by, a cost that is not an integer of 0 … 10^9, a number that a limit cannot have, an id that no limit
 * has, a region that is not a name, the same policy and key twice, more clients than one take can have. One take has at
 * most 1,000 keys in the store: one for each policy and client, one more if the policy has limits of both scopes, twice
 * as many if it has `once`, one more if it has `ban`, and one more for each `sliding-log` and `concurrency` limit. A
 * refusal is a value. A failing store is handled as the policy says.
 */
export interface Limiter<Name extends string = string> {
  /** The policies as they were understood: checked, with defaults filled in and durations in milliseconds. */
  readonly policies: readonly (Policy & { readonly name: Name })[];
  /** Name of the region under which limits with `scope: "region"` count, unless a call names another. */
  readonly region: string;
  /** How many bits of an IPv6 address name a client. */
  readonly ipv6Prefix: number;
  /**
   * Checks every limit of the policy, or of several policies, and counts under all of them or none, atomically. It does
   * not ask the overflow of a policy: after a refusal, take that one.
   */
  take(policy: Name | readonly PolicyTake<Name>[], options?: TakeOptions): Promise<Decision>;
  /**
   * Takes as soon as the units are there: for calls that a program makes itself to a limited API. It asks again at the
   * reported instant, a little later at random, and resolves with the decision that admits. It resolves with the last
   * refusal as soon as that says that no units come in time. It keeps no place in a queue: whoever asks first
   * after the instant gets the units. A store that does not answer under `onStoreFailure: "deny"` is asked again
   * every 1 to 2 s. The delay of a leaky bucket is waited for too, also beyond `timeoutMs`; the decision then has no
   * `delayMs`.
   *
   * @throws the signal's reason. If the call that is under way then admits, `wait` resolves: its units are counted.
   */
  wait(policy: Name | readonly PolicyTake<Name>[], options?: WaitOptions): Promise<Decision>;
  /** The answer that a take of this cost would get now. Counts nothing. */
  peek(policy: Name | readonly PolicyTake<Name>[], options?: TakeOptions): Promise<Decision>;
  /**
   * Forgets the counts of this key: the global ones and those of the region. Ids that were counted before (`once`) stay
   * known until they end: their repeats are still not counted. @throws {StoreError}
   */
  reset(policy: Name, options?: Omit<TakeOptions, "cost" | "plan" | "limits" | "once">): Promise<void>;
  /**
   * Reserves units whose cost is known only afterwards: `take`, and what settles it later. No policy may be named
   * twice. Its units are never leased.
   */
  reserve(policy: Name | readonly PolicyTake<Name>[], options?: TakeOptions): Promise<Reservation>;
  /**
   * Before a process ends: sends the store what it is owed (counts of an outage, reports of `shared` and of bans),
   * gives back what is leased, and waits for settlements that are under way. What a store does not hear now is lost.
   * Each thing is tried a few times at most, and nothing is rejected because of a store.
   *
   * A limiter may be closed twice, and takes go on to be answered: from now on by the store itself, as under `strict`.
   *
   * @throws {TypeError} for an unknown option, and for a time that is not a number above 0.
   */
  close(options?: CloseOptions): Promise<void>;
  /** `close()`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
  /**
   * The refusal of a request whose body nobody has read: the client is blocked, or what the instance remembers refuses
   * whatever the request costs. undefined: it may be admitted. Asks and counts nothing.
   */
  refuseMatched(
    takes: readonly EarlyTake[],
    regionOf: () => string,
    background?: Background,
  ): Promise<Decision | undefined>;
  /** `take` for policies and keys that were matched already. `regionOf` is called only if a limit counts by region. */
  takeMatched(takes: readonly Take[], regionOf: () => string, background?: Background): Promise<Decision>;
  /** `reserve` for policies and keys that were matched already. */
  reserveMatched(takes: readonly Take[], regionOf: () => string, background?: Background): Promise<MatchedReservation>;
  /** `peek` for policies and keys that were matched already. */
  peekMatched(takes: readonly Take[], regionOf: () => string): Promise<Decision>;
  /** Verifies the token of a request before its keys are read. Absent: no policy asks for a claim. */
  readonly identify?: Identify | undefined;
  /** What its features add to the way in. */
  readonly httpFeatures: readonly HttpFeature[];
}

/** A limiter with what a gateway needs beyond the public methods. */
export interface InsideLimiter extends Limiter {
  /** Undefined: no live document is read. */
  readonly live: LiveReader | undefined;
  reserve(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<MatchedReservation>;
  /** A client in the form that is counted. Rejects for misuse as `take` does. */
  client(policy: string, options: TakeOptions): Promise<AppliedPolicy>;
  /** What each limit holds for a client, blocked and exempt clients included. Charges nothing. */
  inspect(client: AppliedPolicy, region: string, background: Background | undefined): Promise<Decision>;
  /** A reservation was settled without the limiter: units of these keys of the store may have come back. */
  returned(keys: readonly string[]): void;
  /** `reset` for a client in that form. @throws {StoreError} */
  resetClient(client: AppliedPolicy, region: string): Promise<void>;
}
