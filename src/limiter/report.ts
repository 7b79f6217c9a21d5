/** What a program that does not listen is told on the console: that the store fails, and that it is asked again. */

import type { OnDecision } from "../limiter.ts";

/** An outage must not become a flood of log lines. */
const REPORT_EVERY_MS = 1_000;

/** Writes why a decision was made without the store, about once a second; the line says how many were left out. */
export function reportFailures(write: (line: string) => void = toConsole): OnDecision {
  let lastAtMs = Number.NEGATIVE_INFINITY;
  let suppressed = 0;

  return ({ allowed, source }, { takes, failure }) => {
    if (failure === undefined) return;
    const nowMs = Date.now();
    // A clock that stepped back must not silence it.
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

/** Writes that this isolate stopped asking its store, or asks it again: every such change. */
export function reportBreaker(write: (line: string) => void = toConsole): (change: object) => void {
  return (change) => write(JSON.stringify({ event: "breaker", at: new Date().toISOString(), ...change }));
}

function toConsole(line: string): void {
  console.warn(line);
}
