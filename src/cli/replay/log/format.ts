/** What every log format implements, and the requests that it reads. */

import type { RequestHead } from "../../../keys/request-head.ts";

export interface Format {
  /** What `--format` calls it. */
  readonly name: string;
  /** @param line one of the first lines of a file. */
  recognizes(line: string): boolean;
  /** A reader for the lines of one file, in their order. @param notes gets what the reader of the report must know. */
  reader(notes: Set<string>): LineReader;
}

/** Reads the lines of one file. What it lacks is known after the first line that is a request. */
export interface LineReader {
  /** Undefined: a line that is not a request. A text: why the line cannot be read. A list: the line holds several. */
  read(line: string): LogEntry | readonly LogEntry[] | undefined | string;
  /** The field that the log would need, as its format names it, for example `RequestHeaders`. Undefined: it has it. */
  lacks(needed: Needed): string | undefined;
}

/**
 * What a policy may need from a log. A key part is written as in `key`, for example `header:x-user`, `ip`, `country`;
 * `duration` is how long requests took (concurrency limits), `tokens` what language models used (meters), `status` the
 * answers' (`count`), `calls` what bodies call (`rpc`, `tool`).
 */
export type Needed =
  | ("method" | "path" | "host" | "duration" | "tokens" | "status" | "colo" | "calls")
  | `key ${string}`;

/** One request of a log. What the log does not tell is undefined. */
export interface LogEntry {
  /** When the request came, in ms since the epoch. A log that shows whole seconds gives the beginning of the second. */
  readonly atMs: number;
  /** What policies match and keys are read from. Of a recorded line: empty, because the line holds the results. */
  readonly head: RequestHead;
  /** How long the request took, in ms. */
  readonly durationMs?: number | undefined;
  /** The status of the answer. */
  readonly status?: number | undefined;
  /** What a gateway has recorded about its decision (`RECORD`). Absent in other logs. */
  readonly recorded?: Recorded;
}

export interface Recorded {
  readonly takes: readonly RecordedTake[];
  /** The region that answered. */
  readonly region: string;
  readonly allowed: boolean;
}

/** One policy of a recorded decision. docs/recording.md has the members. */
export interface RecordedTake {
  readonly policy: string;
  readonly kind: string;
  /** The hash of the client's key. */
  readonly partition: string;
  readonly cost: number;
  readonly plan: string | undefined;
  readonly once: string | undefined;
  readonly refused: boolean;
}

/** What formats of other programs lack: a logged token can no longer be verified, and no log has bodies. */
export const NO_CLAIMS = "the claims of verified tokens";
export const NO_BODIES = "the bodies of requests";

/** A note for formats that write whole seconds. */
export const WHOLE_SECONDS = "The log has whole seconds: limits over a few seconds may refuse more here than in truth.";
/** A note for lines without one. */
export const NO_REQUESTS = "Some lines hold no HTTP request that a policy could match.";

/** Stands in URLs for a host that the log does not show. */
export const UNKNOWN_HOST = "host.invalid";

/** @param header returns a header by its name in lower case; empty or undefined: the line has none. */
export function headOf(
  method: string,
  url: string,
  header: (name: string) => string | undefined,
  cf?: RequestHead["cf"],
): RequestHead {
  const get = (name: string) => {
    const lower = name.toLowerCase();
    const value = header(lower);
    if (value !== undefined || lower !== "host") return value || null;
    const { host } = new URL(url);
    return host === UNKNOWN_HOST ? null : host;
  };
  return { method, url, headers: { get, has: (name) => get(name) !== null }, cf };
}

/** Anything else comes from no HTTP client. */
const METHOD = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/;

/**
 * The URL of a request. Undefined: it has no method, no path, or no host that URLs may have.
 *
 * @param target as on the request line: a path with its query, or a whole URL.
 */
export function requestUrl(method: string, isTls: boolean, authority: string, target: string): string | undefined {
  if (!METHOD.test(method)) return undefined;
  if (!target.startsWith("/")) return /^https?:/i.test(target) && URL.canParse(target) ? target : undefined;
  const isHost = !/[/?#\\@\s]/.test(authority) && URL.canParse(`http://${authority}/`);
  // Joined, not added: a sum would keep the lines that its parts are from in memory.
  return isHost ? [isTls ? "https" : "http", "://", authority, target].join("") : undefined;
}

/** No log is older than HTTP. A later instant is a wrong one, and many functions fail beyond the year 275760. */
const [EARLIEST_MS, LATEST_MS] = [Date.UTC(1990), Date.UTC(2100)];

/** NaN: not an instant that a log can have. */
export function instantInMs(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}
