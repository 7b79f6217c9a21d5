// What an isolate hands on to STATS, and what happens while STATS is away or of an older version.

import { beforeEach, expect, it, vi } from "vitest";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Rejected } from "../../../src/kernel/store/rejected.ts";
import { createAlerts } from "../../../src/operate/alerts/alerts.ts";
import type { WarningBatch } from "../../../src/operate/alerts/batch.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { limiterOf } from "../../support/limiter.ts";

beforeEach(() => void vi.useFakeTimers({ now: Date.UTC(2026, 10, 22, 10) }));
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

function isolateWith(warn: (batch: WarningBatch) => Promise<undefined | Rejected>) {
  const lines: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((line: string) => void lines.push(JSON.parse(line).event));
  const policies = checkedPolicies([{ name: "api", limits: [{ limit: 10, window: "31d" }], warn: [0.1, 0.8] }]);
  const limiter = limiterOf(policies, { store: memoryStore(), onDecision: createAlerts({ warn }) });
  const background = { waitUntil() {} };
  return {
    lines,
    async requests(from: number, count: number, cost = 1) {
      for (let i = from; i < from + count; i++) await limiter.take("api", { key: `client ${i}`, cost, background });
    },
  };
}

it("hands on what one second has brought in one call; those who are far from the end cost none", async () => {
  const batches: WarningBatch[] = [];
  const { requests } = isolateWith(async (batch) => void batches.push(batch));
  await requests(0, 3);
  await requests(0, 3);
  await pass(1_000);
  expect(batches).toMatchObject([{ leftOut: 0, warnings: [{ warning: { part: 0.1, used: 1 } }, {}, {}] }]);
  await requests(0, 3);
  await pass(60_000);
  expect(batches).toHaveLength(1);
  await requests(0, 1, 5);
  await pass(1_000);
  expect(batches[1]).toMatchObject({ warnings: [{ warning: { part: 0.8, used: 8 } }] });
});

it("an object of an older version, and one that is down, gets them again; one line says so", async () => {
  const batches: WarningBatch[] = [];
  let isOld = true;
  const { requests, lines } = isolateWith(async (batch) => {
    if (isOld) throw new TypeError('The RPC receiver does not implement the method "warn".');
    batches.push(batch);
    return undefined;
  });
  await requests(0, 1);
  await pass(5_000);
  await requests(1, 1_100);
  isOld = false;
  await pass(2_000);
  expect(lines).toEqual(["warnings-unsent"]);
  // 1,000 wait, beside the batch that is sent again.
  expect(batches.map(({ warnings, leftOut }) => [warnings.length, leftOut])).toEqual([
    [1, 0],
    [1_000, 100],
  ]);
});
