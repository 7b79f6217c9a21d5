/**
 * The counts, kept fresh: one request every 5 s while the page is seen, none while it is hidden. Most of them ask for
 * the last minutes only. The whole range is asked for when it is chosen, and now and then because counts may come late.
 */

import { type At, api, now, type Refused, type StatsAnswer } from "../api.ts";
import { loadPolicies } from "./live.ts";
import { session } from "./session.ts";
import { createValue } from "./value.ts";

const TICK_MS = 5_000;
/** "Now" in tiles and tables, and who was limited most. */
export const RECENT_MINUTES = 10;
const POLICIES_MS = 60_000;

export const RANGES: readonly (readonly [minutes: number, text: string])[] = [
  [60, "1 h"],
  [360, "6 h"],
  [1_440, "24 h"],
  [10_080, "7 d"],
  [43_200, "30 d"],
];

export interface StatsState {
  readonly minutes: number;
  /** The last minutes. */
  readonly recent?: StatsAnswer;
  /** The whole range, up to date. */
  readonly history?: StatsAnswer;
  /** What the last request failed with. What was read before stays. */
  readonly failure?: string;
  /** The gateway has no `STATS`. */
  readonly off?: true;
}

export const stats = createValue<StatsState>({ minutes: 60 });

let wholeAtMs = Number.NEGATIVE_INFINITY;
let policiesAtMs = Number.NEGATIVE_INFINITY;
let timer: ReturnType<typeof setTimeout> | undefined;
/** Answers to older questions are dropped. */
let question = 0;

export function chooseRange(minutes: number): void {
  const { history: _, ...rest } = stats.get();
  stats.set({ ...rest, minutes });
  wholeAtMs = Number.NEGATIVE_INFINITY;
  tick();
}

/** Begins, and goes on until the session ends. */
export function watchStats(): () => void {
  document.addEventListener("visibilitychange", tick);
  tick();
  return () => {
    document.removeEventListener("visibilitychange", tick);
    clearTimeout(timer);
    question++;
  };
}

/** Asks now, and every 5 s from now on. */
export function tick(): void {
  clearTimeout(timer);
  if (document.hidden || session.get().is !== "in") return;
  timer = setTimeout(tick, TICK_MS);
  void ask(++question);
}

async function ask(mine: number): Promise<void> {
  const { minutes, off, history, recent } = stats.get();
  if (Date.now() - policiesAtMs > POLICIES_MS) {
    policiesAtMs = Date.now();
    loadPolicies().catch(() => {
      policiesAtMs = Number.NEGATIVE_INFINITY;
    });
  }
  if (off) return;
  try {
    // The range first: it fills the chart. Both at once at the beginning.
    const isWhole = !history || Date.now() - wholeAtMs > refreshMs(minutes);
    const [whole, newest] = await Promise.all([
      isWhole ? api.stats(minutes) : history,
      isWhole && recent ? recent : api.stats(RECENT_MINUTES),
    ]);
    if (mine !== question) return;
    if (isWhole) wholeAtMs = Date.now();
    stats.set({ minutes, recent: newest, history: whole.step === newest.step ? merged(whole, newest) : whole });
  } catch (error) {
    if (mine !== question) return;
    const { status, message } = error as Refused;
    const { failure: _, ...before } = stats.get();
    stats.set(status === 404 ? { minutes, off: true } : { ...before, failure: message });
  }
}

/** Longer ranges are longer answers. */
function refreshMs(minutes: number): number {
  return minutes <= 60 ? 60_000 : 300_000;
}

const LISTS = [
  ...(["points", "near", "calls", "fallback", "units", "leases", "responses"] as const),
  ...(["settled", "tokens"] as const),
];

/** The whole range, with its last minutes as they are by now. */
function merged(whole: StatsAnswer, newest: StatsAnswer): StatsAnswer {
  const first = newest.points.reduce((least, { at }) => (at < least ? at : least), "9");
  const oldest = new Date(now() - stats.get().minutes * 60_000).toISOString();
  const lists = LISTS.map((name) => {
    const older = (whole[name] as readonly At[]).filter(({ at }) => at < first && at >= oldest);
    return [name, [...older, ...(newest[name] as readonly At[]).filter(({ at }) => at >= first)]];
  });
  return { ...newest, ...Object.fromEntries(lists), top: whole.top };
}
