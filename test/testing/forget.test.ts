// A test of a program empties its store: what the isolate remembers of it must go, too.

import { expect, it } from "vitest";
import { memoryStore, remoteStore } from "../../src/index.ts";
import type { Store } from "../../src/kernel/store/store.ts";
import { forgetIsolates } from "../../src/testing/index.ts";
import { createLimiter } from "../support/limiter.ts";

/** A store that is far away, and can be emptied. */
function emptied() {
  let counts = memoryStore();
  let calls = 0;
  const store: Store = {
    kind: "mine",
    keySecret: "a secret for tests",
    take(request, nowMs) {
      calls++;
      return counts.take(request, nowMs);
    },
    reset: (keys) => counts.reset(keys),
    ping: async () => {},
  };
  return {
    store: remoteStore(store),
    empty: () => {
      counts = memoryStore();
    },
    calls: () => calls,
  };
}

it.each(["strict", "leased", "shared"] as const)(
  "a limiter under %s decides anew after its store was emptied",
  async (consistency) => {
    const { store, empty, calls } = emptied();
    const limits = [{ limit: 2, window: "1h" }] as const;
    const limiter = createLimiter({ policies: [{ name: "api", consistency, limits }], store });
    const work: Promise<unknown>[] = [];
    const background = { waitUntil: (one: Promise<unknown>) => void work.push(one) };
    const take = async () => (await limiter.take("api", { key: "ann", background })).allowed;
    const three = async () => [await take(), await take(), await take()];
    expect(await three()).toEqual([true, true, false]);
    await Promise.all(work.splice(0));
    empty();
    expect(await take()).toBe(false);
    forgetIsolates();
    const before = calls();
    expect(await three()).toEqual([true, true, false]);
    await Promise.all(work);
    expect(calls()).toBeGreaterThan(before);
  },
);
