/** A place, and what a flow needs to call it. Between two awaits a flow runs only functions over the memory. */

import type { Store } from "../../store/store.ts";
import type { IsolateListener } from "../listener.ts";
import type { Memory } from "../memory.ts";
import type { OwnErrors } from "../own-errors.ts";
import { type Now, nowBy } from "../store-clock.ts";
import type { Timing } from "../timing.ts";

export interface Place {
  readonly store: Store;
  readonly memory: Memory;
  readonly timing: Timing;
  /** For how long a reply may refuse other requests, in milliseconds. */
  readonly trustedMs: () => number;
  readonly ownErrors: OwnErrors;
  /** Absent: nobody listens. */
  readonly listener?: IsolateListener | undefined;
}

/** It is not used after an await. */
export function nowAt({ memory, timing, trustedMs }: Place): Now {
  return nowBy(memory.clock, timing.nowMs(), trustedMs());
}

/** Tells the listener what has become of leased units. */
export function tellListener({ memory, listener, ownErrors }: Place): void {
  if (!memory.events || memory.events.length === 0) return;
  const events = memory.events;
  memory.events = [];
  for (const { key, event, units } of events) ownErrors.attempt(() => listener?.leaseUnits(key, event, units));
}
