/**
 * Token bucket and leaky bucket: `burst` tokens, of which `limit` come back per window, continuously. The leaky bucket
 * also admits a cost that would be admitted within `maxDelayMs`; the caller delays the request until then.
 * Mirror: lua/token_bucket.lua.
 */

import { counter, leasedMs, limitStatus } from "./algorithm.ts";
import { type Duration, sayDuration } from "./duration.ts";
import { Kind, MAX_EXACT, MAX_UNITS } from "./layout.ts";
import { BURST, LIMIT, type Named, perWindow, type ValuesOf, WINDOW, type WindowBase } from "./named.ts";
import { describeUnits, nameOfOne } from "./units.ts";

export interface BucketLimit {
  readonly kind: typeof Kind.bucket;
  /** Tokens that come back per window, 1 … 10^9. */
  readonly limit: number;
  readonly windowMs: number;
  /** Capacity in tokens, 1 … 10^9. */
  readonly burst: number;
  /** Milliseconds, 0 for a token bucket. `burst * windowMs + maxDelayMs * limit < 2^53`. */
  readonly maxDelayMs: number;
}

export interface BucketRecord {
  readonly kind: typeof Kind.bucket;
  readonly windowMs: number;
  /** Milliseconds since the epoch. */
  readonly atMs: number;
  /**
   * What a full bucket lacked at `atMs`, in 1/windowMs token. Each ms pays back `limit` of these units: every integer
   * rate is exact.
   */
  readonly debt: number;
}

export const tokenBucket = counter<BucketLimit, BucketRecord>({
  /** If the clock has stepped back, the record stays. Nothing is paid back until the clock has caught up. */
  read(record, _value, { kind, windowMs, limit }, nowMs) {
    if (!record) return { kind, windowMs, atMs: nowMs, debt: 0 };
    const elapsedMs = nowMs - record.atMs;
    return elapsedMs > 0 ? { ...record, atMs: nowMs, debt: Math.max(0, record.debt - elapsedMs * limit) } : record;
  },
  /**
   * `level >= cost`, where level = burst - debt + what `maxDelayMs` pays back. Both sides are exact below 2^53, and the
   * right side is always below 2^53.
   */
  admits: ({ debt }, limit, cost) => cost <= limit.burst && debt + cost * limit.windowMs <= capacity(limit),
  charge(record, { windowMs }, cost) {
    return { ...record, debt: Math.min(MAX_EXACT, record.debt + cost * windowMs) };
  },
  giveBack: (record, { windowMs }, cost) => ({ ...record, debt: Math.max(0, record.debt - cost * windowMs) }),
  resetAfterMs: payBackAfterMs,
  chargedAtMs: () => 0,
  bucketAt: () => 0,

  encode: ({ windowMs, burst, maxDelayMs }) => [windowMs, 0, burst, maxDelayMs],
  viewLength: () => 2,
  decode: ([atMs = 0, debt = 0], { kind, windowMs }) => ({ kind, windowMs, atMs, debt }),

  tell(record, limit, cost, refused, nowMs, charged = true) {
    const { windowMs, burst } = limit;
    const remaining = remainingOf(record, limit);
    /** Milliseconds until `units` are admitted, which is when the debt leaves room for them. */
    const admitsAfterMs = (units: number) => {
      if (units > burst) return undefined;
      return payBackAfterMs(record, limit, nowMs, capacity(limit) - units * windowMs);
    };
    const queued = charged ? record : { ...record, debt: record.debt + cost * windowMs };
    return limitStatus({
      remaining,
      retryAfterMs: refused ? admitsAfterMs(cost) : 0,
      growsAfterMs: admitsAfterMs(remaining + 1),
      resetAfterMs: payBackAfterMs(record, limit, nowMs),
      // A look waits for nothing.
      delayMs: refused || cost === 0 ? 0 : payBackAfterMs(queued, limit, nowMs, burst * windowMs),
    });
  },

  remaining: remainingOf,
  hasFixedWait: false,

  quota: ({ limit, windowMs, burst }) => ({ quota: burst, windowMs: (burst * windowMs) / limit }),
  // The bucket also counts the units of delayed requests.
  capacity: ({ limit, windowMs, burst, maxDelayMs }) => ({
    units: burst + Math.floor((maxDelayMs * limit) / windowMs),
    windowMs,
  }),
  // A burst that is equal to `limit`, as it is by default, follows it.
  units: { limit: MAX_UNITS, burst: MAX_UNITS },
  tooLarge(limit) {
    if (capacity(limit) <= MAX_EXACT) return undefined;
    const { windowMs, maxDelayMs } = limit;
    const largest = Math.floor((MAX_EXACT - maxDelayMs * limit.limit) / windowMs);
    return `a burst of at most ${largest} with a window of ${windowMs} ms, or the same rate over a shorter window (burst * window + maxDelay * limit < 2^53)`;
  },

  records: {
    numbers: ["windowMs", "atMs", "debt"],
    // A window after the last charge: how fast it refills is not stored.
    endsAtMs: ({ atMs, windowMs }) => atMs + windowMs,
  },
  // The bucket refills while leased units wait to be spent, so they must not wait for long.
  lease: { endsAtMs: ({ windowMs }, chargedAtMs) => chargedAtMs + leasedMs(windowMs) },
});

