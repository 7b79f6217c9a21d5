/**
 * Requests in flight. Each holds a slot until it gives the slot back, or until `timeoutMs` after it took or renewed it.
 * Mirror: lua/concurrency.lua.
 */

import { type Algorithm, isCount, limitStatus } from "./algorithm.ts";
import { type Duration, formatDuration, sayDuration } from "./duration.ts";
import { Kind, MAX_UNITS, MAX_WINDOW_MS } from "./layout.ts";
import { LIMIT, type LimitBase, type Named, type ValuesOf } from "./named.ts";
import { describeUnits } from "./units.ts";

export interface ConcurrencyLimit {
  readonly kind: typeof Kind.concurrency;
  /** Requests in flight, 1 … 10^9. */
  readonly limit: number;
  readonly timeoutMs: number;
  /** How long a WebSocket holds its slot. Absent: the way in says it. */
  readonly sockets?: Sockets | undefined;
}

/** Until its handshake has ended, or as long as it is open. */
export type Sockets = "handshake" | "open";

/** For each request's number, the instant at which its slot is lost, in ms since the epoch. */
export type Slots = ReadonlyMap<number, number>;

export interface ConcurrencyView {
  readonly kind: typeof Kind.concurrency;
  readonly inFlight: number;
}

/** Whether this limit or view is of this algorithm: it counts slots. Every other algorithm counts units. */
export function isConcurrency<T extends { readonly kind: Kind }>(
  one: T,
): one is Extract<T, { readonly kind: typeof Kind.concurrency }> {
  return one.kind === Kind.concurrency;
}

/** The limits that count units. */
export function withoutSlots<T extends { readonly kind: Kind }>(limits: readonly T[]): T[] {
  return limits.filter((limit) => !isConcurrency(limit));
}

/** The wait that a refused client is told, in ms. Nobody can know when a slot will be free. */
const RETRY_AFTER_MS = 1_000;

/** Taking is a charge, renewing a charge anyway, releasing a give back. Each is about one slot, whatever the cost. */
export const concurrency: Algorithm<ConcurrencyLimit, never, Slots, ConcurrencyView, Slots> = {
  read: (_record, slots = new Map(), _limit, nowMs) => new Map([...slots].filter(([, lostAtMs]) => lostAtMs > nowMs)),
  admits: (slots, { limit }, cost) => slots.size + Math.min(cost, 1) <= limit,
  charge: (slots, { timeoutMs }, _cost, { nowMs, slot }) => new Map(slots).set(slot, nowMs + timeoutMs),
  giveBack: (slots, _limit, _cost, { slot }) => new Map([...slots].filter(([held]) => held !== slot)),
  resetAfterMs: () => 0,
  view: (slots, { kind }) => ({ kind, inFlight: slots.size }),
  chargedAtMs: () => 0,
  bucketAt: () => 0,

  encode: ({ timeoutMs }) => [timeoutMs, 0],
  viewLength: () => 1,
  decode: ([inFlight = 0], { kind }) => ({ kind, inFlight }),

  tell(view, limit, _cost, refused, nowMs) {
    return limitStatus({
      remaining: concurrency.remaining(view, limit, nowMs),
      retryAfterMs: refused ? RETRY_AFTER_MS : 0,
      resetAfterMs: 0,
    });
  },

  remaining: ({ inFlight }, { limit }) => Math.max(0, limit - inFlight),
  /** A slot may be free at any moment. */
  recall: (view) => ({ view, refused: false }),
  hasFixedWait: false,

  quota: ({ limit }) => ({ quota: limit }),
  capacity: ({ limit, timeoutMs }) => ({ units: limit, windowMs: timeoutMs }),
  units: { limit: MAX_UNITS },
  tooLarge: () => undefined,

  values: {
    kept: (slots, { timeoutMs }) => (slots.size > 0 ? { value: slots, expiryMs: timeoutMs } : undefined),
    parse(json) {
      const { slots } = (json ?? {}) as { readonly slots?: unknown };
      return Array.isArray(slots) ? new Map(slots.filter(isPair)) : undefined;
    },
    dropped: () => false,
  },
};

function isPair(value: unknown): value is readonly [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every(isCount);
}

/** At most `limit` requests in flight. */
export interface ConcurrencyInput extends LimitBase {
  /** Has no window. */
  readonly algorithm: "concurrency";
  /** A slot that is neither released nor renewed is free after this time, 1 s … 31 days. Default 60 s. */
  readonly timeout?: Duration | undefined;
  /**
   * How long a WebSocket holds its slot: until its handshake has ended (`"handshake"`), or until it is closed
   * (`"open"`). Default: `"handshake"`, and on Node `"open"`.
   */
  readonly sockets?: Sockets | undefined;
}

/** A slot is renewed after half of its timeout. */
const MIN_TIMEOUT_MS = 1_000;

const FIELDS = {
  ...LIMIT,
  timeout: {
    is: "duration",
    leastMs: MIN_TIMEOUT_MS,
    mostMs: MAX_WINDOW_MS,
    default: "1m",
    expected: 'a duration from 1s to 31d, for example "60s"',
  },
  sockets: { is: "word", words: ["handshake", "open"], isOptional: true, sharesCount: true },
} as const;

export const namedConcurrency: Named<ConcurrencyLimit, ValuesOf<typeof FIELDS>> = {
  kind: Kind.concurrency,
  fields: FIELDS,
  limitOf: ({ limit, timeout, sockets }) => ({ kind: Kind.concurrency, limit, timeoutMs: timeout, sockets }),
  valuesOf: ({ limit, timeoutMs, sockets }) => ({ limit, timeout: timeoutMs, sockets }),
  // A request holds one slot, whatever it costs.
  describe: ({ limit, unit }) => `${describeUnits(limit, unit && "requests")} at a time`,
  promise({ timeoutMs, sockets }) {
    const open = sockets === "open" ? ", and a WebSocket until it closes" : "";
    return `a request counts until it is answered${open}, at most for ${sayDuration(timeoutMs)} if its connection is lost`;
  },
  per: ({ timeoutMs }) => `at once, freed after ${formatDuration(timeoutMs)}`,
};
