// Very many new clients: the memory that an isolate uses for them is bounded.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import type { LimitSpec } from "../../../src/kernel/core/algorithms.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import { compileMatcher } from "../../../src/kernel/http/match.ts";
import { newMemory } from "../../../src/kernel/place/memory.ts";
import { remember } from "../../../src/kernel/place/replies.ts";
import { partitionHasher } from "../../../src/kernel/request/hash.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { checkedPolicies } from "../../features/live/policies.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

const MIB = 1024 * 1024;
const NOW_MS = 1_700_000_000_000;
const window: LimitSpec = { kind: Kind.weighted, limit: 1, bucketMs: 60_000, buckets: 1 };
/** The store's key of the i-th client. */
const keyOf = (i: number) => `hg:2:{flood:${String(i).padStart(22, "x")}}`;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/** How much the heap grows during `flood`, in MiB. `held` is used afterwards, so that it is not collected too early. */
async function heapRiseMib(held: unknown, flood: () => Promise<void>): Promise<number> {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await flood();
  collectGarbage();
  const rise = (process.memoryUsage().heapUsed - before) / MIB;
  expect(held).toBeDefined();
  return rise;
}

it("150,000 keys in the memory store", { timeout: 120_000 }, async () => {
  const store = memoryStore();
  const rise = await heapRiseMib(store, async () => {
    for (let i = 0; i < 150_000; i++) {
      await store.take({ keys: [keyRequest(keyOf(i), [window])], flag: Flag.take }, NOW_MS);
    }
  });
  expect(rise).toBeLessThan(25);
});

it("150,000 refused keys in what an isolate remembers", { timeout: 120_000 }, async () => {
  const memory = newMemory();
  const refused = { refused: true, view: { counts: [1, 0], elapsedMs: 0 } } as never;
  const reply = { nowMs: NOW_MS, allowed: false, keys: [[refused]], charged: [] };
  const rise = await heapRiseMib(memory, async () => {
    for (let i = 0; i < 150_000; i++) {
      const request = { keys: [keyRequest(keyOf(i), [window])], flag: Flag.take };
      const times = { receivedAtMs: NOW_MS, call: i, heard: i };
      remember(memory, request, { ...reply, keys: [[{ ...(refused as object) } as never]] }, times);
    }
  });
  expect(rise).toBeLessThan(25);
});

it("30,000 clients with long keys in the hasher, and as many of 64 KiB that it does not keep", {
  timeout: 120_000,
}, async () => {
  const hash = partitionHasher("secret", "");
  const rise = await heapRiseMib(hash, async () => {
    for (let i = 0; i < 30_000; i++) await hash({ kind: "bearer", values: [String(i).padStart(400, "x")] });
    for (let i = 0; i < 300; i++) await hash({ kind: "bearer", values: [String(i).padStart(65_536, "x")] });
  });
  expect(rise).toBeLessThan(20);
});

it("25,000 paths in the matcher", { timeout: 120_000 }, async () => {
  const policies = [{ name: "api", match: { path: "/v1/*" }, limits: [{ limit: 1, window: "1m" }] }];
  const match = compileMatcher(checkedPolicies(policies));
  let matched = 0;
  const rise = await heapRiseMib(match, async () => {
    for (let i = 0; i < 25_000; i++) {
      matched += match(new Request(`https://gate.example/v1/${String(i).padStart(800, "x")}`)).length;
    }
  });
  expect(matched).toBe(25_000);
  expect(rise).toBeLessThan(10);
});

it("10,000 policies, each of a path of its own: a request meets its own and no other", { timeout: 120_000 }, () => {
  const policies = Array.from({ length: 10_000 }, (_, i) => ({
    name: `p${i}`,
    match: { path: `/p${i}/*` },
    cost: [{ path: `/p${i}/free`, cost: 0 }],
    limits: [{ limit: 1, window: "1m" }],
  }));
  const match = compileMatcher(checkedPolicies(policies));
  for (const i of [0, 1, 9, 10, 99, 5_000, 9_999]) {
    const met = ["x", "free"].map((end) => match(new Request(`https://gate.example//P${i}/${end}`)));
    expect(met.map((all) => all.map(({ policy, cost }) => [policy.name, cost]))).toEqual([
      [[`p${i}`, 1]],
      [[`p${i}`, 0]],
    ]);
  }
  expect(match(new Request("https://gate.example/p10000/x"))).toEqual([]);
});
