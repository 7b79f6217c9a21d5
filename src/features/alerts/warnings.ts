/** Which admitted requests have taken a client over a part of a limit (`warn`), once for each window. */

import { Kind } from "../../kernel/core/algorithm.ts";
import { algorithmOf } from "../../kernel/core/algorithms.ts";
import type { Limit } from "../../kernel/core/policy.ts";
import type { OnDecision } from "../../kernel/limiter/on-decision.ts";
import type { LimitWarning, OnWarning } from "../../kernel/limiter/on-warning.ts";
import { createLines, createThrown } from "../../kernel/lines.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";

/** A warning, and the end of the window that it is about, in ms since the epoch. */
export interface Crossing {
  readonly warning: LimitWarning;
  readonly endsAtMs: number;
}

interface Listener {
  tell(crossing: Crossing, background: Background | undefined): void;
  /** A warning is left out, because too many are remembered. */
  leaveOut(background: Background | undefined): void;
}

/** Two warnings about the same are one. */
export function subjectOf(
  { policy, id, key, part }: Pick<LimitWarning, "policy" | "id" | "key" | "part">,
  endsAtMs: number,
): string {
  return [policy, id, key, part, endsAtMs].join(" ");
}

/** Finds the warnings, each once in this isolate. */
export function findWarnings({ tell, leaveOut }: Listener): OnDecision {
  const subjects = new Subjects();

  return ({ allowed, policies }, { takes, atMs = Date.now(), peek, background }) => {
    if (!allowed || peek) return;
    for (let t = 0; t < policies.length; t++) {
      const { policy, became, limits } = policies[t]!;
      const { warn } = policy;
      if (!warn || became !== "charged") continue;
      const { kind, partition: key, cost, isPreflight } = takes[t]!;
      // Preflights count apart: they take nothing from what the client has left.
      if (cost === 0 || isPreflight) continue;
      for (const { limit, remaining, resetAfterMs, used: known } of limits) {
        // Its units are refusals: nobody pays with them.
        if (limit.algorithm === "ban") continue;
        const { quota } = algorithmOf(limit).quota(limit);
        const used = known ?? quota - remaining;
        const { id } = limit;
        for (const part of warn) {
          // Not `used >= part * quota`: 0.07 * 100 is more than 7.
          if (used / quota < part) continue;
          const endsAtMs = windowEndAt(limit, atMs);
          const about = { policy: policy.name, id, key, part };
          const known = subjects.note(subjectOf(about, endsAtMs), endsAtMs, atMs);
          if (known === "full") leaveOut(background);
          if (known !== "new") continue;
          const at = new Date(atMs).toISOString();
          tell({ warning: { ...about, kind, used, limit: quota, resetAfterMs, at }, endsAtMs }, background);
        }
      }
    }
  };
}

/**
 * Names the window by its end: of a sliding window that is its newest bucket. What has no periods counts as if it began
 * anew whenever it could have refilled.
 */
function windowEndAt(limit: Limit, atMs: number): number {
  const { bucketAt, quota } = algorithmOf(limit);
  if (limit.kind !== Kind.bucket && limit.kind !== Kind.log) return bucketAt(limit, atMs);
  const { windowMs = 1 } = quota(limit);
  return Math.ceil((Math.floor(atMs / windowMs) + 1) * windowMs);
}

/** How many subjects are remembered: about 2 MB. */
export const MAX_SUBJECTS = 10_000;
/** To look for windows that have ended takes some 100 µs. */
const SWEEP_EVERY_MS = 1_000;

/** What was reported, until its window has ended. */
class Subjects {
  readonly #endsAtMs = new Map<string, number>();
  #sweptAtMs = 0;

  note(subject: string, endsAtMs: number, nowMs: number): "new" | "known" | "full" {
    if (this.#endsAtMs.has(subject)) return "known";
    const isFull = () => this.#endsAtMs.size >= MAX_SUBJECTS;
    // Also after the clock was set back.
    if (isFull() && Math.abs(nowMs - this.#sweptAtMs) >= SWEEP_EVERY_MS) {
      this.#sweptAtMs = nowMs;
      for (const [known, endMs] of this.#endsAtMs) if (endMs <= nowMs) this.#endsAtMs.delete(known);
    }
    if (isFull()) return "full";
    this.#endsAtMs.set(subject, endsAtMs);
    return "new";
  }
}

/** Calls a program's own function. If that throws, or its promise rejects, the console reports it. */
export function warnBy(onWarning: OnWarning): OnDecision {
  const writeThrown = createThrown("onWarning threw");
  const writeLeftOut = createLines(undefined, 1);
  return findWarnings({
    tell({ warning }, background) {
      const work = (async () => void (await onWarning(warning)))();
      void keepAlive(work.catch(writeThrown), background);
    },
    leaveOut: () => writeLeftOut(() => ({ event: "warnings-left-out", at: new Date().toISOString() })),
  });
}

/** Nobody would hear of these policies' clients. */
export function unheardWarnings(policies: readonly { readonly name: string; readonly warn?: unknown }[]): string[] {
  return policies
    .filter(({ warn }) => warn)
    .map(({ name }) => `policy ${name} has warn, but ALERT_URL is not set: nobody is warned`);
}
