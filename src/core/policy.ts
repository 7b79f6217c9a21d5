/** What is limited: policies and their limits, after validation (src/config reads them from configuration). */

import type { LimitSpec } from "./algorithms.ts";

/** A policy as the rest of the program sees it: complete, checked, in integers. */
export interface Policy {
  /** `[a-z0-9][a-z0-9-]{0,31}`, unique. */
  readonly name: string;
  /** Which requests. */
  readonly match: Match;
  /** Who is counted: key kinds, the first present wins; `a+b` combines. For example `["bearer", "ip"]`. */
  readonly key: readonly string[];
  /** The first rule that matches the request gives its cost; none: 1. */
  readonly cost: readonly CostRule[];
  /** 1 … 8. */
  readonly limits: readonly Limit[];
  /** Whether units may be taken from the store ahead of demand. */
  readonly consistency: "strict" | "leased";
  /** `shadow`: never refuses. */
  readonly mode: "enforce" | "shadow";
  /** When the store has no answer. */
  readonly onStoreFailure: "local" | "allow" | "deny";
  /** Whether the limits page names it. */
  readonly documented: boolean;
}

/** Which requests: all conditions that are given must hold, each by any of its values. */
export interface Match {
  /** Upper case. */
  readonly method?: readonly string[];
  /** URLPattern pathname syntax. */
  readonly path?: readonly string[];
  /** URLPattern hostname syntax. */
  readonly host?: readonly string[];
}

/** What requests that match cost. */
export interface CostRule extends Match {
  /** Units, 0 … 10^9; 0 looks without charging. */
  readonly cost: number;
}

/** What the script has to know of a limit, and what people do. */
export type Limit = LimitSpec & {
  /** The policy's name if it has one limit, `<policy>-<n>` if it has several. Unique over all policies. */
  readonly id: string;
  readonly algorithm: AlgorithmName;
  /** `region`: counted on its own in each region. */
  readonly scope: "global" | "region";
};

/** The algorithms: docs/algorithms.md says which to choose. */
export type AlgorithmName =
  | "sliding-window"
  | "fixed-window"
  | "sliding-log"
  | "token-bucket"
  | "leaky-bucket"
  | "concurrency";
