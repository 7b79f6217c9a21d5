import { expect, it } from "vitest";
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

// test/kernel/bounded-map.test.ts proves the bound.
it("forgets the key used longest ago, of at most twice as many as it keeps, and then starts it at zero", async () => {
  const limit: WindowLimit = { limit: 1000, kind: Kind.weighted, bucketMs: 60_000, buckets: 1 };
  const store = memoryStore({ maxKeys: 3 });
  const ask = async (key: string, cost = 1) => {
    const reply = await store.take({ keys: [keyRequest(key, [limit], { cost })], flag: Flag.take }, 1_700_000_000_000);
    return firstWindow(reply).counts[0]!;
  };
  const names = Array.from({ length: 20 }, (_, i) => `key ${i}`);
  for (const key of ["seldom", "looked at", ...names]) {
    await ask(key);
    await ask("looked at", 0);
  }
  expect([await ask("looked at", 0), await ask("key 19", 0), await ask("seldom")]).toEqual([1, 1, 1]);
  const known = [];
  for (const key of names) if ((await ask(key, 0)) > 0) known.push(key);
  expect(known.length).toBeLessThanOrEqual(6);
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])("refuses maxKeys %s when it is made", (maxKeys) => {
  expect(() => memoryStore({ maxKeys })).toThrow(TypeError);
});
