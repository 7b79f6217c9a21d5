// The Durable Object in workerd, asked through a Worker.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { describeStore } from "../../../src/testing/index.ts";
import { firstWindow } from "../../../src/testing/store-case.ts";
import { partOf } from "../../support/cases/draws.ts";
import { keyRequest } from "../../support/gateway/counter.ts";
import { startCountsWorker } from "../../support/objects/counts-worker.ts";
import { type ParityCase, parityCases, parityNames } from "../../support/parity/parity-case.ts";
import { planCase } from "../../support/parity/parity-plan.ts";

const worker = await startCountsWorker();
afterAll(() => worker.stop());

// The object runs src/kernel/core, whose memory store tells the vectors in `npm test`. Parity, below, compares the two.
beforeEach(({ task, skip }) => {
  const isLeftOut = task.suite?.name === "the vectors" && process.env.TESTS !== "all";
  skip(isLeftOut, "the vectors through the object are in the long run");
});

describeStore({ open: () => worker.store, clock: async () => Date.now(), damage: worker.damage });

const hour: WindowLimit = { limit: 1_000_000, kind: Kind.weighted, bucketMs: 3_600_000, buckets: 10 };
const charge = (store: Store, key: string, cost = 1) =>
  store.take({ keys: [keyRequest(key, [hour], { cost })], flag: Flag.take });
const countOf = async (store: Store, key: string) =>
  firstWindow(await charge(store, key, 0)).counts.reduce((sum, count) => sum + count, 0);

const CASES = partOf(12);

// The script on Redis is compared with src/kernel/core in test/lua/parity.test.ts, from the same cases.
it.each(parityNames)("replies what a memory store replies, step by step: %s", async (name) => {
  const seed = Number(process.env.PARITY_SEED ?? Date.now() % 2 ** 31);
  let played = 0;
  const play = async (drawn: ParityCase) => {
    const memory = memoryStore();
    const prefix = `parity:${name}:${played++}:`;
    // Damage is in the words of Redis here. The suite above damages the rows of the object.
    const steps = planCase({ ...drawn, steps: drawn.steps.map((step) => ({ ...step, damage: undefined })) });
    for (const { request, nowMs } of steps) {
      const keys = request.keys.map((key) => ({ ...key, key: prefix + key.key }));
      const reply = await worker.store.take({ ...request, keys }, nowMs);
      expect(reply).toEqual(await memory.take({ ...request, keys }, nowMs));
    }
  };
  // Side by side: their calls go to the Worker together.
  const cases = fc.array(parityCases[name], { minLength: CASES, maxLength: CASES });
  const property = fc.asyncProperty(cases, async (all) => void (await Promise.all(all.map(play))));
  await fc.assert(property, { seed, numRuns: 1, endOnFailure: true });
});

it("has every charge that it acknowledged after workerd was killed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-counts-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const first = await startCountsWorker(folder);

  const acknowledged: string[] = [];
  let isAlive = true;
  const client = async (c: number) => {
    for (let i = 0; isAlive; i++) {
      const key = `survives:${c}:${i}`;
      await charge(first.store, key);
      acknowledged.push(key);
    }
  };
  const clients = Array.from({ length: 20 }, (_, c) => client(c).catch(() => {}));
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(300);
  process.kill(first.pid, "SIGKILL");
  await Promise.all(clients);
  isAlive = false;
  await first.stop();

  const second = await startCountsWorker(folder);
  onTestFinished(() => second.stop());
  const counts = await Promise.all(acknowledged.map((key) => countOf(second.store, key)));
  expect(new Set(counts)).toEqual(new Set([1]));
});
