/** `limiter.wait`: takes, sleeps as told and a little longer at random, and takes again. It remembers nothing. */

import { checkOptions } from "../check-options.ts";
import type { AdmittedDecision } from "../core/decision.ts";
import { sleep } from "../sleep.ts";
import { TAKE_TYPES } from "./takes.ts";
import type { Limiter, WaitOptions } from "./types.ts";

const WAIT_TYPES = { ...TAKE_TYPES, timeoutMs: "number", signal: "object" };

const DEFAULT_TIMEOUT_MS = 60_000;
/** How long to wait before a store that did not answer is asked again, in ms: its breaker probes once a second. */
const UNAVAILABLE_MS = 1_000;
/** The random wait is as long as the told one at most, and never longer than this, in ms. */
const LONGEST_RANDOM_MS = 1_000;

/** @param takeAgain takes after a refusal. Default: as before. */
export function waiting(take: Limiter["take"], takeAgain = take): Limiter["wait"] {
  return async (policy, all: WaitOptions = {}) => {
    checkOptions("wait", all, WAIT_TYPES);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal, ...options } = all;
    if (!(timeoutMs >= 0)) {
      throw new TypeError(`wait: timeoutMs: expected milliseconds, 0 or more; found ${timeoutMs}`);
    }
    signal?.throwIfAborted();
    const endsAtMs = Date.now() + timeoutMs;
    for (let ask = take; ; ask = takeAgain) {
      const decision = await ask(policy, options);
      if (decision.allowed) return await afterDelay(decision, signal);
      const refusedMs = decision.unavailable ? UNAVAILABLE_MS : decision.retryAfterMs;
      const leftMs = endsAtMs - Date.now();
      // No units come in time, or never.
      if (refusedMs === undefined || refusedMs > leftMs) return decision;
      await sleep(refusedMs + Math.random() * Math.min(refusedMs, LONGEST_RANDOM_MS, leftMs - refusedMs), signal);
    }
  };
}

/** A leaky bucket's delay is a part of the wait. */
async function afterDelay(
  { delayMs = 0, ...decision }: AdmittedDecision,
  signal: AbortSignal | undefined,
): Promise<AdmittedDecision> {
  try {
    if (delayMs > 0) await sleep(delayMs, signal);
  } catch (error) {
    await decision.hold?.release();
    throw error;
  }
  return decision;
}
