/** What the object answers by RPC. */

import type { Rejected } from "../../store/rejected.ts";
import type { Batch } from "../batch.ts";
import type { Timeline } from "./timeline.ts";
import type { Lists } from "./top.ts";

/** The object, as its callers see it. */
export interface StatsObject {
  add(batch: Batch): Promise<undefined | Rejected>;
  read(minutes: number): Promise<Told>;
  totals(): Promise<Totals>;
}

/** The last minutes. Series stand once and not with every point: a day is much smaller so. */
export interface Told {
  readonly timeline: Timeline;
  readonly top: Lists;
  /** Isolates that have stopped calling a place, by place. */
  readonly open: ReadonlyMap<string, number>;
  /** When the last batch arrived, ms since the epoch. */
  readonly heardAtMs: number | undefined;
}

export interface Totals {
  /** The sums since counting began, by series. A sum only grows, until its series is forgotten (totals.ts). */
  readonly sums: ReadonlyMap<string, number>;
  readonly open: ReadonlyMap<string, number>;
}
