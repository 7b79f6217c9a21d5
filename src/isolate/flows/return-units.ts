/** Returns leased units that no request needs. The background of one request does it for all, for as long as it may. */

import { Flag, type KeyRequest } from "../../core/take.ts";
import {
  bookReturn,
  noteReturning,
  reviewAfterMs,
  takeUnused,
  type Unused,
  unreturnedLeases,
} from "../leased-returns.ts";
import { noteUnits } from "../memory.ts";
import { type Background, ignoreStoreError } from "../reply-source.ts";
import { callStore } from "./call.ts";
import { type Place, tellListener } from "./place.ts";

/**
 * Cloudflare ends the background work of a Worker 30 s after the answer (2026-11). Another request's background takes
 * over before that.
 */
const MAX_RETURNING_MS = 20_000;
/** A background that returns units may be this late before another one takes over. */
const RETURNING_LATE_MS = 1_000;
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
  for (const { key, lease } of unreturnedLeases(place.memory, keys, place.timing.nowMs())) {
    returning.background.waitUntil(returnUnused(place, key, lease, returning));
  }
}

/** @param lease its number. */
async function returnUnused(place: Place, key: string, lease: number, returning: Returning): Promise<void> {
  const { memory, timing } = place;
  const startMs = timing.nowMs();
  while (returning.callsLeft > 0) {
    const nowMs = timing.nowMs();
    const waitMs = reviewAfterMs(memory, key, lease, nowMs);
    if (waitMs === undefined || nowMs + waitMs > startMs + MAX_RETURNING_MS) break;
    // A later request takes over in time: this background may end before the key is quiet.
    const relievedAtMs = Math.min(nowMs + waitMs + RETURNING_LATE_MS, startMs + MAX_RETURNING_MS / 2);
    noteReturning(memory, key, lease, relievedAtMs);
    await timing.sleep(waitMs);
    const unused = takeUnused(memory, key, lease, timing.nowMs(), returning.callsLeft);
    returning.callsLeft -= unused.length;
    await Promise.all(unused.map((one) => returnToStore(place, lease, one)));
  }
  noteReturning(memory, key, lease, 0);
}

/** Returns units with one call, never repeated. If the outcome is not known, the units lapse with their window. */
async function returnToStore(place: Place, lease: number, { key, bucketAtMs }: Unused): Promise<void> {
  const { memory } = place;
  try {
    const reply = await callStore(place, { keys: [key], flag: Flag.giveBack, atMs: bucketAtMs });
    bookReturn(memory, key, lease, reply.keys[0]!, reply.nowMs);
  } catch (error) {
    ignoreStoreError(error);
    noteUnits(memory, key.key, "lapsed", key.cost);
  }
  tellListener(place);
}
