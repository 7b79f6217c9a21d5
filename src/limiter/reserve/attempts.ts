/**
 * Attempts: requests under policies with `count` that have no status yet. Their units are charged, and may come
 * back at any moment. This isolate knows its own attempts; those of other isolates look like any other charge.
 */

import { BoundedMap } from "../../bounded-map.ts";
import { type Decision, decide, type LimitDecision } from "../../core/decision.ts";
import { LOCAL_TIMING, type Timing } from "../../isolate/timing.ts";
import type { Answered, PolicyKey } from "../decide.ts";

/** What a request is told to wait if it is refused because of attempts: nobody knows when they end. */
const ATTEMPTS_RETRY_MS = 1_000;
/**
 * After this long an attempt counts like a request whose units stay, in ms: the runtime may have ended it without a
 * word.
 */
const FORGOTTEN_MS = 60_000;
/** How many keys of the store with attempts are known at least. Of others the waits are those of their counts. */
const MAX_KEYS = 1_000;
/** How often a request looks whether units have come back, in ms. It must not wait for a promise of another request. */
const POLL_MS = 4;

/** The units of one request under one key. */
interface Attempt {
  readonly units: number;
  readonly atMs: number;
  /** Its units are on their way back. */
  isReturning: boolean;
}

/** The attempts of a limiter. */
export interface Attempts {
  /** Notes what a request has charged under policies with `count`. */
  begin(charged: readonly PolicyKey[]): OwnAttempt;
  /**
   * Decides by `ask`. If that refuses while units of this isolate are on their way back, it asks once more when they
   * have arrived: requests one after another must not refuse each other.
   */
  decide(keys: readonly PolicyKey[], ask: () => Promise<Answered>): Promise<Answered>;
}

/** The attempt of one request. */
export interface OwnAttempt {
  /** The units of these keys are on their way back. */
  returning(keys: readonly PolicyKey[]): void;
  /** The request has ended, and what was to come back has come back. */
  end(): void;
}

/** @param waitMs how long a request waits for units that are on their way back, at most. */
export function createAttempts(waitMs: number, timing: Timing = LOCAL_TIMING): Attempts {
  const all = new BoundedMap<string, Set<Attempt>>({ maxSize: MAX_KEYS });

  /** The attempts under a key, the oldest first. */
  function under({ request: { key } }: PolicyKey): Set<Attempt> {
    const own = all.get(key) ?? new Set();
    for (const one of own) {
      if (timing.nowMs() - one.atMs < FORGOTTEN_MS) break;
      own.delete(one);
    }
    return own;
  }

  function begin(charged: readonly PolicyKey[]): OwnAttempt {
    // Own counters and the store may both have charged a key.
    const byKey = new Map(charged.map((one) => [one.request.key, one]));
    const begun = [...byKey.values()].flatMap((one) => {
      const { key, cost: units } = one.request;
      if (!one.policy.count || units === 0) return [];
      const own = under(one);
      all.set(key, own);
      const attempt: Attempt = { units, atMs: timing.nowMs(), isReturning: false };
      own.add(attempt);
      return [{ key, own, attempt }];
    });
    return {
      returning(keys) {
        for (const { key, attempt } of begun) attempt.isReturning ||= keys.some(({ request }) => request.key === key);
      },
      end() {
        for (const { key, own, attempt } of begun) {
          attempt.isReturning = false;
          own.delete(attempt);
          if (own.size === 0 && all.get(key) === own) all.delete(key);
        }
      },
    };
  }

  async function untilReturned(keys: readonly PolicyKey[]): Promise<boolean> {
    // Not those that return later: while some always do, the request would wait for its whole time.
    const returning = keys.flatMap((key) => [...under(key)].filter((one) => one.isReturning));
    const isReturning = () => returning.some((one) => one.isReturning);
    if (returning.length === 0) return false;
    // Local clocks may stand still: the polls are counted.
    for (let polls = Math.ceil(waitMs / POLL_MS); polls > 0 && isReturning(); polls--) await timing.sleep(POLL_MS);
    return true;
  }

  return {
    begin,
    async decide(keys, ask) {
      const answered = await ask();
      if (answered.decision.outcome !== "refused") return answered;
      const last = (await untilReturned(keys)) ? await ask() : answered;
      return { ...last, decision: withWaits(last.decision, keys, under) };
    },
  };
}

/** Tells a short wait for each limit that refuses only because of attempts. */
function withWaits(
  decision: Decision,
  keys: readonly PolicyKey[],
  under: (key: PolicyKey) => ReadonlySet<Attempt>,
): Decision {
  if (decision.outcome !== "refused") return decision;
  let isChanged = false;
  const limits = decision.limits.map((one): LimitDecision => {
    const key = one.policy.count && keys.find(({ limits }) => limits.includes(one.limit));
    if (!key || one.admitted || one.retryAfterMs === undefined) return one;
    let units = 0;
    for (const attempt of under(key)) units += attempt.units;
    if (one.remaining + units < key.request.cost) return one;
    isChanged = true;
    const waitMs = Math.min(one.retryAfterMs, ATTEMPTS_RETRY_MS);
    return { ...one, retryAfterMs: waitMs, growsAfterMs: waitMs };
  });
  return isChanged ? decide(decision.source, [...limits, ...decision.shadow]) : decision;
}
