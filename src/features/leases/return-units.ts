/** Returns leased units that no request needs. The background of one request does it for all, for as long as it may. */

import { Flag, type KeyRequest } from "../../kernel/core/take.ts";
import { callStore } from "../../kernel/place/flows/call.ts";
import { attempt, nowAt, type Place, tellListener } from "../../kernel/place/flows/place.ts";
import type { LeaseName } from "../../kernel/place/lease.ts";
import { noteUnits } from "../../kernel/place/memory.ts";
import type { Now } from "../../kernel/place/store-clock.ts";
import { type Background, keepAlive } from "../../kernel/place/taker.ts";
import { failureOf } from "../../kernel/store/failure.ts";
import {
  bookReturn,
  dueLeases,
  keepUnused,
  noteReturning,
  reviewAfterMs,
  takeUnused,
  type Unused,
  unreturnedLeases,
} from "./leased-returns.ts";

/**
 * Cloudflare ends the background work of a Worker 30 s after the answer (2026-11). Another request's background takes
 * over before that.
 */
const MAX_RETURNING_MS = 20_000;
/** A background that returns units may be this late before another one takes over. */
const RETURNING_LATE_MS = 1_000;
/** All leases of the isolate are looked through this often at most, in ms. */
const LOOK_EVERY_MS = 1_000;
/**
 * The most calls of one request that return units. Later requests return the rest. On Cloudflare's free plan a request
 * may make 50 subrequests (10,000 on a paid plan, 2026-11), and the origin and the application need some of them.
 */
const MAX_RETURNS = 10;

/** The background of one request. */
export interface Returning {
  readonly background: Background;
  /** How many more calls it may make to return units. */
  callsLeft: number;
}

export function returningIn(background: Background): Returning {
  return { background, callsLeft: MAX_RETURNS };
}

/** Begins to return the unused units of these keys, if the background of no other request does. */
export function beginReturns(place: Place, keys: readonly KeyRequest[], returning: Returning): void {
  if (returning.callsLeft === 0) return;
  attempt(place, () => {
    for (const name of unreturnedLeases(place.memory, keys, nowAt(place))) {
      keepAlive(returnUnused(place, name, returning).catch(place.reportBug), returning.background);
    }
  });
}

/**
 * The background of any request returns what is due in the isolate: nobody may ask for those keys again. The calls that
 * its decision makes in this step come first: a Worker opens six connections at once.
 */
export function returnDue(place: Place, returning: Returning, { localAtMs }: Now): void {
  const { memory } = place;
  if (memory.leased.size === 0 || Math.abs(localAtMs - memory.lookedThroughAtMs) < LOOK_EVERY_MS) return;
  memory.lookedThroughAtMs = localAtMs;
  const work = Promise.resolve().then(() => attempt(place, () => returnAllDue(place, returning)));
  keepAlive(work, returning.background);
}

function returnAllDue(place: Place, returning: Returning): void {
  const { memory } = place;
  const now = nowAt(place);
  for (const name of dueLeases(memory, now)) {
    if (returning.callsLeft === 0) return;
    const unused = takeUnused(memory, name, now, returning.callsLeft);
    returning.callsLeft -= unused.length;
    for (const one of unused) {
      keepAlive(returnToStore(place, name, one, returning).catch(place.reportBug), returning.background);
    }
  }
}

async function returnUnused(place: Place, name: LeaseName, returning: Returning): Promise<void> {
  const { memory, timing } = place;
  const startMs = timing.nowMs();
  while (returning.callsLeft > 0) {
    const now = nowAt(place);
    const waitMs = reviewAfterMs(memory, name, now);
    const awayMs = now.localAtMs - startMs;
    // After a step back of the local clock a later request takes over.
    if (waitMs === undefined || awayMs < 0 || awayMs + waitMs > MAX_RETURNING_MS) break;
    // A later request takes over in time: this background may end before the key is quiet.
    const relievedAtMs = Math.min(now.localAtMs + waitMs + RETURNING_LATE_MS, startMs + MAX_RETURNING_MS / 2);
    noteReturning(memory, name, relievedAtMs);
    await timing.sleep(waitMs, true);
    const unused = takeUnused(memory, name, nowAt(place), returning.callsLeft);
    returning.callsLeft -= unused.length;
    await Promise.all(unused.map((one) => returnToStore(place, name, one, returning)));
  }
  noteReturning(memory, name, 0);
}

/** Returns units with one call, never repeated. If the outcome is not known, the units lapse with their window. */
async function returnToStore(place: Place, name: LeaseName, unused: Unused, returning: Returning): Promise<void> {
  const { memory } = place;
  const { key, units } = unused;
  const { background } = returning;
  try {
    const reply = await callStore(place, { keys: [key], flag: Flag.giveBack, atMs: units.bucketAtMs }, { background });
    bookReturn(memory, name, key.cost, reply.keys[0]!, reply.nowMs);
  } catch (error) {
    if (failureOf(error).notRun) keepUnused(memory, name, unused);
    else noteUnits(memory, name.key, "lapsed", key.cost);
  }
  tellListener(place);
}
