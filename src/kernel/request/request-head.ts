/** What a request says before its body: what keys, matches and regions are read from. A line of a log has it too. */

export interface RequestHead {
  readonly method: string;
  /** Absolute, with its query. */
  readonly url: string;
  readonly headers: Pick<Headers, "get" | "has">;
  /** Null: it has none. Absent: not known. */
  readonly body?: unknown;
  /** What Cloudflare says about the connection: country, network, data centre. */
  readonly cf?: unknown;
}
