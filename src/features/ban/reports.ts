/** The refusals that no store knows yet: they are reported together, at most once a second. */

import type { DecidedLimit } from "../../kernel/core/policy.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { setIdleTimeout } from "../../kernel/sleep.ts";

/** Between two reports, in ms. */
const EVERY_MS = 1_000;
/** A timer that is late by this much will never fire: the runtime has ended its request. In ms. */
const LOST_MS = 2_000;
/** Of how many keys refusals are kept at once. Of others they are not reported. */
const MOST_KEYS = 10_000;

export interface Report {
  /** Of the ban. */
  readonly key: string;
  readonly limit: DecidedLimit;
  readonly refusals: number;
}

/** @param send never rejects, whatever becomes of the reports. */
export function createReports(
  send: (reports: readonly Report[], background: Background | undefined) => Promise<unknown>,
) {
  let unsent = new Map<string, Report>();
  /** When the timer was set. Negative infinity: none is. */
  let setAtMs = Number.NEGATIVE_INFINITY;

  async function sendLater(background: Background | undefined): Promise<void> {
    await new Promise<void>((resolve) => setIdleTimeout(resolve, EVERY_MS));
    setAtMs = Number.NEGATIVE_INFINITY;
    await sendNow(background);
  }

  async function sendNow(background?: Background): Promise<void> {
    const reports = [...unsent.values()];
    unsent = new Map();
    if (reports.length > 0) await send(reports, background);
  }

  return {
    /** @param background keeps the report alive after the answer. */
    note(key: string, limit: DecidedLimit, background: Background | undefined): void {
      const refusals = (unsent.get(key)?.refusals ?? 0) + 1;
      if (unsent.size < MOST_KEYS || refusals > 1) unsent.set(key, { key, limit, refusals });
      const nowMs = Date.now();
      if (Math.abs(nowMs - setAtMs) < EVERY_MS + LOST_MS) return;
      setAtMs = nowMs;
      keepAlive(sendLater(background), background);
    },
    sendNow,
    forget(keys: readonly string[]): void {
      for (const key of keys) unsent.delete(key);
    },
  };
}
