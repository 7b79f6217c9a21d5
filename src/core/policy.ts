/** Policies and their limits after validation. src/config reads them from the configuration. */

import type { LimitSpec } from "./algorithms.ts";

/** A policy as the rest of the program sees it: complete, checked, in integers. */
export interface Policy {
  /** `[a-z0-9][a-z0-9-]{0,31}`, unique. */
  readonly name: string;
  /** The requests that the policy is for. */
  readonly match: Match;
  /** Who is counted: the first kind of key that the request has; `a+b` combines kinds. Example: `["bearer", "ip"]`. */
  readonly key: readonly string[];
  /** The cost is that of the first rule that matches the request. Without a matching rule it is 1. */
  readonly cost: readonly CostRule[];
  /** 1 to 8 limits. */
  readonly limits: readonly Limit[];
  /** The key source by which a request names its client's plan. Absent: only a program names plans. */
  readonly plan?: string;
  /** Plans by name: the numbers of limits for clients on this plan. */
  readonly plans?: Readonly<Record<string, Numbers>>;
  /** Whether units may be taken from the store ahead of demand. */
  readonly consistency: "strict" | "leased";
  /** `shadow`: never refuses. */
  readonly mode: "enforce" | "shadow";
  /** What decides when the store has no answer. */
  readonly onStoreFailure: "local" | "allow" | "deny";
  /** Whether the limits page shows it. */
  readonly documented: boolean;
}

/** The requests that a policy or a rule is for. Every given condition must hold, by any of its values. */
export interface Match {
  /** Upper case. */
  readonly method?: readonly string[];
  /** URLPattern pathname syntax. */
  readonly path?: readonly string[];
  /** URLPattern hostname syntax. */
  readonly host?: readonly string[];
}

/** The cost of the requests that match. */
export interface CostRule extends Match {
  /** Units, 0 … 10^9; 0 looks without charging. */
  readonly cost: number;
}

/** A limit as the script and people see it. */
export type Limit = LimitSpec & {
  /** The policy's name if it has one limit, `<policy>-<n>` if it has several. Unique over all policies. */
  readonly id: string;
  readonly algorithm: AlgorithmName;
  /** `region`: each region counts by itself. */
  readonly scope: "global" | "region";
  /** Another number to ask of the same counts: what it would have refused is told, and nothing else happens. */
  readonly shadowLimit?: number;
};

/** Numbers by the ids of limits, for example `{ "api-1": 200 }`. A limit that is not named keeps its number. */
export type Numbers = Readonly<Record<string, number | undefined>>;

/** The algorithms: docs/algorithms.md says which to choose. */
export type AlgorithmName =
  | "sliding-window"
  | "fixed-window"
  | "sliding-log"
  | "token-bucket"
  | "leaky-bucket"
  | "concurrency";
