/**
 * The way of a request through the limiter, and what a capability on that way is. The way is composed once, when the
 * limiter is put before a handler: a feature that nothing uses is on the way of no request.
 */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { Warn } from "../config/warnings.ts";
import type { Decision } from "../core/decision.ts";
import type { Match, Policy } from "../core/policy.ts";
import type { EarlyTake, Limiter, Take } from "../limiter/types.ts";
import type { ClientKey } from "../request/hash.ts";
import type { RequestBody } from "../request/request-body.ts";
import type { RequestHead } from "../request/request-head.ts";
import type { Matched, Matcher } from "./match.ts";
import type { Passage } from "./passage.ts";
import type { ProblemOptions } from "./problem.ts";
import type { Reason } from "./refusal.ts";

/** A policy that is asked about a request. */
export interface Asked extends Matched {
  /** The client that the program names. Absent: the policy's `key` says it. */
  readonly key?: ClientKey;
  /** It costs nothing, whatever the program says. */
  readonly onlyLooks?: boolean;
}

/** The steps of the way. Each calls the next by `way`, as the features have made it. */
export interface Way {
  /** From the policies that match to the answer. */
  enter(passage: Passage): Promise<Response>;
  /** What the policies are asked. */
  ask(passage: Passage, asked: readonly Asked[]): readonly Take[] | Promise<readonly Take[]>;
  /** Charges. */
  take(passage: Passage, takes: readonly Take[]): Promise<Decision>;
  /** Refuses, or lets pass. */
  answer(passage: Passage, decision: Decision): Promise<Response>;
  /** The answer to a request that does not go on. */
  refuse(passage: Passage, reason: Reason): Response | Promise<Response>;
  /** Lets an admitted request pass. */
  pass(passage: Passage): Response | Promise<Response>;
  /** Sends a request on, also one that no policy counts. */
  send(passage: Passage, outgoing: Request): Response | Promise<Response>;
}

/** What the way is made of. */
export interface WayOptions extends ProblemOptions {
  readonly limiter: Limiter;
  /** What there is. Of two with one name the first counts; order.ts puts them into their order. */
  readonly features: readonly Feature[];
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Answers that shared caches may keep get the fields, too: they show the numbers of one client to others. */
  readonly isForCaches?: boolean | undefined;
  /** Name of the region that answers this request. */
  readonly regionOf: (request: Request) => string;
  /** Finds the policies. Default: by the head as it is. */
  readonly matchBy?: (match: Matcher) => Matcher;
}

/** What looks at the bodies of requests. */
export interface BodyReader {
  /** Whether the policy looks at them. */
  looksAt(policy: Policy): boolean;
  /**
   * What a request costs under such a policy, as far as its head tells. With `atLeast` 0 the policy is not asked before
   * the body is read. Absent, or undefined: as matching says.
   */
  early?(request: RequestHead, policy: Policy): Pick<EarlyTake, "cost" | "atLeast"> | undefined;
  /** Notes what the body says: it is not kept. */
  read(passage: Passage, body: RequestBody): void;
}

/** One capability on the way of a request. */
export interface Feature {
  readonly name: string;
  /** Others that it works with: they are on the way if it is. */
  readonly needs?: readonly string[];
  /**
   * False: it is left out, unless another one needs it. What operators can change while the limiter runs
   * (features/live/fields.ts) must not decide here. Absent: false.
   */
  isUsed?(policies: readonly Policy[], options: WayOptions): boolean;
  /** Finds what is allowed and probably not meant. */
  readonly warn?: Warn;
  /** Whether it decides this condition later than matching does, by more than the head of a request. */
  decides?(condition: Match): boolean;
  /** It says costs in place of the policies. For those that are not `known` before, it may read the body. */
  readonly costs?: "known" | "perhapsByBody" | undefined;
  /** Absent: it looks at no body. */
  readonly body?: BodyReader;
  /**
   * The steps that it changes, each around the same step of `inner`.
   *
   * @param inner the way without this feature, and without those outside of it. @param way the whole way.
   */
  around(inner: Way, options: WayOptions, way: Way): Partial<Way>;
}

declare module "../limiter/types.ts" {
  interface HttpFeature extends Feature {}
}
