/** What a call of the store costs, and what docs/consistency.md has measured of each consistency. */

/** Commands of Redis that a call makes: docs/redis.md. */
const COMMANDS_PER_CALL = 4;
/** Dollars per million commands, pay as you go: 0.20 per 100,000 (Upstash, 2026-11). */
const DOLLARS_PER_MILLION_COMMANDS = 2;

/** Dollars per million calls of Redis. */
export const DOLLARS_PER_MILLION_CALLS = COMMANDS_PER_CALL * DOLLARS_PER_MILLION_COMMANDS;

/**
 * Calls per request that were measured at a demand of 0.95 times a limit of 10,000 per 10 s, with 20 and with 300
 * isolates: the table of docs/consistency.md.
 */
export const MEASURED_CALLS = { strict: [1, 1], leased: [0.041, 0.247], shared: [0.019, 0.208] } as const;

/** Dollars of this many calls. */
export function dollarsOf(calls: number): number {
  return (calls * DOLLARS_PER_MILLION_CALLS) / 1_000_000;
}
