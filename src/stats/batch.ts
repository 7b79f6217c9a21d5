/** What an isolate hands on to `STATS` in one call. Plain data: it travels by RPC. */

/** What one isolate has counted since it handed on last. */
export interface Batch {
  /** The isolate: a random id, made when it first hands on. */
  readonly isolate: string;
  /** 1, 2, 3 …: a batch is sent again until it was confirmed, with its number; each number is added once. */
  readonly number: number;
  readonly minutes: readonly MinuteCounts[];
  /** The places whose breaker is open in this isolate when the batch is made. */
  readonly open: readonly string[];
  /** How long `open` holds if no other batch of the isolate comes, in ms. Absent: 60 s. */
  readonly openMs?: number;
}

export interface MinuteCounts {
  /** Minutes since the epoch, by the isolate's clock. */
  readonly minute: number;
  /** Sums by series (`seriesOf`). */
  readonly sums: Readonly<Record<string, number>>;
  /**
   * The clients with most refusals by policy (Space-Saving): hash of the key, refusals counted, of which possibly too
   * many.
   */
  readonly top: Readonly<Record<string, readonly (readonly [key: string, refused: number, excess: number])[]>>;
}

/** The name of a metric and its label values, joined by tabs: `decisions\tapi\teu\tadmitted\tcache`. */
export function seriesOf(metric: string, labels: readonly string[]): string {
  return [metric, ...labels].join("\t");
}
