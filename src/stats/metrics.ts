/** All metrics: a new one is a row here, and one line where it happens. */

export interface Metric {
  /** The metric's name in a series (`seriesOf`). */
  readonly series: string;
  /** The name that Prometheus shows. */
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** The names of the labels, in the order of their values in a series. */
  readonly labels: readonly string[];
}

/**
 * `store_seconds` has one label more in its series, `le`: a call counts once, under the smallest bound that it kept.
 * Beside it stands `store_seconds_sum`, with the same labels but `le`, in integer microseconds: sums stay exact.
 * `breaker_open` has no series: it comes from `Batch.open`.
 */
export const METRICS: readonly Metric[] = [
  {
    series: "decisions",
    name: "headgate_decisions_total",
    help: "Requests, once for each policy that matched. spared: another policy refused, nothing was charged.",
    type: "counter",
    labels: ["policy", "region", "outcome", "source"],
  },
  {
    series: "units",
    name: "headgate_units_total",
    help: "Units that the requests asked for.",
    type: "counter",
    labels: ["policy", "outcome"],
  },
  {
    series: "near_limit",
    name: "headgate_near_limit_total",
    help: "Requests that were admitted with 5 % or less of a limit remaining.",
    type: "counter",
    labels: ["policy", "limit"],
  },
  {
    series: "shadow_limit",
    name: "headgate_shadow_limit_total",
    help: "Requests that a shadowLimit would have refused.",
    type: "counter",
    labels: ["policy", "limit"],
  },
  {
    series: "store_calls",
    name: "headgate_store_calls_total",
    help: "Calls to a place that holds counts. outcome: ok, or why there was no answer.",
    type: "counter",
    labels: ["place", "outcome"],
  },
  {
    series: "store_seconds",
    name: "headgate_store_seconds",
    help: "How long these calls took.",
    type: "histogram",
    labels: ["place", "outcome"],
  },
  {
    series: "breaker_open",
    name: "headgate_breaker_open",
    help: "Isolates that have stopped calling a place, by what they said with their last flush.",
    type: "gauge",
    labels: ["place"],
  },
  {
    series: "fallback",
    name: "headgate_fallback_total",
    help: "Requests of a policy whose place had no answer: its onStoreFailure says what follows.",
    type: "counter",
    labels: ["policy"],
  },
  {
    series: "lease_units",
    name: "headgate_lease_units_total",
    help: "Units that isolates took ahead of demand (granted), and what became of them.",
    type: "counter",
    labels: ["policy", "event"],
  },
];

/** The bounds of `store_seconds`, as `le` shows them. */
export const SECONDS_BOUNDS = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "+Inf"] as const;

/** Replaces a label's value where there would be too many series. The sums stay true. */
export const OTHER = "other";
/** The values of these labels are words of this program: they are kept, since there are few. */
export const OWN_WORDS: readonly string[] = ["outcome", "source", "event", "le"];
