/** `/.headgate/health`: is this gateway limiting as configured? */

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

/** @returns what probes the store, at most every 5 s: health must not become a way to load Redis. */
export function createProbe(store: Store): () => Promise<StoreHealth> {
  let last: { readonly atMs: number; readonly health: StoreHealth } | undefined;

  return async () => {
    const health = await reachability();
    return store.breaker ? { ...health, breaker: store.breaker() } : health;
  };

  async function reachability(): Promise<StoreHealth> {
    const startMs = Date.now();
    if (last && startMs >= last.atMs && startMs - last.atMs < REUSE_MS) return last.health;
    // Before the answer is known: requests that arrive meanwhile show the previous one instead of probing too.
    if (last) last = { atMs: startMs, health: last.health };
    const health = await probe(store, startMs);
    last = { atMs: Date.now(), health };
    return health;
  }
}

async function probe(store: Store, startMs: number): Promise<StoreHealth> {
  try {
    await store.ping();
    return { reachable: true, latencyMs: Date.now() - startMs };
  } catch (error) {
    return { reachable: false, error: failureOf(error).code };
  }
}
