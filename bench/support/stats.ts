/** The arithmetic of the benchmarks: percentiles, true windows, waits, money. All functions are pure. */

/** Admitted units. The decision fell between the sending of the request and its answer, both in ms. */
export interface Admission {
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  readonly units: number;
}

/** The value that a `part` (0 to 1) of all values do not exceed, interpolated between neighbours. NaN for no values. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The most units that certainly passed within a span of this many ms: both sent and answered within the span. */
export function worstWindow(admissions: readonly Admission[], spanMs: number): number {
  const within = (fromMs: number) =>
    admissions
      .filter((one) => one.sentAtMs >= fromMs && one.doneAtMs < fromMs + spanMs)
      .reduce((sum, { units }) => sum + units, 0);
  return Math.max(0, ...admissions.map(({ sentAtMs }) => within(sentAtMs)));
}

/** The most units that may have passed between two instants: sent before the second, answered after the first. */
export function possibleUnits(admissions: readonly Admission[], fromMs: number, toMs: number): number {
  return admissions
    .filter((one) => one.doneAtMs >= fromMs && one.sentAtMs <= toMs)
    .reduce((sum, { units }) => sum + units, 0);
}

/** One refused request that was asked again once, after the promised wait or before. Times in ms since the refusal. */
export interface Retry {
  readonly promisedAfterMs: number;
  readonly askedAfterMs: number;
  readonly admitted: boolean;
}

/**
 * How wrong a promised wait was. There are several copies of one refusal, and each copy asked again at another moment.
 *
 * `early`: the part of the copies that waited as promised and were refused. `late`: the part of the promised wait, 0 to
 * 1, that was needless: after the earliest moment from which on every copy was admitted.
 */
export function retryError(retries: readonly Retry[]): { readonly early: number; readonly late: number } {
  const kept = retries.filter((one) => one.askedAfterMs >= one.promisedAfterMs);
  const before = retries
    .filter((one) => one.askedAfterMs < one.promisedAfterMs)
    .toSorted((a, b) => a.askedAfterMs / a.promisedAfterMs - b.askedAfterMs / b.promisedAfterMs);
  const first = before.findLastIndex(({ admitted }) => !admitted) + 1;
  const earliest = before[first];
  return {
    early: kept.length === 0 ? 0 : kept.filter(({ admitted }) => !admitted).length / kept.length,
    late: earliest ? 1 - earliest.askedAfterMs / earliest.promisedAfterMs : 0,
  };
}

/** List prices in dollars. Sources and dates: bench/parts/money.ts. */
export interface Prices {
  readonly perCommand: number;
  readonly perRequest: number;
}

/** What a million requests cost above what the plans include. */
export function dollarsPerMillion({ perCommand, perRequest }: Prices, commandsPerRequest: number): number {
  return 1e6 * (perRequest + commandsPerRequest * perCommand);
}
