/** Very many clients against src/kernel/place. The store answers at once, and the clock is virtual. */

import { LEASES } from "../src/features/leases/wrap.ts";
import { Kind } from "../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../src/kernel/core/algorithms.ts";
import type { Records } from "../src/kernel/core/records.ts";
import { ENFORCED, Flag, type KeyRequest, take } from "../src/kernel/core/take.ts";
import { createIsolate } from "../src/kernel/place/isolate.ts";
import type { Store } from "../src/kernel/store/store.ts";
import { virtualTime } from "../test/support/virtual-time.ts";

const HOUR_MS = 3_600_000;
/** The beginning of an hour, in ms since the epoch. */
const START_MS = 472_222 * HOUR_MS;
/** New clients per second. */
const KEYS_PER_SECOND = 1_000;
/** Clients that keep asking, each once a second. */
const ACTIVE = 10;
export const ACTIVE_LIMIT = 20;

const window = (limit: number): LimitSpec => ({ kind: Kind.weighted, limit, bucketMs: HOUR_MS, buckets: 1 });

/**
 * Under `strict` every client uses up its limit, so that the isolate remembers its counts. Under `leased` every client
 * gets a lease.
 *
 * @param each is called ten times on the way, while all counts and leases are still in memory.
 *
 * @returns how often each client that keeps asking was admitted.
 */
export async function keysThrough(mode: "strict" | "leased", keys: number, each: () => void): Promise<number[]> {
  const time = virtualTime(START_MS);
  const { strict, wrapped } = createIsolate(storeOfActive(time.nowMs), time, { wraps: [LEASES] });
  const taker = mode === "strict" ? strict : wrapped(LEASES);
  const background = { waitUntil() {} };
  const ask = async (key: string, limit: number): Promise<boolean> => {
    const one: KeyRequest = { key, group: ENFORCED, cost: 1, limits: [window(limit)] };
    const lines = [{ request: one, onFailure: "deny" as const }];
    const { outcome } = await taker.take({ lines, flag: Flag.take, slot: 0 }, { background });
    return outcome === "admitted";
  };

  const admitted = new Array<number>(ACTIVE).fill(0);
  for (let i = 0; i < keys; i++) {
    await time.runUntil(START_MS + (1000 * i) / KEYS_PER_SECOND);
    const key = `hg:2:{passing:${String(i).padStart(22, "0")}}`;
    // Under a high limit, a client's second request is the first one that leases units ahead of demand.
    if (mode === "strict") await ask(key, 1);
    else for (let again = 0; again < 2; again++) await ask(key, 1_000_000);
    const active = i % KEYS_PER_SECOND;
    if (active < ACTIVE && (await ask(`active:${active}`, ACTIVE_LIMIT))) admitted[active]!++;
    if ((i + 1) % (keys / 10) === 0) each();
  }
  return admitted;
}

/** Decides like any store, but keeps only the counts of active clients, because the store itself is not measured. */
function storeOfActive(nowMs: () => number): Store {
  const values = new Map<string, Records>();
  return {
    kind: "redis",
    keySecret: "",
    async take(request) {
      const { reply, written } = take((key) => values.get(key), request, Math.floor(nowMs()));
      for (const { key, value } of written) if (key.startsWith("active:")) values.set(key, value as Records);
      return reply;
    },
    async reset() {},
    async ping() {},
  };
}
