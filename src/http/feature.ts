/**
 * The way of a request through the limiter, and what a capability on that way is. The way is composed once, when the
 * limiter is put before a handler: a feature that nothing uses is on the way of no request.
 */

import type { RateLimitHeaders } from "../config/settings.ts";
import type { Decision } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import type { ReadAddress } from "../keys/read.ts";
import type { Background, Limiter, Take } from "../limiter.ts";
import type { AnswerHeaders } from "./headers.ts";
import type { Asked } from "./links.ts";
import type { Matched, Matcher } from "./match.ts";
import type { ProblemOptions } from "./problem.ts";
import type { Reason } from "./refusal.ts";

/**
 * A request on its way. Whoever has the request makes it. What a feature knows of it, the feature keeps on it: its file
 * adds the member to this interface.
 */
export interface Passage {
  /** As it is counted. Elsewhere than in front of fetch handlers it has no more than the head. */
  readonly request: Request;
  /** What goes on to the handler. */
  outgoing: Request;
  /** The same object for every middleware around one request. */
  readonly same: object;
  readonly background: Background | undefined;
  /** The argument of the program's own functions. */
  readonly c: unknown;
  /** Where the address is that the key `ip` counts. Absent: where Cloudflare's edge says it. */
  address?: (() => string | null | undefined) | undefined;
  /** The region that answers. */
  region: () => string;
  /** The policies of the request. */
  matched: readonly Matched[];
  decision?: Decision;
  decidedAtMs: number;
  /** Adds our fields to those of an answer. Call it when the answer begins, once for each head. */
  addFields: (headers: AnswerHeaders) => void;
  /** What the platform has passed beside the request. It may know the connection (client-ip.ts). */
  readonly platform?: unknown;
  /** Whether the client has left. */
  isGone(): boolean;
  /** Aborted when the client leaves. */
  leaving(): AbortSignal;
  /** The request with a body that nobody has read. */
  unread(): Request | Promise<Request>;
  /** The outgoing request with another value of a header field. undefined: without the field. */
  withHeader(outgoing: Request, name: string, value: string | undefined): Request | Promise<Request>;
  /** Lets the handler answer. Of an answer that the handler writes itself, only the status is known. */
  handle(outgoing: Request): Promise<Response>;
  /** The handler's answer with our fields, if it has not got them yet. */
  complete(answer: Response): Response;
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
  pass(passage: Passage): Promise<Response>;
  /** Sends a request on, also one that no policy counts. */
  send(passage: Passage, outgoing: Request): Promise<Response>;
}

/** What the way is made of. A feature's file adds its own options. */
export interface WayOptions extends ProblemOptions {
  readonly limiter: Limiter;
  /** From the outermost to the innermost. */
  readonly features: readonly Feature[];
  readonly rateLimitHeaders: RateLimitHeaders;
  /** Name of the region that answers this request. */
  readonly regionOf: (request: Request) => string;
  /** Reads the address that the key `ip` counts. Absent: what Cloudflare's edge says. */
  readonly addressOf?: ReadAddress;
  /** Finds the policies. Default: by the head as it is. */
  readonly matchBy?: (match: Matcher) => Matcher;
}

/** One capability on the way of a request. */
export interface Feature {
  /** False: it is left out. What operators can change while the limiter runs (live/fields.ts) must not decide here. */
  isUsed(policies: readonly Policy[], options: WayOptions): boolean;
  /**
   * The steps that it changes, each around the same step of `inner`.
   *
   * @param inner the way without this feature, and without those outside of it. @param way the whole way.
   */
  around(inner: Way, options: WayOptions, way: Way): Partial<Way>;
}
