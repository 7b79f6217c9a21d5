/** What every log format implements, and the requests that it reads. */

import type { RequestHead } from "../../../keys/request-head.ts";

/** A message for people: what was expected, what was found, in which file. Never a line's text. */
export class LogError extends Error {}

export interface Format {
  /** What `--format` calls it. */
  readonly name: string;
  /** @param line one of the first lines of a file. */
  recognizes(line: string): boolean;
  /** A reader for the lines of one file, in their order. */
  reader(): LineReader;
}

/** Reads the lines of one file. What it lacks is known after the first line that is a request. */
export interface LineReader {
  /**
   * Undefined: a line that is not a request (comment, directive, empty). A text: why the line cannot be read. A list:
   * the line holds several requests.
   */
  read(line: string): LogEntry | readonly LogEntry[] | undefined | string;
  /**
   * The field that the log would need, as the documentation of its format names it, for example `RequestHeaders`.
   * Undefined: the log has it.
   */
  lacks(needed: Needed): string | undefined;
  /** What the reader of the report must know, after the last line. */
  notes(): readonly string[];
}

/**
 * What a policy may need from a log. A key part is written as in `key`, for example `header:x-user`, `ip`, `country`;
 * `duration` is how long requests took (concurrency limits), `tokens` what language models used (meters), `status` the
 * answers' (`count`), `preflights` the headers that tell a CORS preflight, `calls` what bodies call (`rpc`, `tool`).
 */
export type Needed =
  | ("method" | "path" | "host" | "duration" | "tokens" | "status" | "preflights" | "colo" | "calls")
  | `key ${string}`;

/** One request of a log. */
export interface LogEntry {
  /** When the request came, in ms since the epoch. A log that shows whole seconds gives the beginning of the second. */
  readonly atMs: number;
  /** What policies match and keys are read from. Of a recorded line: empty, because the line holds the results. */
  readonly head: RequestHead;
  /** How long the request took, in ms. Absent: the log does not tell it. */
  readonly durationMs?: number | undefined;
  /** The status of the answer. Absent: the log does not tell it. */
  readonly status?: number | undefined;
  /** What a gateway has recorded about its decision. Absent in other logs. */
  readonly recorded?: Recorded;
}

/** A decision as the gateway has recorded it (`RECORD`). */
export interface Recorded {
  readonly takes: readonly RecordedTake[];
  /** The region that answered. */
  readonly region: string;
  readonly allowed: boolean;
  /** Who answered, as in `Decision`. */
  readonly source: string;
}

/** One policy of a recorded decision. */
export interface RecordedTake {
  /** The policy's name. */
  readonly policy: string;
  /** The kind of the client's key, for example `ip`. */
  readonly kind: string;
  /** The hash of the client's key. */
  readonly partition: string;
  /** Units. */
  readonly cost: number;
  /** The client's plan. Undefined: none. */
  readonly plan: string | undefined;
  /** The hash of the request's id. Undefined: it had none, or the policy had no `once`. */
  readonly once: string | undefined;
  /** A limit of this policy refused; in shadow: would have. */
  readonly refused: boolean;
}

/** What a key `jwt:<name>` needs, and no log of another program has. A logged token can no longer be verified. */
export const NO_CLAIMS = "the claims of verified tokens";

/** What `rpc` and `tool` need, and no log of another program has. */
export const NO_BODIES = "the bodies of requests";

/** A note for formats that write whole seconds. */
export const WHOLE_SECONDS =
  "The log shows whole seconds: all requests of a second are replayed at one instant, so limits over a few seconds " +
  "may refuse more than in truth.";

/** How many lines were no HTTP request, in words. */
export function noRequestNotes(count: number): string[] {
  if (count === 0) return [];
  return [`${count} ${count === 1 ? "line holds" : "lines hold"} no HTTP request that a policy could match.`];
}
