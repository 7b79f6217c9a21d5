/** What `onDecision` is told about each decision, and the listener of a program that has none. */

import type { Decision } from "../core/decision.ts";
import { Flag } from "../core/take.ts";
import { createLines, createThrown } from "../lines.ts";
import type { Background, Call, Inquiry } from "../place/taker.ts";
import type { StoreErrorCode } from "../store/store.ts";
import type { Answered, AppliedPolicy } from "./decide.ts";

/** Called after every decision, for logs and metrics. It gets the hash of a client key, never the key. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** What a decision was about. */
export interface DecisionContext {
  /** The policies of `decision.policies`, in the same order, and the clients to which they were applied. */
  readonly takes: readonly AppliedPolicy[];
  /** The region under which limits with `scope: "region"` counted. */
  readonly region: string;
  /**
   * When it was decided, in ms since the epoch by the clock of the store. Without a call to the store: an instant at
   * which the store would have decided the same. Over several stores: by the clock of the first of them. Absent: no
   * counts were read.
   */
  readonly atMs?: number;
  /** Why the store had no answer. Absent if it had one. */
  readonly failure?: StoreErrorCode;
  /** True: the caller only peeked. Absent: it was a take. */
  readonly peek?: true;
  /** Where work may go on after the answer, for example sending metrics. Absent: the caller named no background. */
  readonly background?: Background;
}

/** Tells what was decided about these clients. */
type Tell = (
  answered: Answered,
  takes: readonly AppliedPolicy[],
  question: Pick<Inquiry, "flag"> & Pick<Call, "background"> & { readonly region: () => string },
) => void;

/** @param onDecision undefined: the console says why a decision was made without the store. */
export function tellerOf(onDecision: OnDecision | readonly OnDecision[] | undefined): Tell {
  if (onDecision) return telling(tellAll([onDecision].flat()));
  const tell = telling(tellAll([reportFailures()]));
  return (answered, takes, question) => {
    if (answered.failure) tell(answered, takes, question);
  };
}

function telling(onDecision: OnDecision): Tell {
  return ({ decision, atMs, failure }, takes, { flag, background, region }) => {
    const context: { -readonly [K in keyof DecisionContext]: DecisionContext[K] } = {
      takes,
      get region() {
        return region();
      },
    };
    if (atMs) context.atMs = atMs;
    if (failure) context.failure = failure;
    if (flag === Flag.look) context.peek = true;
    if (background) context.background = background;
    onDecision(decision, context);
  };
}

/** Calls one listener after another. One that throws stops neither the others nor the decision. */
export function tellAll(listeners: readonly OnDecision[]): OnDecision {
  const writeThrown = createThrown("onDecision threw");
  return (decision, context) => {
    for (const listener of listeners) {
      try {
        listener(decision, context);
      } catch (error) {
        writeThrown(error);
      }
    }
  };
}

/**
 * The default listener: the console says why a decision was made without the store, once a second. The line says how
 * many were left out.
 */
export function reportFailures(): OnDecision {
  const writeLine = createLines(undefined, 1);
  return ({ allowed, source }, { takes, failure }) => {
    if (failure === undefined) return;
    const policies = takes.map(({ policy }) => policy.name);
    writeLine(() => ({ event: "store-failure", at: new Date().toISOString(), failure, policies, allowed, source }));
  };
}
