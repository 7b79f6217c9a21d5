/** A store far away, over one in memory, which a test can make fail. */

import { Flag } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { Store, StoreError } from "../../../src/kernel/store/store.ts";

/** @param clockMs how far the store's clock is ahead of the local one. */
export function farStore({ clockMs = 0 } = {}) {
  const memory = memoryStore();
  const state = {
    calls: 0,
    /** Takes fail with it: of these flags, before they run or after. */
    failure: undefined as StoreError | undefined,
    fails: Object.values(Flag) as readonly Flag[],
    runsFirst: false,
  };
  const store: Store = {
    ...memory,
    kind: "redis",
    async take(request) {
      state.calls++;
      const { failure, fails, runsFirst } = state;
      const isFailing = failure && fails.includes(request.flag);
      if (isFailing && !runsFirst) throw failure;
      const reply = await memory.take(request, Date.now() + clockMs);
      if (isFailing) throw failure;
      return reply;
    },
  };
  return { memory, store, state };
}
