/** Policies as they are written: what `createLimiter` and `POLICIES` take. policy-schema.ts checks it. */

/** A policy. Every policy that matches a request applies; all limits of all of them have to admit it, or none is charged. */
export interface PolicyInput {
  /** 1 to 32 of `a-z`, `0-9` and `-`, not beginning with `-`. Unique; appears in headers and in Redis keys. */
  readonly name: string;
  /** Which requests: all that is given must hold. Default: every request. Not looked at by `take`. */
  readonly match?: MatchInput | undefined;
  /**
   * Who is counted: the first that is present, else the address. `ip`, `bearer`, `header:<name>`, `cookie:<name>`,
   * `query:<name>`, `country`, `asn`, `host`, `region`, `global`, or several joined by `+`. Default `["ip"]`.
   */
  readonly key?: string | readonly string[] | undefined;
  /** Units of a request: the first rule that matches. None: 1. */
  readonly cost?: readonly CostRuleInput[] | undefined;
  /** 1 to 8 limits. */
  readonly limits: readonly LimitInput[];
  /**
   * `"strict"` (default): every admission is the store's. `"leased"`: units are taken from Redis ahead of demand, and spent
   * without a call; sliding-window, fixed-window and token-bucket only.
   */
  readonly consistency?: "strict" | "leased" | undefined;
  /** `"enforce"` (default), or `"shadow"`: evaluated and charged, but never refuses and is never in headers. */
  readonly mode?: "enforce" | "shadow" | undefined;
  /** When the store has no answer: this isolate's own counters (`"local"`, default), no limit (`"allow"`), or 503 (`"deny"`). */
  readonly onStoreFailure?: "local" | "allow" | "deny" | undefined;
  /** Whether a page of limits names it. Default true. */
  readonly documented?: boolean | "true" | "false" | undefined;
}

/** Conditions on a request; each is one value or a list, any of which may hold. */
export interface MatchInput {
  /** Any case. `GET` matches `HEAD` too. */
  readonly method?: string | readonly string[] | undefined;
  /** URLPattern pathname syntax, for example `/v1/*`; case does not matter, nor does a slash at the end. */
  readonly path?: string | readonly string[] | undefined;
  /** URLPattern hostname syntax; case does not matter. */
  readonly host?: string | readonly string[] | undefined;
}

/** What requests that match cost. */
export interface CostRuleInput extends MatchInput {
  /** Units, an integer 0 … 10^9, at most the policy's smallest limit; 0 looks without charging. */
  readonly cost: number | string;
}

/** A limit, by its `algorithm`; docs/algorithms.md says which to choose. */
export type LimitInput =
  | SlidingWindowInput
  | FixedWindowInput
  | SlidingLogInput
  | TokenBucketInput
  | LeakyBucketInput
  | ConcurrencyInput;

/** What all limits have. Numbers may be text, as variables of a Worker bring them. */
export interface LimitBase {
  /** Units per window, an integer 1 … 10^9 (`sliding-log`: 10,000); `concurrency`: requests at a time. */
  readonly limit: number | string;
  /** `"global"` (default): one count for all regions. `"region"`: each region counts by itself. */
  readonly scope?: "global" | "region" | undefined;
}

/** What limits over time have. */
export interface WindowBase extends LimitBase {
  /** 1 ms … 31 days: `"250ms"`, `"10s"`, `"1m"`, `"1h"`, `"1d"`, or milliseconds as a number. */
  readonly window: number | string;
}

/** The default: a window that slides in buckets. */
export interface SlidingWindowInput extends WindowBase {
  /** May be left out. */
  readonly algorithm?: "sliding-window" | undefined;
  /** How many buckets make the window, 1 … 60; must divide it. Default 1. */
  readonly buckets?: number | string | undefined;
  /** How the bucket before the window counts: by the part that the window covers (`"weighted"`, default), or in full. */
  readonly oldest?: "weighted" | "whole" | undefined;
}

/** Aligned windows that start anew. */
export interface FixedWindowInput extends WindowBase {
  /** Up to twice the limit across a boundary. */
  readonly algorithm: "fixed-window";
}

/** Every request with its instant: exact in any window. */
export interface SlidingLogInput extends WindowBase {
  /** Costs memory for each request: `limit` is at most 10,000. */
  readonly algorithm: "sliding-log";
}

/** A bucket that refills `limit` per `window`, continuously. */
export interface TokenBucketInput extends WindowBase {
  /** Bursts of up to `burst` are admitted. */
  readonly algorithm: "token-bucket";
  /** Capacity in units, 1 … 10^9. Default: `limit`. */
  readonly burst?: number | string | undefined;
}

/** As a token bucket, but a request that would be admitted soon is held until then. */
export interface LeakyBucketInput extends WindowBase {
  /** Spreads requests instead of refusing them. */
  readonly algorithm: "leaky-bucket";
  /** Capacity in units, 1 … 10^9. Default: `limit`. */
  readonly burst?: number | string | undefined;
  /** How long a request may be held, 0 … 60 s, written as `window` is. Default 0. */
  readonly maxDelay?: number | string | undefined;
}

/** At most `limit` requests in flight. */
export interface ConcurrencyInput extends LimitBase {
  /** Has no window. */
  readonly algorithm: "concurrency";
  /** A slot that nobody gives back or renews is free after this time, 1 s … 31 days, written as `window` is. Default 60 s. */
  readonly timeout?: number | string | undefined;
}