function remainingOf({ debt }: BucketRecord, limit: BucketLimit): number {
  const free = Math.floor((capacity(limit) - debt) / limit.windowMs);
  return Math.max(0, Math.min(limit.burst, free));
}

/** The largest possible debt. */
function capacity({ limit, windowMs, burst, maxDelayMs }: BucketLimit): number {
  return burst * windowMs + maxDelayMs * limit;
}

/** Milliseconds until the debt has fallen to `target`. */
function payBackAfterMs({ atMs, debt }: BucketRecord, { limit }: BucketLimit, nowMs: number, target = 0): number {
  return debt <= target ? 0 : atMs - nowMs + Math.ceil((debt - target) / limit);
}

/** A bucket that refills `limit` per `window`, continuously. */
export interface TokenBucketInput extends WindowBase {
  /** Bursts of up to `burst` are admitted. */
  readonly algorithm: "token-bucket";
  /** Capacity in units, 1 … 10^9. Default: `limit`. */
  readonly burst?: number | undefined;
}

/** A token bucket that delays a request if it can be admitted soon, instead of refusing it. */
export interface LeakyBucketInput extends WindowBase {
  /** Spreads requests instead of refusing them. */
  readonly algorithm: "leaky-bucket";
  /** Capacity in units, 1 … 10^9. Default: `limit`. */
  readonly burst?: number | undefined;
  /** The longest delay of a request, 0 … 60 s, written like `window`. Default 0: no delay. */
  readonly maxDelay?: Duration | 0 | undefined;
}

/** The longest delay of a request: below the 100 s after which Cloudflare closes a silent connection (2026-11). */
const MAX_DELAY_MS = 60_000;

const TOKEN_FIELDS = { ...LIMIT, ...WINDOW, ...BURST } as const;
const LEAKY_FIELDS = {
  ...TOKEN_FIELDS,
  maxDelay: {
    is: "duration",
    leastMs: 0,
    mostMs: MAX_DELAY_MS,
    default: 0,
    canBeNone: true,
    sharesCount: true,
    expected: 'a duration from 0 to 60s, for example "2s"',
  },
} as const;

/** Both buckets promise the same, but for the delay. */
const words: Pick<Named<BucketLimit, never>, "describe" | "promise" | "worstCase"> = {
  describe({ limit, windowMs, burst, unit }) {
    const atOnce = burst === limit ? "" : `, at most ${describeUnits(burst, unit)} at once`;
    return `${perWindow(limit, windowMs, unit)}${atOnce}`;
  },
  promise({ limit, windowMs, maxDelayMs, unit }) {
    const delay = maxDelayMs > 0 ? `; a request may be delayed by up to ${sayDuration(maxDelayMs)}` : "";
    const each = windowMs % limit === 0 ? `: one ${nameOfOne(unit)} every ${sayDuration(windowMs / limit, "")}` : "";
    return `comes back evenly${each}${delay}`;
  },
  worstCase: ({ limit, windowMs, burst, unit }) =>
    `up to ${describeUnits(burst + limit, unit)} in ${sayDuration(windowMs)}, if a burst comes from a full bucket`,
};

export const namedTokenBucket: Named<BucketLimit, ValuesOf<typeof TOKEN_FIELDS>> = {
  kind: Kind.bucket,
  fields: TOKEN_FIELDS,
  meters: ["tokens"],
  limitOf: (values) => namedLeakyBucket.limitOf({ ...values, maxDelay: 0 }),
  valuesOf: ({ limit, windowMs, burst }) => ({ limit, window: windowMs, burst }),
  ...words,
};

export const namedLeakyBucket: Named<BucketLimit, ValuesOf<typeof LEAKY_FIELDS>> = {
  kind: Kind.bucket,
  fields: LEAKY_FIELDS,
  // Leased units have no turn to wait for.
  isNeverLeased: true,
  limitOf: ({ limit, window, burst = limit, maxDelay }) => ({
    kind: Kind.bucket,
    limit,
    windowMs: window,
    burst,
    maxDelayMs: maxDelay,
  }),
  valuesOf: (limit) => ({ ...namedTokenBucket.valuesOf(limit), maxDelay: limit.maxDelayMs }),
  ...words,
};
