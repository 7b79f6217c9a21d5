/** `/.headgate/health`: is this gateway limiting as configured? */

import type { Background } from "./isolate/reply-source.ts";
import { failureOf } from "./store/failure.ts";
import type { Store } from "./store/store.ts";

/** What a health answer says of the store; `latencyMs` is the round trip of a PING, rounded. */
export interface StoreHealth {
  readonly reachable: boolean;
  readonly latencyMs?: number;
  /** Why it was not reached (`StoreErrorCode`). */
  readonly error?: string;
  /** `open`: this isolate does not ask the store, and lets one request through about every second to see. */
  readonly breaker?: "closed" | "open";
}

const REUSE_MS = 5_000;
/** How often a request looks whether the answer to another's PING is there. */
const LOOK_EVERY_MS = 20;
/** An answer that comes at all comes this much later than the budget at most. */
const LAPSE_MS = 100;

/**
 * What probes the store, at most every 5 s and once at a time: health must not become a way to load Redis. A request that comes
 * while another's PING is on its way shows that one's result.
 *
 * They share numbers and no promise: in workerd a promise of one request may not be awaited by another.
 *
 * @param budgetMs the longest that a PING takes.
 */
export function createProbe(store: Store, budgetMs: number): (background: Background) => Promise<StoreHealth> {
  let known: { readonly atMs: number; readonly health: StoreHealth } | undefined;
  let askedAtMs: number | undefined;

  return async (background) => {
    const health = await reachability(background);
    return store.breaker ? { ...health, breaker: store.breaker() } : health;
  };

  async function reachability(background: Background): Promise<StoreHealth> {
    for (;;) {
      if (known && isWithin(REUSE_MS, known.atMs)) return known.health;
      if (askedAtMs === undefined || !isWithin(budgetMs + LAPSE_MS, askedAtMs)) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    const asked = ask();
    // Others wait for it: it must end although its own client goes away.
    background.waitUntil(asked.catch(() => {}));
    return await asked;
  }

  async function ask(): Promise<StoreHealth> {
    const startMs = Date.now();
    askedAtMs = startMs;
    try {
      const health = await probe(store, startMs);
      known = { atMs: Date.now(), health };
      return health;
    } finally {
      if (askedAtMs === startMs) askedAtMs = undefined;
    }
  }
}

/** A clock that was set back makes an instant of the future, which is as good as forgotten. */
function isWithin(durationMs: number, atMs: number): boolean {
  const agoMs = Date.now() - atMs;
  return agoMs >= 0 && agoMs < durationMs;
}

async function probe(store: Store, startMs: number): Promise<StoreHealth> {
  try {
    await store.ping();
    return { reachable: true, latencyMs: Date.now() - startMs };
  } catch (error) {
    return { reachable: false, error: failureOf(error).code };
  }
}
