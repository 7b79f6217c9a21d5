/**
 * What bench/request-path.worker.ts tells bench/request-path.ts. It is a separate file, because one of them is a Worker
 * and the other is not.
 */

/** The result of one batch. */
export interface PathBatch {
  readonly perRequestUs: number;
  /** How many requests were answered with each status. */
  readonly statuses: Readonly<Record<number, number>>;
}
