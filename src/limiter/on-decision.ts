/** What `onDecision` is told about each decision. */

import type { Decision } from "../core/decision.ts";
import type { StoreErrorCode } from "../store/store.ts";
import type { AppliedPolicy } from "./decide.ts";

/** Called after every decision, for logs and metrics. It gets the hash of a client key, never the key. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** What a decision was about. */
export interface DecisionContext {
  /** The policies, and the clients to which they were applied. */
  readonly takes: readonly AppliedPolicy[];
  /** The region under which limits with `scope: "region"` counted. */
  readonly region: string;
  /** Why the store had no answer. Absent if it had one. */
  readonly failure?: StoreErrorCode;
}
