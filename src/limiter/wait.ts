/**
 * `limiter.wait`: takes again until the units are there. The waits of one isolate for the same client form a line. It
 * is plain data and wakes nobody, because in a Worker one request must not wake another: it only says when to ask.
 */

import { BoundedMap } from "../bounded-map.ts";
import { checkOptions } from "../check-options.ts";
import { algorithmOf } from "../core/algorithms.ts";
import type { AdmittedDecision, Decision } from "../core/decision.ts";
import { sleep } from "../sleep.ts";
import { TAKE_TYPES } from "./takes.ts";
import type { Limiter, WaitOptions } from "./types.ts";

/** Clock, timers and randomness. Tests replace them. */
export interface WaitTiming {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** 0 ≤ x < 1. */
  random(): number;
  /** Rejects with the signal's reason when the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

const LOCAL_TIMING: WaitTiming = { nowMs: () => Date.now(), random: () => Math.random(), sleep };

const WAIT_TYPES = { ...TAKE_TYPES, timeoutMs: "number", signal: "object" };

const DEFAULT_TIMEOUT_MS = 60_000;
/** How long to wait before a store that did not answer is asked again, in ms: its breaker probes once a second. */
const UNAVAILABLE_MS = 1_000;
/** The longest time that counts as that of one unit, in ms: nobody should wait for minutes beyond the told instant. */
const LONGEST_UNIT_MS = 1_000;

/**
 * How far the asks of one isolate lie apart, in times of one unit. Other isolates wait too, and nobody knows how many.
 * A line asks less often after a refusal at the told instant, and more often after an admission. It settles where about
 * 16 asks are refused for one that is admitted: ln(1.6) / ln(1.03). With fewer asks more units stay unused. Rejected:
 * larger steps, because the isolate that was admitted last then asks most often, and others wait for very long.
 */
const SPREAD = { first: 1, least: 1 / 16, most: 1_000, grows: 1.03, shrinks: 1 / 1.6 } as const;

/** So many waits of a line may ask for the first time at once. The next ones look again until these have answers. */
const MOST_NEW = 16;
const LOOK_MS = 10;
/** After this many looks a wait asks anyway: together they take as long as a call to the store may take. */
const MOST_LOOKS = 25;
/** A wait looks for its place in the line again so often, in ms: those ahead may have gone. */
const LONGEST_SLEEP_MS = 1_000;
/** A wait that is this late, in ms, never comes: the runtime has ended its request. */
const NEVER_MS = 10_000;

/** What an empty line knows of other isolates is forgotten after this time, in ms. */
const FORGOTTEN_MS = 10_000;
/** Lines of an isolate. */
const MAX_LINES = 1_000;

interface Waiter {
  readonly units: number;
  /** True until the first answer. */
  isNew: boolean;
  /** When its sleep ends, by the local clock, in ms since the epoch. */
  wakesAtMs: number;
}

/** The waits of one isolate for the same client. */
interface Line {
  /** In the order in which the waits began. */
  readonly waiters: Set<Waiter>;
  /** As `SPREAD`. */
  spread: number;
  /** When a wait has asked last, by the local clock, in ms since the epoch. */
  askedAtMs: number;
}

export function waiting(take: Limiter["take"], timing = LOCAL_TIMING): Limiter["wait"] {
  const lines = new BoundedMap<string, Line>({ maxSize: MAX_LINES });

  function lineOf(key: string): Line {
    let line = lines.get(key);
    // The other isolates that have once waited may be gone.
    if (!line || (line.waiters.size === 0 && timing.nowMs() > line.askedAtMs + FORGOTTEN_MS)) {
      line = { waiters: new Set(), spread: SPREAD.first, askedAtMs: timing.nowMs() };
      lines.set(key, line);
    }
    return line;
  }

  return async (policy, all: WaitOptions = {}) => {
    checkOptions("wait", all, WAIT_TYPES);
    const { timeoutMs = DEFAULT_TIMEOUT_MS, signal, ...options } = all;
    const { key, kind, region, cost = 1 } = options;
    if (!(timeoutMs >= 0)) {
      throw new TypeError(`wait: timeoutMs: expected milliseconds, 0 or more; found ${timeoutMs}`);
    }
    signal?.throwIfAborted();
    const cameAtMs = timing.nowMs();
    const leftMs = () => cameAtMs + timeoutMs - timing.nowMs();
    const line = lineOf(JSON.stringify([policy, key, kind, region]));
    const self: Waiter = { units: cost, isNew: true, wakesAtMs: cameAtMs };
    line.waiters.add(self);

    /** Sleeps until it is time to ask again. False: no units come in time. */
    async function sleepAfter(decision: Denied): Promise<boolean> {
      const toldMs = decision.unavailable ? UNAVAILABLE_MS : decision.retryAfterMs;
      if (toldMs === undefined) return false;
      const toldAtMs = timing.nowMs() + toldMs;
      const chance = timing.random();
      for (let laterMs = Number.POSITIVE_INFINITY; laterMs > LONGEST_SLEEP_MS; ) {
        const nowMs = timing.nowMs();
        const fromMs = Math.max(0, toldAtMs - nowMs);
        if (fromMs > leftMs()) return false;
        laterMs = laterByMs(decision, { ...ahead(line, self, nowMs), spread: line.spread, cost, chance });
        // A long line spreads its last asks over the time that is left.
        if (fromMs + laterMs > leftMs()) laterMs = chance * (leftMs() - fromMs);
        const sleepMs = fromMs + Math.min(laterMs, LONGEST_SLEEP_MS);
        self.wakesAtMs = nowMs + sleepMs;
        await timing.sleep(sleepMs, signal);
      }
      return true;
    }

    try {
      for (let looks = 0; looks < MOST_LOOKS && leftMs() > 0; looks++) {
        if (ahead(line, self, cameAtMs).fresh < MOST_NEW) break;
        await timing.sleep(LOOK_MS, signal);
      }
      for (;;) {
        const decision = await take(policy, options);
        line.askedAtMs = timing.nowMs();
        if (!self.isNew) learn(line, decision);
        self.isNew = false;
        if (decision.allowed) {
          line.waiters.delete(self);
          return await afterDelay(decision, timing, signal);
        }
        if (!(await sleepAfter(decision))) return decision;
      }
    } finally {
      line.waiters.delete(self);
    }
  };
}

type Denied = Exclude<Decision, AdmittedDecision>;

/** Who stands ahead in a line: how many, their units, and how many of them have no answer yet. */
interface Ahead {
  readonly waiters: number;
  readonly units: number;
  readonly fresh: number;
}

function ahead({ waiters }: Line, self: Waiter, nowMs: number): Ahead {
  let [count, units, fresh] = [0, 0, 0];
  for (const one of waiters) {
    if (one === self) break;
    if (nowMs > one.wakesAtMs + NEVER_MS) {
      waiters.delete(one);
      continue;
    }
    count++;
    units += one.units;
    if (one.isNew) fresh++;
  }
  return { waiters: count, units, fresh };
}

/** An ask at the told instant was answered. A refusal from memory is no call, and says nothing about other isolates. */
function learn(line: Line, { allowed, outcome, source }: Decision): void {
  if (outcome === "unavailable" || source === "cache") return;
  const { least, most, grows, shrinks } = SPREAD;
  line.spread = Math.min(most, Math.max(least, line.spread * (allowed ? shrinks : grows)));
}

interface Place extends Ahead {
  /** As `SPREAD`. */
  readonly spread: number;
  readonly cost: number;
  /** A random number, 0 ≤ x < 1. */
  readonly chance: number;
}

/**
 * How long after the told instant a wait asks, in ms: when the units of those ahead have come back too under the limit
 * that refuses for longest, a little apart from them, and at random.
 */
function laterByMs(
  { outcome, limits, retryAfterMs = 0 }: Denied,
  { waiters, units, spread, cost, chance }: Place,
): number {
  // The breaker of the store sees that few calls are made.
  if (outcome === "unavailable") return chance * UNAVAILABLE_MS;
  const refusing = limits.find((one) => !one.admitted && one.retryAfterMs === retryAfterMs);
  const known = refusing && algorithmOf(refusing.limit).quota(refusing.limit);
  const { quota = 1, windowMs = LONGEST_UNIT_MS } = known ?? {};
  const untilFullMs = Math.max(0, (refusing?.resetAfterMs ?? 0) - retryAfterMs);
  const aheadMs = Math.floor(units / quota) * windowMs + ((units % quota) / quota) * untilFullMs;
  const unitMs = Math.min(LONGEST_UNIT_MS, (windowMs / quota) * Math.max(1, cost));
  return aheadMs + (waiters + chance) * spread * unitMs;
}

/** A leaky bucket's delay is a part of the wait. */
async function afterDelay(
  { delayMs = 0, ...decision }: AdmittedDecision,
  timing: WaitTiming,
  signal: AbortSignal | undefined,
): Promise<AdmittedDecision> {
  try {
    if (delayMs > 0) await timing.sleep(delayMs, signal);
  } catch (error) {
    await decision.hold?.release();
    throw error;
  }
  return decision;
}
