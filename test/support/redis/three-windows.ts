// Three limits on one key: 10 per second, 120 per minute, and 240 per hour in buckets of a minute. An hour of random
// traffic, and the right answers.

import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { ExactWindow } from "../cases/exact-window.ts";

const HOUR_MS = 3_600_000;

const second: WindowLimit = { limit: 10, kind: Kind.weighted, bucketMs: 1_000, buckets: 1 };
const minute: WindowLimit = { limit: 120, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };
const hour: WindowLimit = { limit: 240, kind: Kind.weighted, bucketMs: 60_000, buckets: 60 };

/** Every order of the three limits. */
export const orders: readonly (readonly WindowLimit[])[] = [
  [second, minute, hour],
  [second, hour, minute],
  [minute, second, hour],
  [minute, hour, second],
  [hour, second, minute],
  [hour, minute, second],
];

export interface Request {
  readonly atMs: number;
  readonly cost: number;
}

/** Quiet minutes, busy minutes, and bursts that reach each of the three limits. @param random like `Math.random`. */
export function hourOfTraffic(random: () => number, startMs: number): Request[] {
  const requests: Request[] = [];
  let atMs = startMs;
  while (atMs < startMs + HOUR_MS) {
    const mood = random();
    const meanGapMs = mood < 0.3 ? 20_000 : mood < 0.7 ? 3_000 : mood < 0.9 ? 300 : 20;
    const untilMs = atMs + random() * 120_000;
    for (let n = 0; n < 40 && atMs < untilMs; n++) {
      requests.push({ atMs: Math.floor(atMs), cost: random() < 0.9 ? 1 : 2 + Math.floor(random() * 4) });
      atMs += random() * 2 * meanGapMs;
    }
  }
  return requests.filter(({ atMs }) => atMs < startMs + HOUR_MS);
}

/** Whether each request is admitted. It is admitted exactly if all three limits admit it by their definition. */
export function rightAnswers(requests: readonly Request[]): boolean[] {
  const windows = [second, minute, hour].map((limit) => new ExactWindow(limit));
  return requests.map(({ atMs, cost }) => {
    const allowed = windows.every((window) => window.admits(cost, atMs));
    if (allowed) for (const window of windows) window.charge(cost, atMs);
    return allowed;
  });
}

/** What each limit promises: at most `units` in any closed span of `spanMs`. */
export const promises: readonly (readonly [spanMs: number, units: number])[] = [
  [999, 2 * 10 - 1],
  [59_999, 2 * 120 - 1],
  [59 * 60_000, 240],
];
