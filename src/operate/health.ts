/** `/.headgate/health`: whether this gateway limits as configured. */

import { sixAtATime } from "../kernel/limiter/takers.ts";
import { lossWarningOf } from "../kernel/place/isolate.ts";
import { type Background, keepAlive } from "../kernel/place/taker.ts";
import { failureOf } from "../kernel/store/failure.ts";
import type { Store } from "../kernel/store/store.ts";

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

interface StoreHealth extends PlaceHealth {
  /**
   * Each of several places by itself, as it was found within the last 5 minutes. `reachable` beside it says whether all
   * of them are, and `latencyMs` is the longest. Absent: the store is one place.
   */
  readonly places?: readonly (PlaceHealth & { readonly name: string })[];
  /** The names of the places of which nothing is known: the next calls ask them. Absent: there are none. */
  readonly notAskedYet?: readonly string[];
}

type Probe<Health> = (background: Background | undefined) => Promise<Health>;

/** How long a result is reused, ms. */
const REUSE_MS = 5_000;
/** How often a request looks for the result of another request's PING, ms. */
const LOOK_EVERY_MS = 20;
/** How long a result is shown until the place is asked again, ms: of many places each call asks some. */
const REMEMBERED_MS = 300_000;
/**
 * The most places that one call asks. A place takes two calls, with that for its warning, and Cloudflare's free plan
 * allows a request 50 (2026-11).
 */
const MOST_ASKED = 20;
/** A PING ends at most this much later than its budget, ms. */
const LAPSE_MS = 100;

/**
 * Probes the places that were not asked for the longest time, and shows what is known of all.
 *
 * @param places by name. @param budgetMs the longest time of a PING, in milliseconds.
 */
export function createProbe(places: ReadonlyMap<string, Store>, budgetMs: number): Probe<StoreHealth> {
  const probes = [...places].map(([name, place]) => ({ name, ...createPlaceProbe(place, budgetMs) }));
  return async (background) => {
    if (probes.length === 1) return await probes[0]!.ask(background);
    const oldest = probes.toSorted((a, b) => (a.known()?.atMs ?? 0) - (b.known()?.atMs ?? 0)).slice(0, MOST_ASKED);
    await sixAtATime(oldest, ({ ask }) => ask(background));
    const found = probes.flatMap(({ name, known }) => (known() ? { name, ...known()!.health } : []));
    const notAskedYet = probes.flatMap(({ name, known }) => (known() ? [] : name));
    const failed = found.find(({ reachable }) => !reachable);
    const warned = found.find(({ warning }) => warning !== undefined);
    return {
      reachable: !failed,
      ...(failed?.error && { error: failed.error }),
      ...(warned && { warning: `${warned.name}: ${warned.warning}` }),
      ...(!failed && { latencyMs: Math.max(0, ...found.map(({ latencyMs }) => latencyMs ?? 0)) }),
      breaker: [...places.values()].some((place) => place.breaker?.() === "open") ? "open" : "closed",
      places: found,
      ...(notAskedYet.length > 0 && { notAskedYet }),
    };
  };
}

interface PlaceProbe {
  readonly ask: Probe<PlaceHealth>;
  /** What was found last, and when. Undefined: not asked yet, or too long ago. */
  known(): { readonly atMs: number; readonly health: PlaceHealth } | undefined;
}

/**
 * Makes a function that probes a place at most every 5 s, one PING at a time: health must not become a way to load
 * Redis. A request that arrives during another request's PING waits for that PING's result.
 *
 * Requests share numbers and no promise: in workerd one request may not await a promise of another.
 */
function createPlaceProbe(place: Store, budgetMs: number): PlaceProbe {
  let known: { readonly atMs: number; readonly health: PlaceHealth } | undefined;
  let askedAtMs: number | undefined;
  /** Asked once, and again until there is none. Null: never asked. */
  let warning: string | null | undefined = null;

  function noted({ warning = lossWarningOf(place), ...health }: PlaceHealth): PlaceHealth {
    return { ...health, ...(warning && { warning }), ...(place.breaker && { breaker: place.breaker() }) };
  }
  return {
    ask: async (background) => noted(await reachability(background)),
    known: () => {
      if (!known || !isWithin(REMEMBERED_MS, known.atMs)) return undefined;
      return { atMs: known.atMs, health: noted(known.health) };
    },
  };

  async function reachability(background: Background | undefined): Promise<PlaceHealth> {
    for (;;) {
      if (known && isWithin(REUSE_MS, known.atMs)) return known.health;
      if (askedAtMs === undefined || !isWithin(budgetMs + LAPSE_MS, askedAtMs)) break;
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
    // Other requests wait for this PING: it must end even if its own client goes away.
    return await keepAlive(ask(), background);
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
    // It is reachable all the same, and asked again.
    warning = await place.warning?.().catch(() => before);
    if (warning && warning !== before) console.warn(JSON.stringify({ event: "note", note: warning }));
  }
}

/**
 * `ok`: every place that was asked answers. `degraded`: not all of them, or one is only probed, or loses counts.
 * `unavailable`: none answers, and all were asked.
 */
export function statusOf(found: StoreHealth | undefined): "ok" | "degraded" | "unavailable" {
  if (!found) return "ok";
  const isAnswered = (found.places ?? [found]).some(({ reachable }) => reachable);
  if (!isAnswered && !found.notAskedYet) return "unavailable";
  return found.reachable && found.breaker !== "open" && !found.warning ? "ok" : "degraded";
}

/** False for an instant in the future too: the clock was set back, and the instant says nothing any more. */
function isWithin(durationMs: number, atMs: number): boolean {
  const agoMs = Date.now() - atMs;
  return agoMs >= 0 && agoMs < durationMs;
}
