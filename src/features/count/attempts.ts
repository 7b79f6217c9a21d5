/**
 * Attempts: requests under policies with `count` that have no status yet. Their units are charged, and may come
 * back at any moment. This isolate knows its own attempts; those of other isolates look like any other charge.
 */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import { decide, type LimitDecision } from "../../kernel/core/decision.ts";
import type { Answered, PolicyKey } from "../../kernel/limiter/decide.ts";
import type { PartOf } from "../../kernel/limiter/part.ts";

/**
 * How long a reply may refuse other requests under a policy with `count`, in ms: attempts in flight anywhere may give
 * their units back at any moment.
 */
const TRUSTED_MS = 1_000;
/** What a request is told to wait if it is refused because of attempts: nobody knows when they end. */
const ATTEMPTS_RETRY_MS = 1_000;
/**
 * After this long an attempt counts like a request whose units stay, in ms: the runtime may have ended it without a
 * word.
 */
const FORGOTTEN_MS = 60_000;
/** How many keys of the store with attempts are known at least. Of others the waits are those of their counts. */
const MAX_KEYS = 1_000;

/** Policies with `count`: what they refuse may come back at any moment. */
export const count: PartOf = {
  name: "count",
  isUsed: ({ count }) => count !== undefined,
  make() {
    const attempts = new Attempts();
    return {
      ask(request, { policy }) {
        if (policy.count) request.trustedMs = TRUSTED_MS;
      },
      hear: (answered) => attempts.withWaits(answered),
      reserves: ({ policy, cost }) => (policy.count ? cost : undefined),
      begin: (charged) => attempts.begin(charged),
    };
  },
};

/** The units of one request under one key. */
interface Attempt {
  readonly units: number;
  readonly atMs: number;
}

/** The attempts of a limiter. */
class Attempts {
  readonly #all = new BoundedMap<string, Set<Attempt>>({ maxSize: MAX_KEYS });

  /**
   * Notes what a request has charged under policies with `count`.
   *
   * @returns call it when the request has ended, and what was to come back has come back.
   */
  begin(charged: readonly PolicyKey[]): () => void {
    const counted = charged.filter(({ policy }) => policy.count);
    const begun = counted.map(({ request: { key, cost } }) => {
      const own = this.#under(key);
      const attempt = { units: cost, atMs: Date.now() };
      this.#all.set(key, own.add(attempt));
      return { key, own, attempt };
    });
    return () => {
      for (const { key, own, attempt } of begun) {
        own.delete(attempt);
        if (own.size === 0 && this.#all.get(key) === own) this.#all.delete(key);
      }
    };
  }

  /** The answer with a short wait for each limit that refuses only because of attempts. */
  withWaits(answered: Answered): Answered {
    const { decision, lines: keys = [] } = answered;
    if (decision.outcome !== "refused") return answered;
    const brief = new Set<LimitDecision>();
    const withWait = (one: LimitDecision, take: number): LimitDecision => {
      const { policy, limit, admitted, remaining, retryAfterMs } = one;
      if (!policy.count || policy.mode === "shadow" || admitted || retryAfterMs === undefined) return one;
      const { key, cost } = keys.find((key) => key.take === take && key.limits.includes(limit))!.request;
      let left = remaining;
      for (const { units } of this.#under(key)) left += units;
      if (left < cost) return one;
      const waitMs = Math.min(retryAfterMs, ATTEMPTS_RETRY_MS);
      const { growsAtMs: _, ...known } = one;
      const shorter = { ...known, retryAfterMs: waitMs, growsAfterMs: waitMs };
      brief.add(shorter);
      return shorter;
    };
    const policies = decision.policies.map((one, take) => {
      return one.became === "banned" ? one : { ...one, limits: one.limits.map((limit) => withWait(limit, take)) };
    });
    return brief.size === 0 ? answered : { ...answered, decision: decide(decision.source, policies), brief };
  }

  /** The attempts under a key, the oldest first. */
  #under(key: string): Set<Attempt> {
    const own = this.#all.get(key) ?? new Set();
    for (const one of own) {
      if (Date.now() - one.atMs < FORGOTTEN_MS) break;
      own.delete(one);
    }
    return own;
  }
}
