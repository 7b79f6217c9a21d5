/** What a program that listens is told of each decision. */

import type { Decision } from "../core/decision.ts";
import type { StoreErrorCode } from "../store/store.ts";
import type { AppliedPolicy } from "./decide.ts";

/** What is told of every decision, for logs and metrics. It holds no client key, only its hash. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** What a decision was about. */
export interface DecisionContext {
  /** The policies, and to whom they were applied. */
  readonly takes: readonly AppliedPolicy[];
  /** Where it was counted, as far as limits with `scope: "region"` are concerned. */
  readonly region: string;
  /** Why the store had no answer, if it had none. */
  readonly failure?: StoreErrorCode;
}
