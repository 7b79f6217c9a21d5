/** The default `onDecision`: the console says that the store fails. */

import { createLines } from "../lines.ts";
import type { OnDecision } from "./on-decision.ts";

/** Writes why a decision was made without the store, once a second; the line says how many were left out. */
export function reportFailures(write?: (line: string) => void): OnDecision {
  const writeLine = createLines(write, 1);

  return ({ allowed, source }, { takes, failure }) => {
    if (failure === undefined) return;
    const policies = takes.map(({ policy }) => policy.name);
    writeLine(() => ({ event: "store-failure", at: new Date().toISOString(), failure, policies, allowed, source }));
  };
}
