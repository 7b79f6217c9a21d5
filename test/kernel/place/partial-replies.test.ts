// Replies about some limits of a key: an extension of a reservation leaves out slots. What is remembered of such a
// reply must not be read as a reply about all limits.

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LimitInput, PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import { withIsolate } from "../../../src/kernel/place/isolate.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store } from "../../../src/kernel/store/store.ts";
import { createLimiter } from "../../../src/limiter.ts";
import { splitStore } from "../../../src/stores/split-store.ts";

beforeEach(() => void vi.useFakeTimers({ now: 1_700_000_040_000, toFake: ["Date"] }));
afterEach(() => void vi.useRealTimers());

const background = { waitUntil() {} };
const tokens: LimitInput = { limit: 10, window: "1h" };
// The same number as that of the window: the number alone does not tell them apart.
const slots: LimitInput = { algorithm: "concurrency", limit: 10, timeout: "1m" };
const far = () => withIsolate({ ...memoryStore(), kind: "redis" });

const PLACES: readonly [string, () => Store][] = [
  ["one place", far],
  ["two places", () => splitStore([far(), far()], (key) => (key.includes("{site:") ? 1 : 0))],
];

// limiter/fuzz has other orders of limits, and failures.
it.each(PLACES)("over %s", async (_, storeOf) => {
  const limits = [slots, tokens, { ...tokens, limit: 20, window: "1d" } as LimitInput];
  const policies: PolicyInput[] = [
    { name: "jobs", key: ["global"], limits },
    { name: "site", key: ["global"], limits: [{ limit: 1_000, window: "1h" }] },
  ];
  const failures: unknown[] = [];
  const onDecision = (_: unknown, { failure }: { failure?: unknown }) => void (failure && failures.push(failure));
  const limiter = createLimiter({ policies, store: storeOf(), onDecision });
  const both = [{ policy: "jobs" }, { policy: "site" }];

  const reservation = await limiter.reserve(both, { cost: 4, background });
  expect((await reservation.extend({ jobs: 3 })).allowed).toBe(true);
  // No units are left for this one: the refusal is about the units alone.
  expect((await reservation.extend({ jobs: 4 })).allowed).toBe(false);
  const answers = [];
  for (let i = 0; i < 20; i++) answers.push(await limiter.take(both, { background }));
  expect(answers.map(({ allowed }) => allowed)).toEqual(answers.map((_, i) => i < 3));
  expect(failures).toEqual([]);
  // The whole list is known again after the store's own refusal, and an extension is a part of it.
  expect(answers.at(-1)).toMatchObject({ source: "cache" });
  expect((await reservation.extend({ jobs: 1 })).source).toBe("cache");
});
