/** `/.headgate/health`: whether this gateway limits as configured. */

import type { Background } from "./isolate/reply-source.ts";
import { failureOf } from "./store/failure.ts";
import type { Store } from "./store/store.ts";

/** What a health answer says about the store. */
export interface StoreHealth {
  readonly reachable: boolean;
  /** The round trip of one PING, in whole milliseconds. */
  readonly latencyMs?: number;
  /** Why the store was not reached (`StoreErrorCode`). */
  readonly error?: string;
  /** `open`: this isolate does not call the store; about once a second one request tries whether it works again. */
  readonly breaker?: "closed" | "open";
}

/** How long a result is reused, ms. */
const REUSE_MS = 5_000;
/** How often a request looks for the result of another request's PING, ms. */
const LOOK_EVERY_MS = 20;
/** A PING ends at most this much later than its budget, ms. */
const LAPSE_MS = 100;

/**
 * Makes a function that probes the store at most every 5 s, one PING at a time: health must not become a way to load
 * Redis. A request that arrives during another request's PING waits for that PING's result.
 *
 * Requests share numbers and no promise: in workerd one request may not await a promise of another.
 *
 * @param budgetMs the longest time that a PING takes, in milliseconds.
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
    // Other requests wait for this PING: it must end even if its own client goes away.
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

/** False for an instant in the future too: the clock was set back, and the instant says nothing any more. */
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
