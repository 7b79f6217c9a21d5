/** What `onWarning` is told about a client that comes close to a limit. */

/** A client has used a part of a limit that its policy names in `warn`. */
export interface LimitWarning {
  /** The name of the policy. */
  readonly policy: string;
  /** The id of the limit: the policy's name, or `<policy>-<n>` if the policy has several limits. */
  readonly id: string;
  /** The hash of the client's key. */
  readonly key: string;
  /** Which kind of key the client presented, for example `ip`. */
  readonly kind: string;
  /** The part that is reached, as `warn` has it. */
  readonly part: number;
  /** Units used, this request included: `limit` without what is left. Under a `usd` meter in units of $0.00001. */
  readonly used: number;
  /** The number of the limit that holds for this client, in the same units; of a bucket, its `burst`. */
  readonly limit: number;
  /** The time until the limit is full again if nothing else is counted, in ms. */
  readonly resetAfterMs: number;
  /** When the request was counted, by the clock of the store, in RFC 3339. */
  readonly at: string;
}

/** Called when an admitted request has taken a client over a part of a limit. */
export type OnWarning = (warning: LimitWarning) => unknown;
