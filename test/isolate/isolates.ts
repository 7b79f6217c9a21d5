/** Isolates that share one store, on a virtual clock and network: the real code of src/region and src/core. */

import type { LimitValue } from "../../src/core/algorithms.ts";
import type { Records } from "../../src/core/records.ts";
import { Flag, type KeyRequest, type TakeReply, take } from "../../src/core/take.ts";
import { createKnownCounts, type KnownCounts } from "../../src/isolate/known-counts.ts";
import { countPendingUnits } from "../../src/isolate/pending-units.ts";
import { createStoreClock, type StoreClock } from "../../src/isolate/store-clock.ts";

/** The store: what Redis would hold, decided by core. */
export function virtualStore(values = new Map<string, Records | LimitValue>()) {
  return {
    /** What it would say at another instant: even a look there drops what has expired by then. */
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

/** One isolate: how far its clock is ahead of the store's, and what it remembers. */
export interface Isolate {
  readonly clock: StoreClock;
  readonly counts: KnownCounts;
  offsetMs: number;
}

export function isolate(offsetMs: number): Isolate {
  const clock = createStoreClock();
  return { clock, counts: createKnownCounts(clock, countPendingUnits(), countPendingUnits()), offsetMs };
}

/** What became of a request at `nowMs` of the store's clock. */
export interface Outcome {
  readonly reply: TakeReply;
  readonly local: boolean;
}

/** @param delayMs to the store and back, each way. */
export function request(
  store: ReturnType<typeof virtualStore>,
  { clock, counts, offsetMs }: Isolate,
  keys: readonly KeyRequest[],
  nowMs: number,
  delayMs: readonly [there: number, back: number],
): Outcome {
  const sentAtMs = nowMs + offsetMs;
  const refusal = counts.refusal({ keys, flag: Flag.take }, sentAtMs);
  if (refusal) return { reply: refusal, local: true };
  const reply = store.take(keys, Flag.take, nowMs + delayMs[0]);
  const receivedAtMs = sentAtMs + delayMs[0] + delayMs[1];
  if (!clock.observe(sentAtMs, receivedAtMs, reply.nowMs)) counts.clear();
  counts.learn({ keys, flag: Flag.take }, reply, sentAtMs, receivedAtMs);
  return { reply, local: false };
}
