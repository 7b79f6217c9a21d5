/** The default `onDecision`: the console says that the store fails. */

import type { OnDecision } from "./on-decision.ts";

/** An outage must not become a flood of log lines. */
const REPORT_EVERY_MS = 1_000;

/** Writes why a decision was made without the store, about once a second; the line says how many were left out. */
export function reportFailures(write: (line: string) => void = (line) => console.warn(line)): OnDecision {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let suppressed = 0;

  return ({ allowed, source }, { takes, failure }) => {
    if (failure === undefined) return;
    const nowMs = Date.now();
    // A clock that has stepped back must not silence the console.
    if (Math.abs(nowMs - lastAtMs) < REPORT_EVERY_MS) {
      suppressed++;
      return;
    }
    const policies = takes.map(({ policy }) => policy.name);
    const line = { event: "store-failure", at: new Date(nowMs).toISOString(), failure, policies, allowed, source };
    write(JSON.stringify(suppressed > 0 ? { ...line, suppressed } : line));
    [lastAtMs, suppressed] = [nowMs, 0];
  };
}
