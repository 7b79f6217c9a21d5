/** The slots that a request holds under concurrency limits, and how they are renewed and released. */

import { Kind } from "../core/algorithm.ts";
import type { ConcurrencyLimit } from "../core/concurrency.ts";
import type { Decision, Hold } from "../core/decision.ts";
import { Flag, type KeyRequest } from "../core/take.ts";
import type { Answers } from "../region/answers.ts";
import { StoreError } from "../store/store.ts";
import type { PolicyKey } from "./ask.ts";

/** Renews and releases what this request holds, and nothing else of its policies. */
export function holdOf(
  answers: Answers,
  keys: readonly PolicyKey[],
  { shadow }: Decision,
  slot: number,
): Hold | undefined {
  const refused = new Set(shadow.filter(({ admitted }) => !admitted).map(({ policy }) => policy));
  const held = keys.flatMap(({ policy, request }): KeyRequest[] => {
    const limits = request.limits.filter(isConcurrency);
    return limits.length > 0 && request.cost > 0 && !refused.has(policy) ? [{ ...request, limits }] : [];
  });
  if (held.length === 0) return undefined;
  const timeouts = held.flatMap(({ limits }) => limits.map((limit) => (limit as ConcurrencyLimit).timeoutMs));
  const change = async (flag: Flag) => {
    try {
      await answers.take({ keys: held, flag, slot });
      return true;
    } catch (error) {
      // The slot then frees itself after its timeout: late, but surely.
      if (!(error instanceof StoreError)) throw error;
      return error.code !== "SUBREQUESTS";
    }
  };
  return {
    renewEveryMs: Math.min(...timeouts) / 2,
    renew: () => change(Flag.chargeAnyway),
    release: async () => void (await change(Flag.giveBack)),
  };
}

export function isConcurrency({ kind }: { readonly kind: Kind }): boolean {
  return kind === Kind.concurrency;
}

/** 53 random bits: no two requests in flight share one. */
export function randomSlot(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high! >>> 11) * 2 ** 32 + low!;
}
