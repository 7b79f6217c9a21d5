/** Isolates all over the world and the one store that they share: the code of src/ on a virtual clock and network. */

import { LEASES } from "../../src/features/leases/wrap.ts";
import { SHARED } from "../../src/features/shared/wrap.ts";
import { Flag, type KeyRequest } from "../../src/kernel/core/take.ts";
import { createIsolate } from "../../src/kernel/place/isolate.ts";
import type { PartReply } from "../../src/kernel/place/taker.ts";
import { memoryStore } from "../../src/kernel/store/memory.ts";
import { type Store, StoreError } from "../../src/kernel/store/store.ts";
import type { VirtualTime } from "../../test/support/virtual-time.ts";

export interface Isolate {
  /** Takes like a request of a Worker with background work that may outlast the answer. @throws {StoreError} */
  take(keys: readonly KeyRequest[], mode: Mode): Promise<PartReply>;
}

export type Mode = "strict" | "leased" | "shared";

export interface World {
  /** The number of calls that reached the store. */
  calls(): number;
  /**
   * @param delayMs the delay of the next message to the store or back, in ms.
   * @param offsetMs how far the isolate's clock is ahead of the store's.
   * @param random as for `createIsolate`.
   */
  isolate(delayMs: () => number, offsetMs: number, random?: () => number): Isolate;
}

export function createWorld(time: VirtualTime): World {
  const memory = memoryStore({ maxKeys: 1_000_000 });
  let calls = 0;

  return {
    calls: () => calls,
    isolate(delayMs, offsetMs, random) {
      const store: Store = {
        kind: "redis",
        keySecret: "",
        async take(request) {
          await time.sleep(delayMs());
          calls++;
          const reply = await memory.take(request, Math.floor(time.nowMs()));
          await time.sleep(delayMs());
          return reply;
        },
        reset: (keys) => memory.reset(keys),
        ping: () => memory.ping(),
      };
      const timing = { nowMs: () => Math.floor(time.nowMs() + offsetMs), sleep: time.sleep };
      const { strict, wrapped } = createIsolate(store, timing, { random, wraps: [SHARED, LEASES] });
      const takers = { strict, leased: wrapped(LEASES), shared: wrapped(SHARED) };
      const background = { waitUntil() {} };
      return {
        async take(keys, mode) {
          const lines = keys.map((request) => ({ request, onFailure: "deny" as const }));
          const { replies, failure } = await takers[mode].take({ lines, flag: Flag.take, slot: 0 }, { background });
          if (failure) throw new StoreError(failure);
          return replies[0]!;
        },
      };
    },
  };
}
