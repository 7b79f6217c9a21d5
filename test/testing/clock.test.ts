// The clock that tests move, and limiters at it.

import { expect, it } from "vitest";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { createLimiter } from "../../src/limiter.ts";
import { remoteStore } from "../../src/stores/remote-store.ts";
import { fakeClock, storeAt } from "../../src/testing/index.ts";

const limits = [{ algorithm: "sliding-log", limit: 2, window: "1m" }] as const;

it.each([
  ["memoryStore", memoryStore],
  ["a store with all that an isolate adds", () => remoteStore(memoryStore())],
])("a limiter over %s refuses until the clock is moved far enough, and not 1 ms earlier", async (_what, open) => {
  const clock = fakeClock();
  const limiter = createLimiter({ policies: [{ name: "a", limits }], store: storeAt(open(), clock) });
  const take = async () => (await limiter.take("a", { key: "ann" })).allowed;
  expect([await take(), await take(), await take()]).toEqual([true, true, false]);
  clock.advance(59_999);
  expect(await take()).toBe(false);
  clock.advance(1);
  expect([await take(), await take(), await take()]).toEqual([true, true, false]);
  await limiter.reset("a", { key: "ann" });
  expect(await take()).toBe(true);
});

it("a store keeps its kind and its own budget, and an instant that is given goes before the clock's", async () => {
  const asked: unknown[] = [];
  const store = storeAt(
    {
      kind: "mine",
      keySecret: "secret",
      timeoutMs: 40,
      take: (_request, nowMs, budgetMs) => {
        asked.push([nowMs, budgetMs]);
        return memoryStore().take({ keys: [], flag: 0 }, nowMs);
      },
      reset: async () => {},
      ping: async () => {},
    },
    fakeClock(7),
  );
  await store.take({ keys: [], flag: 0 });
  await store.take({ keys: [], flag: 0 }, 9, 30);
  expect(asked).toEqual([
    [7, undefined],
    [9, 30],
  ]);
  expect(store).toMatchObject({ kind: "mine", keySecret: "secret", timeoutMs: 40 });
});

it("stands still until it is moved, and never moves back", () => {
  const clock = fakeClock(1_000);
  expect([clock.nowMs(), clock.nowMs()]).toEqual([1_000, 1_000]);
  clock.advance(0);
  clock.advance(250);
  expect(clock.nowMs()).toBe(1_250);
  for (const ms of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, "1" as unknown as number]) {
    expect(() => clock.advance(ms)).toThrow(TypeError);
  }
  for (const startMs of [0, -1, 0.5, Number.NaN]) expect(() => fakeClock(startMs)).toThrow(TypeError);
  expect(clock.nowMs()).toBe(1_250);
});
