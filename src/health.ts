/** `/.headgate/health`: whether this gateway limits as configured. */

import type { Background } from "./isolate/reply-source.ts";
import { failureOf } from "./store/failure.ts";
import type { Store } from "./store/store.ts";

/** What a health answer says about the store. */
interface StoreHealth {
  readonly reachable: boolean;
  /** The round trip of one PING, in whole milliseconds. */
  readonly latencyMs?: number;
  /** Why the store was not reached (`StoreErrorCode`). */
  readonly error?: string;
  /** `open`: this isolate does not call the store; about once a second one request tries whether it works again. */
  readonly breaker?: "closed" | "open";
}

/** What a health answer says about a store of several places. */
interface PlacesHealth extends StoreHealth {
  /** Each place by itself. `reachable` beside it says whether all of them are, and `latencyMs` is the longest. */
  readonly places: readonly (StoreHealth & { readonly name: string })[];
}

export type Probe<T extends StoreHealth = StoreHealth> = (background: Background) => Promise<T>;

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
export function createProbe(store: Store, budgetMs: number): Probe {
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

/** Probes every place at once. @param places the stores, by name. @param budgetMs as for `createProbe`. */
export function createPlacesProbe(places: ReadonlyMap<string, Store>, budgetMs: number): Probe<PlacesHealth> {
  const probes = [...places].map(([name, store]) => ({ name, probe: createProbe(store, budgetMs) }));
  return async (background) => {
    const found = await Promise.all(probes.map(async ({ name, probe }) => ({ name, ...(await probe(background)) })));
    const failed = found.find(({ reachable }) => !reachable);
    return {
      reachable: !failed,
      ...(failed?.error && { error: failed.error }),
      ...(!failed && { latencyMs: Math.max(...found.map(({ latencyMs }) => latencyMs ?? 0)) }),
      breaker: found.some(({ breaker }) => breaker === "open") ? "open" : "closed",
      places: found,
    };
  };
}

/** `ok`: every place answers. `degraded`: not all of them, or one is only probed. `unavailable`: none answers. */
export function statusOf(found: (StoreHealth & Partial<PlacesHealth>) | undefined): "ok" | "degraded" | "unavailable" {
  if (!found) return "ok";
  if (!(found.places ?? [found]).some(({ reachable }) => reachable)) return "unavailable";
  return found.reachable && found.breaker !== "open" ? "ok" : "degraded";
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
