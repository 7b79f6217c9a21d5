// What an isolate keeps in memory, and what requests wait for, whatever STATS does.

import { beforeEach, expect, it, vi } from "vitest";
import type { StatsSettings } from "../../../src/kernel/config/counts.ts";
import { type Decision, decide } from "../../../src/kernel/core/decision.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { createLimiter, type DecisionContext } from "../../../src/limiter.ts";
import type { Batch } from "../../../src/operate/stats/batch.ts";
import { statsDoor } from "../../../src/operate/stats/object/door.ts";
import { createStats } from "../../../src/operate/stats/stats.ts";
import { partOf } from "../../support/cases/draws.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22) }));

const MINUTES = 100;
/** The bound is the same for 50,000 clients and for a million, which take longer to count. */
const CLIENTS_PER_MINUTE = partOf(2_000);

const { policies } = createLimiter({
  policies: ["a", "b"].map((name) => ({ name, limits: [{ limit: 1, window: "1h" }] })),
  store: memoryStore(),
});

/** A refusal of a client by both policies. */
function refusalOf(client: string): [Decision, DecisionContext] {
  const refused = { admitted: false, remaining: 0, resetAfterMs: 1_000 };
  const refusals = policies.map((policy) => {
    return { policy, became: "refused" as const, limits: [{ policy, limit: policy.limits[0]!, ...refused }] };
  });
  const takes = policies.map((policy) => ({ policy, kind: "ip", partition: client, cost: 1 }));
  return [decide("cache", refusals), { takes, region: "eu", background: { waitUntil() {} } }];
}

it("refusals of very many clients fit into little memory while STATS hangs, and are handed on afterwards", async () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  let isAway = true;
  const batches: Batch[] = [];
  const add = (batch: Batch) => (isAway ? new Promise<void>(() => {}) : Promise.resolve(void batches.push(batch)));
  const namespace = { idFromName: (name: string) => name, get: () => ({ add }) };
  const stats = createStats(statsDoor({ namespace, flushMs: 30_000 } as unknown as StatsSettings)!, 30_000, []);

  let client = 0;
  for (let minute = 0; minute < MINUTES; minute++) {
    for (let i = 0; i < CLIENTS_PER_MINUTE; i++) stats.onDecision(...refusalOf(`client ${client++}`));
    await vi.advanceTimersByTimeAsync(60_000);
  }
  isAway = false;
  stats.onDecision(...refusalOf("the last one"));
  await vi.advanceTimersByTimeAsync(60_000);

  const counted = batches.flatMap(({ minutes }) => minutes);
  const refused = counted.map(({ sums }) => sums["decisions\ta\teu\trefused\tcache"] ?? 0);
  expect(refused.reduce((a, b) => a + b)).toBe(MINUTES * CLIENTS_PER_MINUTE + 1);
  for (const { minutes } of batches) expect(minutes.length).toBeLessThanOrEqual(10);
  for (const { top } of counted) for (const list of Object.values(top)) expect(list.length).toBeLessThanOrEqual(64);
  expect(JSON.stringify(batches).length).toBeLessThan(100_000);
  expect(warned).toHaveBeenCalledTimes(1);
});

it("what is counted of requests without an execution context is handed on, too", async () => {
  const batches: Batch[] = [];
  const add = async (batch: Batch) => void batches.push(batch);
  const namespace = { idFromName: (name: string) => name, get: () => ({ add }) };
  const stats = createStats(statsDoor({ namespace, flushMs: 5_000 } as unknown as StatsSettings)!, 5_000, []);
  const [decision, { background: _, ...context }] = refusalOf("ann");
  stats.onDecision(decision, context);
  await vi.advanceTimersByTimeAsync(5_000);
  stats.onSettled({ settled: [{ policy: "a", paidFor: "a", units: 3 }], answeredBy: undefined }, undefined);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(batches).toHaveLength(2);
});
