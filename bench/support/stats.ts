/** The arithmetic of the benchmarks, pure: percentiles, true windows, waits, money. */

/** Units that were let through: at some instant between the sending of the request and its answer, in milliseconds. */
export interface Admission {
  readonly sentAtMs: number;
  readonly doneAtMs: number;
  readonly units: number;
}

/** The value that `part` (0 … 1) of all values do not exceed, between neighbours in proportion; NaN of nothing. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const at = part * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  if (below === undefined || above === undefined) return Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The most units certainly let through in a span of this many ms: sent and answered within the span. */
export function worstWindow(admissions: readonly Admission[], spanMs: number): number {
  const within = (fromMs: number) =>
    admissions
      .filter((one) => one.sentAtMs >= fromMs && one.doneAtMs < fromMs + spanMs)
      .reduce((sum, { units }) => sum + units, 0);
  return Math.max(0, ...admissions.map(({ sentAtMs }) => within(sentAtMs)));
}

/**
 * The most units that can have been let through between two instants: sent before the second, answered after the first.
 */
export function possibleUnits(admissions: readonly Admission[], fromMs: number, toMs: number): number {
  return admissions
    .filter((one) => one.doneAtMs >= fromMs && one.sentAtMs <= toMs)
    .reduce((sum, { units }) => sum + units, 0);
}

/** One refused request, asked again once: when it was told to, or before. Milliseconds since the refusal. */
export interface Retry {
  readonly promisedAfterMs: number;
  readonly askedAfterMs: number;
  readonly admitted: boolean;
}

/**
 * How wrong a promised wait was, from copies of one refusal of which each asked again at another moment.
 *
 * `early`: part of those that kept the promise and were refused. `late`: how much of the promised wait, 0 … 1, was
 * needless, by the earliest moment from which on all were admitted.
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
  readonly perCpuMs: number;
}

/** What a million requests cost beyond what plans include. */
export function dollarsPerMillion(
  { perCommand, perRequest, perCpuMs }: Prices,
  use: { readonly commandsPerRequest: number; readonly cpuMsPerRequest: number },
): number {
  return 1e6 * (perRequest + use.commandsPerRequest * perCommand + use.cpuMsPerRequest * perCpuMs);
}
