/**
 * Gates: keys that cost nothing, and only let a request pass or refuse it. An isolate that answers in its store's stead
 * asks about the gates of a key with the calls that it makes about that key anyway.
 */

import { Flag, type KeyRequest, type TakeReply } from "../core/take.ts";
import type { Memory } from "./memory.ts";
import { takeAlone } from "./own-counts.ts";
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
export function heardOf(memory: Memory, gates: readonly KeyRequest[], now: Now): TakeReply {
  return takeAlone(memory, { keys: gates, flag: Flag.look }, now, 0);
}
