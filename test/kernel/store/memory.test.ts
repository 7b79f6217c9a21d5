import { describe, expect, it } from "vitest";
import { Kind } from "../../../src/kernel/core/algorithm.ts";
import { Flag } from "../../../src/kernel/core/take.ts";
import type { WindowLimit } from "../../../src/kernel/core/window.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import { describeStore } from "../../../src/testing/describe-store.ts";
import { firstWindow } from "../../../src/testing/store-case.ts";
import { keyRequest } from "../../support/gateway/counter.ts";

describeStore({
  open: () => memoryStore(),
  clock: async () => Date.now(),
  damage: "its values are objects in the memory of the isolate, which nobody else reaches",
  isAlone: "each memory store counts for itself, which its documentation says",
});

describe("the bound on its keys", () => {
  const limit: WindowLimit = { limit: 1000, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };
  const NOW_MS = 1_700_000_000_000;

  /** A store that keeps at least three keys. */
  function smallStore() {
    const store = memoryStore({ maxKeys: 3 });
    const ask = async (key: string, cost: number) => {
      const reply = await store.take({ keys: [keyRequest(key, [limit], { cost })], flag: Flag.take }, NOW_MS);
      return firstWindow(reply).counts[0]!;
    };
    return { charge: (key: string) => ask(key, 1), isKnown: async (key: string) => (await ask(key, 0)) > 0 };
  }
  const names = (count: number) => Array.from({ length: count }, (_, i) => `key ${i}`);

  it.each([3, 4, 5, 6, 7, 8, 100])("remembers the last 3 of %i keys", async (count) => {
    const { charge, isKnown } = smallStore();
    for (const key of names(count)) await charge(key);
    const last = names(count).slice(-3);
    expect(await Promise.all(last.map(isKnown))).toEqual([true, true, true]);
  });

  it.each([7, 8, 9, 100])("remembers at most 6 of %i keys", async (count) => {
    const { charge, isKnown } = smallStore();
    for (const key of names(count)) await charge(key);
    const known = [];
    for (const key of names(count)) if (await isKnown(key)) known.push(key);
    expect(known.length).toBeLessThanOrEqual(6);
  });

  it("forgets the key used longest ago, and then starts it at zero", async () => {
    const { charge, isKnown } = smallStore();
    await charge("seldom");
    for (const key of names(20)) {
      await charge(key);
      await charge("often");
    }
    expect([await isKnown("seldom"), await isKnown("often")]).toEqual([false, true]);
    expect(await charge("seldom")).toBe(1);
  });
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses maxKeys %s when it is made", (maxKeys) => {
  expect(() => memoryStore({ maxKeys })).toThrow(TypeError);
});
