/** The slots that a request holds under concurrency limits, and how they are renewed and released. */

import { Kind } from "../core/algorithm.ts";
import type { ConcurrencyLimit } from "../core/concurrency.ts";
import type { Hold } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import { Flag, type KeyRequest } from "../core/take.ts";
import type { Answers } from "./reply-source.ts";
import { failureOf } from "../store/failure.ts";
import type { PolicyKey } from "../limiter/decide.ts";
import type { Unreleased } from "./repay/unreleased-slots.ts";

/** What a hold asks, and what becomes of a slot that cannot be given back. */
export interface HoldOptions {
  readonly answers: Answers;
  /** The number of the request. */
  readonly slot: number;
  /** Takes slots that the store gives back later; absent: they free themselves after their timeout. */
  readonly unreleased: Unreleased | undefined;
}

/**
 * Renews and releases what this request holds, and nothing else of its policies.
 *
 * @param refused policies in shadow that hold nothing.
 */
export function holdOf(
  keys: readonly PolicyKey[],
  refused: ReadonlySet<Policy>,
  { answers, slot, unreleased }: HoldOptions,
): Hold | undefined {
  const held = keys.flatMap(({ policy, request }): KeyRequest[] => {
    const limits = request.limits.filter(isConcurrency);
    return limits.length > 0 && request.cost > 0 && !refused.has(policy) ? [{ ...request, limits }] : [];
  });
  if (held.length === 0) return undefined;
  const timeouts = held.flatMap(({ limits }) => limits.map((limit) => (limit as ConcurrencyLimit).timeoutMs));
  return {
    renewEveryMs: Math.min(...timeouts) / 2,
    async renew() {
      try {
        await answers.take({ keys: held, flag: Flag.chargeAnyway, slot });
        return true;
      } catch (error) {
        // If the store has no answer now, the next renewal may have one.
        return failureOf(error).code !== "SUBREQUESTS";
      }
    },
    async release() {
      await answers.take({ keys: held, flag: Flag.giveBack, slot }).catch((error: unknown) => {
        failureOf(error);
        unreleased?.add({ keys: held, slot, freeAtMs: Date.now() + Math.max(...timeouts) });
      });
    },
  };
}

export function isConcurrency({ kind }: { readonly kind: Kind }): boolean {
  return kind === Kind.concurrency;
}

/** The number of a request that may hold slots, 53 random bits: no two requests in flight share one. 0: it holds none. */
export function slotFor(keys: readonly PolicyKey[], flag: Flag): number {
  const holds = flag === Flag.take && keys.some(({ limits }) => limits.some(isConcurrency));
  return holds ? randomSlot() : 0;
}

function randomSlot(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}
