/**
 * Gates: keys that cost nothing, and only let a request pass or refuse it. An isolate that answers in its store's stead
 * asks about the gates of a key with the calls that it makes about that key anyway.
 */

import type { LimitRecord } from "../core/algorithms.ts";
import { Flag, type KeyRequest, type Stored, type TakeReply, take } from "../core/take.ts";
import { type Memory, recordOf } from "./memory.ts";
import { lastReply } from "./replies.ts";
import type { Now } from "./store-clock.ts";
import type { AskedKey } from "./taker.ts";

export function gatesOf(keys: readonly AskedKey[]): KeyRequest[] {
  return [...new Set(keys.flatMap(({ gate }) => gate ?? []))];
}

/** The same keys with their gates behind them. */
export function withGates(keys: readonly AskedKey[]): KeyRequest[] {
  return [...keys, ...gatesOf(keys)];
}

/** What was heard last about these gates, however long ago. Nothing was heard: they let the request pass. */
export function heardOf(memory: Memory, gates: readonly KeyRequest[], { earliestMs, localAtMs }: Now): TakeReply {
  // The view of a gate is its record.
  const heard: Stored = (key) => {
    const views = lastReply(memory, key)?.replies.map(({ view }) => view as LimitRecord);
    return views ?? recordOf(memory, key)?.own?.records;
  };
  return take(heard, { keys: gates, flag: Flag.look }, earliestMs ?? localAtMs).reply;
}
