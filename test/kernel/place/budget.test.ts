// The store stops answering. A decision ends within its own budget, even if it waits for another request's answer.

import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { ENFORCED, Flag, type TakeReply } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../../src/kernel/store/store.ts";
import { virtualTime } from "../../support/virtual-time.ts";
import { asking } from "./asking.ts";

const START_MS = 1_800_000_000_000;
const BUDGET_MS = 250;
const ROUND_TRIP_MS = 40;
const POLL_MS = 4;
const SECONDS = 2;

/**
 * Sends a request every 3 ms to a limit that is used up. Ten units come back each second. After one second the store
 * stops answering.
 */
async function blackHole(mode: "strict" | "leased") {
  const time = virtualTime(START_MS);
  const central = memoryStore();
  const store: Store = {
    ...central,
    kind: "redis",
    timeoutMs: BUDGET_MS,
    async take(request, _nowMs, budgetMs = BUDGET_MS): Promise<TakeReply> {
      if (time.nowMs() >= START_MS + 1_000) {
        await time.sleep(budgetMs);
        throw new StoreError("TIMEOUT");
      }
      await time.sleep(ROUND_TRIP_MS / 2);
      const reply = await central.take(request, Math.floor(time.nowMs()));
      await time.sleep(ROUND_TRIP_MS / 2);
      return reply;
    },
  };
  const answers = asking(store, { nowMs: () => Math.floor(time.nowMs()), sleep: time.sleep });
  const limits = [{ kind: Kind.weighted, limit: 600, bucketMs: 60_000, buckets: 1 } as const];
  await central.take({ keys: [{ key: "k", group: ENFORCED, cost: 600, limits }], flag: Flag.take }, START_MS - 1);
  const tookMs: number[] = [];
  for (let atMs = 0; atMs < SECONDS * 1_000; atMs += 3) {
    time.at(START_MS + atMs, async () => {
      const cameMs = time.nowMs();
      const request = { keys: [{ key: "k", group: ENFORCED, cost: 1, limits }], flag: Flag.take };
      await answers.take(request, { waitUntil() {} }, mode).catch(() => {});
      tookMs.push(time.nowMs() - cameMs);
    });
  }
  await time.runUntil(START_MS + 10_000);
  return tookMs;
}

it.each(["strict", "leased"] as const)(
  "a decision ends within its budget, also if it waits for another request: %s",
  async (mode) => {
    const tookMs = await blackHole(mode);
    expect(tookMs).toHaveLength(Math.ceil((SECONDS * 1_000) / 3));
    expect(Math.max(...tookMs)).toBeGreaterThanOrEqual(BUDGET_MS);
    expect(Math.max(...tookMs)).toBeLessThanOrEqual(BUDGET_MS + POLL_MS);
  },
);
