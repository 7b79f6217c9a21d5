// Reservations over a real Redis: after settling, the counts are what was used.

import { randomUUID } from "node:crypto";
import { afterAll, expect, inject, it } from "vitest";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { createLimiter, type Limiter } from "../../../src/limiter.ts";
import { redisStore } from "../../../src/stores/redis-store.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { partOf } from "../../support/cases/draws.ts";
import { startCountsWorker } from "../../support/objects/counts-worker.ts";

/** A long budget for a busy machine. */
const options = { url: inject("restUrl"), token: inject("restToken"), timeoutMs: 30_000 };
const RUN = randomUUID();
const LIMIT = 200_000_000;
const fixed = { algorithm: "fixed-window", limit: LIMIT, window: "31d" } as const;
const policies: PolicyInput[] = [
  { name: "tokens", limits: [fixed, { limit: LIMIT, window: "30d", buckets: 60, scope: "region" }] },
  { name: "shadow", mode: "shadow", limits: [fixed] },
  { name: "requests", limits: [fixed] },
  { name: "flight", limits: [{ algorithm: "concurrency", limit: 1_000 }] },
];
const names = policies.map(({ name }) => name);
const keys = names.map((policy) => ({ policy, key: RUN }));

const limiter = createLimiter({ policies, store: redisStore(options) });
const worker = await startCountsWorker();
afterAll(async () => {
  for (const name of names) await limiter.reset(name, { key: RUN });
  await worker.stop();
});

/** Requests of random sizes, 20 at a time. @returns the units that were used. */
async function manyRequests(limiter: Limiter, count: number): Promise<{ tokens: number; requests: number }> {
  let [started, tokens, requests] = [0, 0, 0];
  const random = (most: number) => Math.floor(Math.random() * most);
  const worker = async () => {
    while (started++ < count) {
      const reservation = await limiter.reserve(
        keys.map((key) => ({ ...key, cost: key.policy === "requests" ? 1 : 1 + random(5_000) })),
      );
      expect([reservation.decision.allowed, reservation.decision.source === "fallback"]).toEqual([true, false]);
      const reserved = reservation.reserved.tokens!;
      const more = random(4) === 0 ? 256 : 0;
      if (more > 0) expect((await reservation.extend({ tokens: more })).allowed).toBe(true);
      const kind = random(4);
      if (kind === 0) {
        await reservation.release();
        continue;
      }
      const used = kind === 1 ? reserved + more : random(8_000);
      await reservation.settle({ tokens: used, shadow: used });
      tokens += used;
      requests++;
    }
  };
  await Promise.all(Array.from({ length: 20 }, worker));
  return { tokens, requests };
}

async function leftOf(limiter: Limiter): Promise<Record<string, number>> {
  const { limits, shadow } = await limiter.peek(keys);
  return Object.fromEntries([...limits, ...shadow].map(({ limit, remaining }) => [limit.id, remaining]));
}

it.each<[number, string, () => Store]>([
  [partOf(500), "Redis", () => redisStore(options)],
  [partOf(100), "a Durable Object", () => remoteStore(worker.store, { timeoutMs: 30_000 })],
])("counts exactly what was settled of %i random reservations, 20 at a time: %s", async (count, _store, open) => {
  const limiter = createLimiter({ policies, store: open() });
  const before = await leftOf(limiter);
  const { tokens, requests } = await manyRequests(limiter, count);
  const after = await leftOf(limiter);
  expect(Object.fromEntries(Object.entries(before).map(([id, left]) => [id, left - after[id]!]))).toEqual({
    ...{ "tokens-1": tokens, "tokens-2": tokens, shadow: tokens, requests, flight: 0 },
  });
});
