/** Ways in: whatever takes a request to a limiter, then to a handler. One table of tests proves a promise for all. */

import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Decision } from "../../../src/kernel/core/decision.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { createLimiter } from "../limiter.ts";

/** What a program's own functions read of a request, whichever object their way in gives them. */
export interface Seen {
  header(name: string): string | undefined;
  /** The path and the query. */
  readonly path: string;
  json(): Promise<unknown>;
}

/** Options of a program. */
export interface WayOptions {
  readonly key?: (seen: Seen) => string | undefined;
  readonly cost?: number | ((seen: Seen) => Promise<number>);
  readonly plan?: (seen: Seen) => string | undefined | Promise<string | undefined>;
  readonly limits?: (seen: Seen) => Record<string, number> | undefined;
  readonly skip?: (seen: Seen) => boolean;
  readonly response?: (decision: Decision, seen: Seen, standard: Response) => Response | Promise<Response>;
  readonly rateLimitHeaders?: "legacy";
  readonly rateLimitHeadersOnCacheable?: boolean;
}

export interface Setup {
  readonly policies: readonly PolicyInput[];
  readonly handler: (request: Request) => Response | Promise<Response>;
  readonly options?: WayOptions | undefined;
  /** True: policies look at bodies. A way in that does not read any needs a parser in front. */
  readonly readsBodies?: boolean | undefined;
  /** Of a second limiter, between the first one and the handler. */
  readonly inner?: readonly PolicyInput[] | undefined;
  /** Default: false, the memory store. */
  readonly isRedisAway?: boolean | undefined;
  /** Is given what goes on after an answer. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
}

export type Send = (path?: string, init?: RequestInit) => Promise<Response>;

/** What a promise may need, and not every way in has. */
export type Need =
  | "options"
  | "a second limiter"
  | "the clock of a test"
  | "an answer to the gone"
  | "background"
  | "the bytes of a body";

export interface Way {
  readonly name: string;
  /** What this way in has not, and why. */
  readonly without?: Partial<Record<Need, string>>;
  readonly make: (setup: Setup) => Send | Promise<Send>;
}

/** A Redis that refuses connections: nothing listens on port 1. */
export const DEAD_REDIS = { UPSTASH_REDIS_REST_URL: "http://127.0.0.1:1", UPSTASH_REDIS_REST_TOKEN: "dead" };

export function limiterFor({ policies, isRedisAway }: Pick<Setup, "policies" | "isRedisAway">): Limiter {
  const { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token } = DEAD_REDIS;
  return createLimiter({ policies, store: isRedisAway ? redisStore({ url, token }) : memoryStore() });
}

/** The options for a way in whose functions get `C`. */
export function optionsFor<C>({ options = {} }: Setup, seenIn: (c: C) => Seen): object {
  const own = Object.entries(options).map(([name, option]) => {
    if (typeof option !== "function") return [name, option];
    if (name !== "response") return [name, (c: C) => (option as (seen: Seen) => unknown)(seenIn(c))];
    const answer = option as NonNullable<WayOptions["response"]>;
    return [name, (decision: Decision, c: C, standard: Response) => answer(decision, seenIn(c), standard)];
  });
  return Object.fromEntries(own);
}

/** What workerd passes beside a request. */
export const contextOf = ({ waitUntil = () => {} }: Setup) => ({ waitUntil, passThroughOnException() {}, props: {} });

export const requestTo = (path = "/", init?: RequestInit) => new Request(`https://ways.example${path}`, init);
