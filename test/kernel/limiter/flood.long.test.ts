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

/** What is held, and what is done with it for each number. */
type Flood = readonly [held: object, each: (i: number) => unknown];

const FLOODS: readonly [what: string, times: number, mostMib: number, () => Flood][] = [
  [
    "keys in the memory store",
    150_000,
    25,
    () => {
      const store = memoryStore();
      return [store, (i) => store.take({ keys: [keyRequest(keyOf(i), [window])], flag: Flag.take }, NOW_MS)];
    },
  ],
  [
    "refused keys in what an isolate remembers",
    150_000,
    25,
    () => {
      const memory = newMemory();
      const reply = () => ({ refused: true, view: { counts: [1, 0], elapsedMs: 0 } }) as never;
      const refuse = (i: number) => {
        const request = { keys: [keyRequest(keyOf(i), [window])], flag: Flag.take };
        const told = { nowMs: NOW_MS, allowed: false, keys: [[reply()]], charged: [] };
        remember(memory, request, told, { receivedAtMs: NOW_MS, call: i, heard: i });
      };
      return [memory, refuse];
    },
  ],
  [
    "clients with long keys in the hasher, of which it does not keep those of 64 KiB",
    30_300,
    20,
    () => {
      const hash = partitionHasher("secret", "");
      return [hash, (i) => hash({ kind: "bearer", values: [String(i).padStart(i < 30_000 ? 400 : 65_536, "x")] })];
    },
  ],
  [
    "paths in the matcher",
    25_000,
    10,
    () => {
      const policies = [{ name: "api", match: { path: "/v1/*" }, limits: [{ limit: 1, window: "1m" }] }];
      const match = compileMatcher(checkedPolicies(policies));
      const urlOf = (i: number) => `https://gate.example/v1/${String(i).padStart(800, "x")}`;
      return [match, (i) => expect(match(new Request(urlOf(i)))).toHaveLength(1)];
    },
  ],
];

it.each(FLOODS)("%s: %i of them take less than %i MiB", { timeout: 120_000 }, async (_, times, mostMib, begin) => {
  const [held, each] = begin();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < times; i++) await each(i);
  collectGarbage();
  expect((process.memoryUsage().heapUsed - before) / MIB).toBeLessThan(mostMib);
  // It is used afterwards, so that it is not collected too early.
  expect(held).toBeDefined();
});
