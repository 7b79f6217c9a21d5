/** Isolates with everything that `remoteStore` adds, far from a store that is slow or dead, in virtual time. */

import { withVirtualGlobals } from "../../../scripts/simulate/scale/globals.ts";
import type { PolicyInput } from "../../../src/kernel/config/policy-input.ts";
import type { TakeRequest } from "../../../src/kernel/core/take.ts";
import { memoryStore } from "../../../src/kernel/store/memory.ts";
import type { StoreError } from "../../../src/kernel/store/store.ts";
import type { Limiter } from "../../../src/limiter.ts";
import { remoteStore } from "../../../src/stores/remote-store.ts";
import { createLimiter } from "../../support/limiter.ts";
import { mulberry32 } from "../../support/mulberry32.ts";
import { type VirtualTime, virtualTime } from "../../support/virtual-time.ts";

export const START_MS = 1_800_000_000_000;

interface Link {
  /** How long the next reply is under way, in ms. undefined: no reply comes, and the call does not run. */
  delayMs: () => number | undefined;
  /** Set: the store refuses each call with it, at once. */
  error: StoreError | undefined;
}

export interface SlowWorld {
  readonly time: VirtualTime;
  readonly link: Link;
  readonly limiters: readonly Limiter[];
  readonly calls: readonly TakeRequest[];
  /** The changes of all breakers, `open` or `closed`. */
  readonly breakers: readonly string[];
  readonly background: { waitUntil(work: Promise<unknown>): void };
  /** What the store itself says is left under a policy. */
  leftAtStore(policy: string): Promise<number>;
  /** Lets this many ms pass. */
  pass(ms: number): Promise<void>;
}

/** Runs `story` in virtual time: the local clock and its timers go by it. */
export async function inSlowWorld<T>(
  policies: readonly PolicyInput[],
  isolates: number,
  story: (world: SlowWorld) => Promise<T>,
): Promise<T> {
  const time = virtualTime(START_MS);
  const central = memoryStore();
  const link: Link = { delayMs: () => 10, error: undefined };
  const calls: TakeRequest[] = [];
  const breakers: string[] = [];
  const far = {
    ...central,
    kind: "redis",
    async take(request: TakeRequest) {
      calls.push(request);
      const delayMs = link.delayMs();
      if (link.error) throw link.error;
      if (delayMs === undefined) return await new Promise<never>(() => {});
      const reply = await central.take(request);
      await time.sleep(delayMs);
      return reply;
    },
  };
  return await withVirtualGlobals(time, mulberry32(1), async () => {
    const limiters = Array.from({ length: isolates }, () => {
      const store = remoteStore(far, { onBreakerChange: ({ state }) => void breakers.push(state) });
      return createLimiter({ policies, store, onDecision() {} });
    });
    const itself = createLimiter({ policies, store: central });
    const leftAtStore = async (policy: string) => (await itself.peek(policy)).remaining!;
    const pass = async (ms: number) => {
      // What was begun before makes its first call.
      await new Promise(setImmediate);
      await time.runUntil(time.nowMs() + ms);
    };
    return await story({ time, link, limiters, calls, breakers, background: { waitUntil() {} }, leftAtStore, pass });
  });
}
