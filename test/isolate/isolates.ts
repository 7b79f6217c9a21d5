/** Isolates that share one store, on a virtual clock and network: the code of src/isolate and src/core. */

import type { LimitValue } from "../../src/core/algorithms.ts";
import type { Records } from "../../src/core/records.ts";
import { Flag, type KeyRequest, type TakeReply, take } from "../../src/core/take.ts";
import { createKnownRefusals, type KnownRefusals } from "../../src/isolate/known-refusals.ts";
import { countPendingUnits } from "../../src/isolate/pending-units.ts";
import { createStoreClock, type StoreClock } from "../../src/isolate/store-clock.ts";
import { type CallTimes, createToldCounts, type ToldCounts } from "../../src/isolate/told-counts.ts";

/** The store: it holds what Redis would hold, and decides with src/core. */
export function virtualStore(values = new Map<string, Records | LimitValue>()) {
  return {
    /** What the store would say at another instant. It looks at a copy, because a look drops expired counts. */
    look: (keys: readonly KeyRequest[], nowMs: number): TakeReply =>
      virtualStore(new Map(values)).take(keys, Flag.look, nowMs),
    take(keys: readonly KeyRequest[], flag: Flag, nowMs: number): TakeReply {
      const stored = {
        records: (key: string) => values.get(key) as Records | undefined,
        value: (key: string) => values.get(key) as LimitValue | undefined,
      };
      const { reply, records, values: limitValues } = take(stored, { keys, flag }, nowMs);
      for (const written of records) values.set(written.key, written.records);
      for (const written of limitValues) {
        if (written.kept) values.set(written.key, written.kept.value);
        else values.delete(written.key);
      }
      return reply;
    },
  };
}

/** One isolate: what it remembers, and how far its clock is ahead of the store's. */
export interface Isolate {
  readonly clock: StoreClock;
  readonly told: ToldCounts;
  readonly refusals: KnownRefusals;
  offsetMs: number;
}

export function isolate(offsetMs: number): Isolate {
  const clock = createStoreClock();
  const told = createToldCounts(countPendingUnits());
  return { clock, told, refusals: createKnownRefusals({ told, clock, inFlight: countPendingUnits() }), offsetMs };
}

/** Times of a call. Calls are numbered as if one was sent in each millisecond. */
export function callTimes(sentAtMs: number, receivedAtMs: number): CallTimes {
  return { sentAtMs, receivedAtMs, call: sentAtMs, lastCall: receivedAtMs - 1 };
}

/** The reply to a request, and whether the isolate gave it without a call. */
export interface Outcome {
  readonly reply: TakeReply;
  readonly local: boolean;
}

/** @param delayMs the time to the store, and the time back. */
export function request(
  store: ReturnType<typeof virtualStore>,
  { clock, told, refusals, offsetMs }: Isolate,
  keys: readonly KeyRequest[],
  nowMs: number,
  delayMs: readonly [there: number, back: number],
): Outcome {
  const sentAtMs = nowMs + offsetMs;
  const refusal = refusals.refusal({ keys, flag: Flag.take }, sentAtMs);
  if (refusal) return { reply: refusal, local: true };
  const reply = store.take(keys, Flag.take, nowMs + delayMs[0]);
  const receivedAtMs = sentAtMs + delayMs[0] + delayMs[1];
  if (!clock.observe(sentAtMs, receivedAtMs, reply.nowMs)) told.clearRefusals(0);
  told.hear({ keys, flag: Flag.take }, reply, callTimes(sentAtMs, receivedAtMs));
  return { reply, local: false };
}
