// Isolates that wait for units, and then call an API with a limit of its own (scripts/simulate/wait.ts).

import { expect, it } from "vitest";
import { type Scenario, simulateWaits } from "../../scripts/simulate/wait.ts";

const MINUTE: Omit<Scenario, "seed"> = {
  isolates: 20,
  callers: 1,
  rate: 10,
  apiBurst: 10,
  burst: 1,
  storeMs: [2, 40],
  apiMs: [10, 100],
  durationMs: 60_000,
};

it.each<[string, Scenario]>([
  ["one call at a time in each", { ...MINUTE, seed: 1 }],
  ["a far store", { ...MINUTE, storeMs: [20, 100], seed: 3 }],
  ["a near store", { ...MINUTE, storeMs: [1, 3], seed: 4 }],
  ["50 calls at a time in each", { ...MINUTE, callers: 50, seed: 5 }],
])("20 isolates use 90 % of an API of 10 per second, and it refuses none of their calls: %s", async (_, scenario) => {
  const { used, refused, storeCalls } = await simulateWaits(scenario);
  expect(refused).toBe(0);
  expect(used).toBeGreaterThanOrEqual(0.9);
  expect(used).toBeLessThanOrEqual(1);
  expect(storeCalls).toBeLessThan(18);
});

it("one isolate with many calls uses all of it, if the burst covers a round trip to the store", async () => {
  const { used, refused, storeCalls } = await simulateWaits({
    ...MINUTE,
    isolates: 1,
    callers: 20,
    burst: 3,
    seed: 6,
  });
  expect(refused).toBe(0);
  expect(used).toBeGreaterThan(0.99);
  expect(storeCalls).toBeLessThan(2.5);
});
