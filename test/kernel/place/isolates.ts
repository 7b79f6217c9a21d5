/** Isolates that share one store, on a virtual clock and network: the code of src/kernel/place and src/kernel/core. */

import type { LimitValue } from "../../../src/kernel/core/algorithms.ts";
import type { Records } from "../../../src/kernel/core/records.ts";
import { Flag, type KeyRequest, type TakeReply, take } from "../../../src/kernel/core/take.ts";
import { learn } from "../../../src/kernel/place/calls.ts";
import { type Memory, newMemory } from "../../../src/kernel/place/memory.ts";
import { knownRefusal, TRUSTED_ALONE_MS } from "../../../src/kernel/place/refusals.ts";
import { nowBy } from "../../../src/kernel/place/store-clock.ts";

/** The store: it holds what Redis would hold, and decides with src/kernel/core. */
export function virtualStore(values = new Map<string, Records | LimitValue>()) {
  return {
    /** What the store would say at another instant. It looks at a copy, because a look drops expired counts. */
    look: (keys: readonly KeyRequest[], nowMs: number): TakeReply =>
      virtualStore(new Map(values)).take(keys, Flag.look, nowMs),
    take(keys: readonly KeyRequest[], flag: Flag, nowMs: number): TakeReply {
      const { reply, written } = take((key) => values.get(key), { keys, flag }, nowMs);
      for (const { key, value } of written) {
        if (value) values.set(key, value as Records | LimitValue);
        else values.delete(key);
      }
      return reply;
    },
  };
}

/** One isolate: what it remembers, and how far its clock is ahead of the store's. */
export interface Isolate {
  readonly memory: Memory;
  offsetMs: number;
}

export function isolate(offsetMs: number): Isolate {
  return { memory: newMemory(), offsetMs };
}

/** The reply to a request, and whether the isolate gave it without a call. */
export interface Outcome {
  readonly reply: TakeReply;
  readonly local: boolean;
}

/** @param delayMs the time to the store, and the time back. */
export function request(
  store: ReturnType<typeof virtualStore>,
  { memory, offsetMs }: Isolate,
  keys: readonly KeyRequest[],
  nowMs: number,
  delayMs: readonly [there: number, back: number],
): Outcome {
  const sentAtMs = nowMs + offsetMs;
  const refusal = knownRefusal(memory, keys, nowBy(memory.clock, sentAtMs, TRUSTED_ALONE_MS));
  if (refusal) return { reply: refusal, local: true };
  const call = ++memory.last;
  const reply = store.take(keys, Flag.take, nowMs + delayMs[0]);
  const receivedAtMs = sentAtMs + delayMs[0] + delayMs[1];
  learn(memory, { request: { keys, flag: Flag.take }, reply, call, sentAtMs, receivedAtMs });
  return { reply, local: false };
}
