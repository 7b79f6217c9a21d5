/** Isolates all over the world and the one store that they share: the code of src/, on a virtual clock and network. */

import { Flag, type KeyRequest } from "../../src/core/take.ts";
import type { Answer, Answers } from "../../src/region/answers.ts";
import { regional } from "../../src/region/regional.ts";
import { memoryStore } from "../../src/store/memory.ts";
import type { Store } from "../../src/store/store.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Isolate {
  /** Asks like a request of a Worker that may work on after its answer. */
  take(keys: readonly KeyRequest[], leased: boolean): Promise<Answer>;
  /** How far its clock is ahead of the store's, in ms. */
  offsetMs: number;
}

export interface World {
  /** Calls that reached the store. */
  calls(): number;
  /** @param delayMs one way to the store or back, for the next message. */
  isolate(delayMs: () => number, offsetMs?: number): Isolate;
}

export function createWorld(time: VirtualTime): World {
  const central = memoryStore({ maxKeys: 1_000_000 });
  let calls = 0;

  return {
    calls: () => calls,
    isolate(delayMs, offsetMs = 0) {
      const store: Store = {
        kind: "redis",
        keySecret: "",
        async take(request) {
          await time.sleep(delayMs());
          calls++;
          const reply = await central.take(request, Math.floor(time.nowMs()));
          await time.sleep(delayMs());
          return reply;
        },
        reset: (keys) => central.reset(keys),
        ping: () => central.ping(),
      };
      const timing = { nowMs: () => Math.floor(time.nowMs() + isolate.offsetMs), sleep: time.sleep };
      const answers: Answers = regional(store, timing);
      const background = { waitUntil() {} };
      const isolate: Isolate = {
        offsetMs,
        take: (keys, leased) => answers.take({ keys, flag: Flag.take }, leased ? background : undefined),
      };
      return isolate;
    },
  };
}
