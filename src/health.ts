/** `/.headgate/health`: whether this gateway limits as configured. */

import { lossWarningOf } from "./isolate/isolate.ts";
import type { Background } from "./isolate/reply-source.ts";
import { failureOf } from "./store/failure.ts";
import type { Store } from "./store/store.ts";

/** What a health answer says about a place that holds counts. */
interface PlaceHealth {
  readonly reachable: boolean;
  /** The round trip of one PING, in whole milliseconds. */
  readonly latencyMs?: number;
  /** Why the place was not reached (`StoreErrorCode`). */
  readonly error?: string;
  /** What the operator must change. */
  readonly warning?: string;
  /** `open`: this isolate does not call the place; about once a second one request tries whether it works again. */
  readonly breaker?: "closed" | "open";
}

/** What a health answer says about the store. */
interface StoreHealth extends PlaceHealth {
  /**
   * Each of several places by itself. `reachable` beside it says whether all of them are, and `latencyMs` is the
   * longest. Absent: the store is one place.
   */
  readonly places?: readonly (PlaceHealth & { readonly name: string })[];
}

type Probe<Health> = (background: Background) => Promise<Health>;

/** How long a result is reused, ms. */
const REUSE_MS = 5_000;
/** How often a request looks for the result of another request's PING, ms. */
const LOOK_EVERY_MS = 20;
/** A request on Workers has six connections at a time: the PING of a seventh place would wait, and seem late. */
const AT_A_TIME = 6;
/** A PING ends at most this much later than its budget, ms. */
const LAPSE_MS = 100;

/** Probes every place at once. @param places by name. @param budgetMs the longest time of a PING, in milliseconds. */
export function createProbe(places: ReadonlyMap<string, Store>, budgetMs: number): Probe<StoreHealth> {
  const probes = [...places].map(([name, place]) => ({ name, probe: createPlaceProbe(place, budgetMs) }));
  return async (background) => {
    if (probes.length === 1) return await probes[0]!.probe(background);
    const found: (PlaceHealth & { readonly name: string })[] = [];
    for (let at = 0; at < probes.length; at += AT_A_TIME) {
      const batch = probes.slice(at, at + AT_A_TIME);
      found.push(
        ...(await Promise.all(batch.map(async ({ name, probe }) => ({ name, ...(await probe(background)) })))),
      );
    }
    const failed = found.find(({ reachable }) => !reachable);
    const warned = found.find(({ warning }) => warning !== undefined);
    return {
      reachable: !failed,
      ...(failed?.error && { error: failed.error }),
      ...(warned && { warning: `${warned.name}: ${warned.warning}` }),
      ...(!failed && { latencyMs: Math.max(...found.map(({ latencyMs }) => latencyMs ?? 0)) }),
      breaker: found.some(({ breaker }) => breaker === "open") ? "open" : "closed",
      places: found,
    };
  };
}

/**
 * Makes a function that probes a place at most every 5 s, one PING at a time: health must not become a way to load
 * Redis. A request that arrives during another request's PING waits for that PING's result.
 *
 * Requests share numbers and no promise: in workerd one request may not await a promise of another.
 */
function createPlaceProbe(place: Store, budgetMs: number): Probe<PlaceHealth> {
  let known: { readonly atMs: number; readonly health: PlaceHealth } | undefined;
  let askedAtMs: number | undefined;
  /** Asked once, and again until there is none. Null: never asked. */
  let warning: string | null | undefined = null;

  return async (background) => {
    const { warning = lossWarningOf(place), ...health } = await reachability(background);
    return { ...health, ...(warning && { warning }), ...(place.breaker && { breaker: place.breaker() }) };
  };

  async function reachability(background: Background): Promise<PlaceHealth> {
    for (;;) {
      if (known && isWithin(REUSE_MS, known.atMs)) return known.health;
      if (askedAtMs === undefined || !isWithin(budgetMs + LAPSE_MS, askedAtMs)) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    const asked = ask();
    // Other requests wait for this PING: it must end even if its own client goes away.
    background.waitUntil(asked);
    return await asked;
  }

  async function ask(): Promise<PlaceHealth> {
    const startMs = Date.now();
    askedAtMs = startMs;
    let health: PlaceHealth;
    try {
      await place.ping();
      const latencyMs = Date.now() - startMs;
      if (warning !== undefined) await askWarning();
      health = { reachable: true, latencyMs, ...(typeof warning === "string" && { warning }) };
    } catch (error) {
      health = { reachable: false, error: failureOf(error).code };
    }
    known = { atMs: Date.now(), health };
    if (askedAtMs === startMs) askedAtMs = undefined;
    return health;
  }

  async function askWarning(): Promise<void> {
    const before = warning;
    try {
      warning = await place.warning?.();
    } catch {
      // It is reachable, and asked again.
      return;
    }
    if (warning !== undefined && warning !== before) console.warn(JSON.stringify({ event: "note", note: warning }));
  }
}

/**
 * `ok`: every place answers. `degraded`: not all of them, or one is only probed, or loses counts. `unavailable`: none
 * answers.
 */
export function statusOf(found: StoreHealth | undefined): "ok" | "degraded" | "unavailable" {
  if (!found) return "ok";
  if (!(found.places ?? [found]).some(({ reachable }) => reachable)) return "unavailable";
  return found.reachable && found.breaker !== "open" && !found.warning ? "ok" : "degraded";
}

/** False for an instant in the future too: the clock was set back, and the instant says nothing any more. */
function isWithin(durationMs: number, atMs: number): boolean {
  const agoMs = Date.now() - atMs;
  return agoMs >= 0 && agoMs < durationMs;
}
