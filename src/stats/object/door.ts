/** The object that adds up, as the gateway sees it. */

import type { StatsSettings } from "../../config/counts.ts";
import { type Rejected, rejectedByOlder } from "../../store/rejected.ts";
import { withinBudget } from "../../time-budget.ts";
import type { Batch } from "../batch.ts";
import { replyOf, type StatsObject } from "./reply.ts";

export { MAX_MINUTES } from "./counts.ts";
export { CONTENT_TYPE, prometheusText } from "./prometheus.ts";

/** The name of the object. It must never change: another name is another object, which starts at zero. */
export const STATS_NAME = "headgate:stats";
/** An operator waits, and no client does. */
const READ_BUDGET_MS = 10_000;

export type Stats = NonNullable<ReturnType<typeof statsDoor>>;

/** Undefined: there are no metrics. No I/O until the first call. */
export function statsDoor({ namespace, flushMs }: StatsSettings) {
  if (!namespace || flushMs === 0) return undefined;
  // A stub is of no use after an exception: every call gets its own.
  const stub = () => namespace.get(namespace.idFromName(STATS_NAME)) as StatsObject;
  const within = <T>(call: (stats: StatsObject) => Promise<T>) =>
    withinBudget(
      // The promise of a stub is not quite a promise.
      (async () => await call(stub()))(),
      { budgetMs: READ_BUDGET_MS, timeoutMs: READ_BUDGET_MS },
    );
  return {
    /** Resolves when the batch is durable, or with why the object will never add it. No time budget. */
    async add(batch: Batch): Promise<undefined | Rejected> {
      try {
        return await stub().add(batch);
      } catch (error) {
        const rejected = rejectedByOlder(error);
        if (!rejected) throw error;
        return rejected;
      }
    },
    /** @param minutes 1 … `MAX_MINUTES`. */
    read: async (minutes: number) => replyOf(await within((stats) => stats.read(minutes)), flushMs),
    totals: () => within((stats) => stats.totals()),
  };
}
