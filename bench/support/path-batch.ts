/**
 * What bench/request-path.worker.ts tells bench/request-path.ts: a file of its own, since one is a Worker and the other
 * is not.
 */

/** Of one batch. */
export interface PathBatch {
  readonly perRequestUs: number;
  /** How many were answered with each status. */
  readonly statuses: Readonly<Record<number, number>>;
}
