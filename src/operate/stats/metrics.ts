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

/** The model that has answered, as OpenTelemetry names it. */
const MODEL = "gen_ai_response_model";

/**
 * `store_seconds` has one label more in its series, `le`: a call counts once, under the smallest bound that it kept.
 * Beside it stands `store_seconds_sum`, with the same labels but `le`, in integer microseconds: sums stay exact.
 * `breaker_open` has no series: it comes from `Batch.open`.
 */
export const METRICS: readonly Metric[] = [
  metric("decisions", ["policy", "region", "outcome", "source"], "Requests, once for each policy that matched."),
  metric("units", ["policy", "outcome"], "Units that these requests asked for. Repeats under `once` add nothing."),
  metric("overflow", ["policy", "paid_by"], "Requests of a policy that its overflow paid for."),
  metric("overflow_units", ["policy", "paid_by"], "Units that these requests asked for."),
  metric(
    "settled_units",
    ["policy", "paid_for", MODEL],
    "Units that responses cost in the end. policy: who paid. paid_for: the policy that matched.",
  ),
  metric("tokens", ["policy", MODEL, "gen_ai_token_type"], "Tokens of these responses, if known."),
  metric("origin_responses", ["status"], "Responses of the origin, by class of status."),
  metric("near_limit", ["policy", "limit"], "Requests admitted with 5 % or less of a limit remaining."),
  metric("store_calls", ["place", "outcome"], "Calls to a place. outcome: `ok`, or why it did not answer."),
  metric("store_seconds", ["place", "outcome"], "How long these calls took.", "histogram"),
  metric(
    "breaker_open",
    ["place"],
    "Worker instances that have stopped calling a place, as they last reported.",
    "gauge",
  ),
  metric("fallback", ["policy"], "Requests that `onStoreFailure` decided, because the place did not answer."),
  metric("lease_units", ["policy", "event"], "Units that Worker instances leased (granted), and what became of them."),
  metric("warnings", ["outcome"], "Warnings before a limit is reached, by what became of them."),
];

function metric(series: string, labels: Metric["labels"], help: string, type: Metric["type"] = "counter"): Metric {
  return { series, name: `headgate_${series}${type === "counter" ? "_total" : ""}`, help, type, labels };
}

/** The bounds of `store_seconds`, as `le` shows them. */
export const SECONDS_BOUNDS = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "+Inf"] as const;

/** Replaces a label's value where there would be too many series. The sums stay true. */
const OTHER = "other";
/**
 * Labels whose values others choose, and how many of them are counted by name; the others count as `other`. A region
 * may have any name that a caller of the library or of RPC gives: Cloudflare has about 330 locations (2026-11). An
 * origin names the models. All other labels are words of this program, or the configuration bounds them: they are never
 * replaced.
 */
const CHOSEN: Readonly<Record<string, number>> = { region: 400, [MODEL]: 50 };
/** The values of these labels are words of this program. */
const OWN_WORDS: readonly string[] = ["outcome", "source", "event", "status", "gen_ai_token_type", "le"];

const LABELS: ReadonlyMap<string, readonly string[]> = new Map(
  METRICS.flatMap(({ series, labels }) => [
    [series, [...labels, "le"]],
    [`${series}_sum`, labels],
  ]),
);

/** The name of a metric in a series, and the values of its labels. */
export type Path = readonly string[];

/** The same series with words of this program alone. */
export function withOwnWords(path: Path): Path {
  return withOther(path, (label) => !OWN_WORDS.includes(label));
}

/** Whether a label is a model. Models come and go: a series of one that is gone must make room for others. */
export function namesModel([metric = ""]: Path): boolean {
  return LABELS.get(metric)?.includes(MODEL) ?? false;
}

/** A metric of a newer version has labels that are not known here: all of its values are replaced. */
function withOther([metric = "", ...values]: Path, isReplaced: (label: string) => boolean): Path {
  const labels = LABELS.get(metric);
  return [metric, ...values.map((value, at) => (labels && !isReplaced(labels[at] ?? "le") ? value : OTHER))];
}

/** Which values are counted by name of those that others can choose: those that came first. */
export class NamedValues {
  readonly #named = new Map<string, Set<string>>();

  /** The series that is counted for this one. @param isFull there is no room for more names. */
  bounded(path: Path, isFull: boolean): Path {
    const labels = LABELS.get(path[0]!);
    if (isFull || !labels) return isFull ? withOther(path, (one) => one in CHOSEN) : path;
    return path.map((value, at) => {
      const label = labels[at - 1] ?? "";
      const most = CHOSEN[label];
      if (most === undefined || value === OTHER) return value;
      const named = this.#named.get(label) ?? new Set();
      if (!named.has(value) && named.size >= most) return OTHER;
      this.#named.set(label, named.add(value));
      return value;
    });
  }
}
