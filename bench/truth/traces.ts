/** The requests that each limiter gets, and their instants. All limiters get the same. */

import type { LimitOfPeer } from "../support/peers.ts";

export interface Ask {
  /** Ms after the beginning of an aligned window. */
  readonly afterMs: number;
  readonly isolate: 0 | 1;
  readonly cost: number;
}

export interface Trace {
  readonly name: string;
  /** What the trace shows, in one line. */
  readonly about: string;
  readonly limits: readonly LimitOfPeer[];
  readonly asks: readonly Ask[];
  /** How far each isolate's clock is off, in ms. */
  readonly skewMs?: readonly [number, number];
  /** Every n-th reply of Redis is lost after the call has run. */
  readonly loseEvery?: number;
  /** The windows are long. At the end, the store's counts are compared with what was admitted. */
  readonly isCharged?: true;
}

const WINDOW_MS = 2_000;
const LIMIT = 20;
const one = [{ limit: LIMIT, windowMs: WINDOW_MS }];
const MINUTE = 60_000;

const ask = (afterMs: number, isolate: 0 | 1 = 0, cost = 1): Ask => ({ afterMs, isolate, cost });
const burst = (afterMs: number, count: number) => Array.from({ length: count }, () => ask(afterMs));
const evenly = (fromMs: number, toMs: number, count: number, of: (i: number) => Partial<Ask> = () => ({})) =>
  Array.from({ length: count }, (_, i) => ({ ...ask(fromMs + ((toMs - fromMs) * i) / count), ...of(i) }));

const turns = (i: number) => ({ isolate: (i % 2) as 0 | 1 });

export const TRACES: readonly Trace[] = [
  {
    name: "steady",
    about: "1.5 times the limit, evenly, for 3 windows",
    limits: one,
    asks: evenly(0, 3 * WINDOW_MS, 90),
  },
  {
    name: "bursty",
    about: "bursts of 15 at irregular moments",
    limits: one,
    asks: [100, 900, 1700, 2600, 3900, 4300, 5800, 7400].flatMap((atMs) => burst(atMs, 15)),
  },
  {
    name: "boundary",
    about: "one request as a window begins, 25 just before its end, 25 just after, 25 just before the next end",
    limits: one,
    asks: [ask(10), ...burst(WINDOW_MS - 200, 25), ...burst(WINDOW_MS + 60, 25), ...burst(2 * WINDOW_MS - 300, 25)],
  },
  {
    name: "weighted",
    about: "requests of 1 to 7 units, 1.5 times the limit",
    limits: one,
    asks: evenly(0, 3 * WINDOW_MS, 30, (i) => ({ cost: 1 + ((i * 5) % 7) })),
  },
  {
    name: "isolates",
    about: "two isolates, each asks for the whole limit, evenly",
    limits: one,
    asks: evenly(0, 3 * WINDOW_MS, 120, turns),
  },
  {
    name: "skewed",
    about: "the same, and the clocks are 0.7 s fast and 0.7 s slow",
    limits: one,
    asks: evenly(0, 3 * WINDOW_MS, 120, turns),
    skewMs: [700, -700],
  },
  {
    name: "hammer",
    about: "ten times the limit, evenly, for 3 windows",
    limits: one,
    asks: evenly(0, 3 * WINDOW_MS, 600),
  },
  {
    name: "denied",
    about: "20 per minute, 60 requests within 0.6 s",
    limits: [{ limit: LIMIT, windowMs: MINUTE }],
    asks: evenly(0, 600, 60),
    isCharged: true,
  },
  {
    name: "multi",
    about: "20 per minute and 5 per 2 minutes, 20 requests",
    limits: [
      { limit: LIMIT, windowMs: MINUTE },
      { limit: 5, windowMs: 2 * MINUTE },
    ],
    asks: evenly(0, 600, 20),
    isCharged: true,
  },
  {
    name: "lost",
    about: "100 per minute, 40 requests, every 8th reply of Redis is lost after it ran",
    limits: [{ limit: 100, windowMs: MINUTE }],
    asks: evenly(0, 3_000, 40),
    loseEvery: 8,
    isCharged: true,
  },
];

/**
 * Copies of one refusal ask again after a tenth, two tenths, … of the wait that they were told. Each copy has its own
 * key.
 */
export const RETRY = {
  name: "retry",
  about:
    "5 per 2 s used up at once; used up, and again in the next window; copies ask after parts of the wait that they were told",
  limits: [{ limit: 5, windowMs: WINDOW_MS }],
  /** Instants in ms after the beginning of a window: the limit is used up at the first, and again at the second. */
  rounds: [[100], [1_400, 2_500]],
  parts: [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1],
} as const;
