/** The object that adds up, as the gateway sees it, and its sums as text for Prometheus. */

import type { StatsSettings } from "../../../kernel/config/counts.ts";
import type { Rejected } from "../../../kernel/store/rejected.ts";
import { withinBudget } from "../../../kernel/time-budget.ts";
import type { WarningBatch } from "../../alerts/batch.ts";
import { type Batch, seriesOf } from "../batch.ts";
import { METRICS, type Metric, SECONDS_BOUNDS } from "../metrics.ts";
import { replyOf, type StatsObject, type Totals } from "./reply.ts";

export { MAX_MINUTES } from "./counts.ts";

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
    add: async (batch: Batch): Promise<undefined | Rejected> => await stub().add(batch),
    /** The same of warnings. */
    warn: async (batch: WarningBatch): Promise<undefined | Rejected> => await stub().warn(batch),
    /** @param minutes 1 … `MAX_MINUTES`. */
    read: async (minutes: number) => replyOf(await within((stats) => stats.read(minutes)), flushMs),
    totals: () => within((stats) => stats.totals()),
  };
}

/** Of the text for Prometheus: the text exposition format, version 0.0.4. */
export const CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** All metrics. @param version of this gateway. */
export function prometheusText({ sums, open }: Totals, version: string): string {
  const samples = (metric: Metric): string[] => {
    if (metric.type === "gauge") return [...open].map(([place, isolates]) => sample(metric, "", [place], isolates));
    if (metric.type === "histogram") return histogram(metric, sums);
    return seriesIn(sums, metric.series).map(([values, sum]) => sample(metric, "", values, sum));
  };
  const info = { name: "headgate_build_info", help: "The gateway that answers.", type: "gauge", labels: ["version"] };
  return [
    ...METRICS.flatMap((metric) => [...head(metric), ...samples(metric)]),
    ...head(info),
    sample(info, "", [version], 1),
    "",
  ].join("\n");
}

/** A series counts the calls of one bucket. For Prometheus, a bucket also counts the calls of all smaller buckets. */
function histogram(metric: Metric, sums: Totals["sums"]): string[] {
  const { series, labels } = metric;
  const bySeries = new Map(
    seriesIn(sums, series).map(([values]) => [values.slice(0, labels.length).join("\t"), values]),
  );
  return [...bySeries.values()].flatMap((found) => {
    const values = found.slice(0, labels.length);
    let calls = 0;
    const buckets = SECONDS_BOUNDS.map((le) => {
      calls += sums.get(seriesOf(series, [...values, le])) ?? 0;
      return sample({ ...metric, labels: [...labels, "le"] }, "_bucket", [...values, le], calls);
    });
    const microseconds = sums.get(seriesOf(`${series}_sum`, values)) ?? 0;
    return [...buckets, sample(metric, "_sum", values, microseconds / 1e6), sample(metric, "_count", values, calls)];
  });
}

function seriesIn(sums: Totals["sums"], metric: string): [values: string[], sum: number][] {
  return [...sums].flatMap(([series, sum]): [string[], number][] => {
    const [name, ...values] = series.split("\t");
    return name === metric ? [[values, sum]] : [];
  });
}

function head({ name, help, type }: Pick<Metric, "name" | "help"> & { readonly type: string }): string[] {
  return [`# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}`, `# TYPE ${name} ${type}`];
}

function sample(
  { name, labels }: Pick<Metric, "name" | "labels">,
  suffix: string,
  values: readonly string[],
  value: number,
): string {
  const pairs = labels.map((label, i) => `${label}="${escaped(values[i] ?? "")}"`);
  return `${name}${suffix}{${pairs.join(",")}} ${value}`;
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
