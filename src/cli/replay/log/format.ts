/** What every log format implements, and the requests that it reads. */

import type { RequestHead } from "../../../kernel/request/request-head.ts";

export interface LogFormat {
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
  read(line: string): LoggedRequest | readonly LoggedRequest[] | undefined | string;
  /**
   * The field that the log would need, as its format names it, for example `RequestHeaders`. Undefined: it has it.
   *
   * @param part what a policy needs: `ip`, `header`, `country` and so on, as in `key`; `method`, `path`; `colo` and
   * `continent` for regions; `duration` of requests for concurrency limits, `status` of answers for `count`.
   * @param name that follows the part: of a header, a cookie. In lower case. Empty: none does.
   */
  lacks(part: string, name: string): string | undefined;
}

/** One request of a log. What the log does not tell is undefined. */
export interface LoggedRequest {
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

/** One policy of a recorded decision. docs/replay.md has the members. */
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

/** A note for formats that write whole seconds. */
export const WHOLE_SECONDS =
  "The log has whole seconds: limits over a few seconds may refuse more here than in reality.";
/** Stands in URLs for a host that the log does not show. */
export const UNKNOWN_HOST = "host.invalid";

export interface LoggedLine {
  readonly method: string;
  readonly isTls: boolean;
  readonly host: string;
  /** A path with its query, or a whole URL. */
  readonly target: string;
}

/**
 * Undefined, with a note: it has no method, no path, or no host that URLs may have. Servers log what clients sent, for
 * example the bytes of TLS.
 *
 * @param header returns a header by its name in lower case; empty or undefined: the line has none.
 */
export function headOf(
  line: LoggedLine,
  header: (name: string) => string | undefined,
  notes: Set<string>,
  cf?: RequestHead["cf"],
): RequestHead | undefined {
  const url = urlOf(line);
  if (url === undefined) {
    notes.add("Some lines hold no HTTP request that a policy could match.");
    return undefined;
  }
  const get = (name: string) => {
    const lower = name.toLowerCase();
    const value = header(lower);
    if (value !== undefined || lower !== "host") return value || null;
    const { host } = new URL(url);
    return host === UNKNOWN_HOST ? null : host;
  };
  return { method: line.method, url, headers: { get, has: (name) => get(name) !== null }, cf };
}

/** Anything else comes from no HTTP client. */
const METHOD = /^[A-Za-z][A-Za-z0-9!#$%&'*+.^_`|~-]{0,63}$/;

function urlOf({ method, isTls, host, target }: LoggedLine): string | undefined {
  if (!METHOD.test(method)) return undefined;
  if (!target.startsWith("/")) return /^https?:/i.test(target) && URL.canParse(target) ? target : undefined;
  const isHost = !/[/?#\\@\s]/.test(host) && URL.canParse(`http://${host}/`);
  // Joined, not added: a sum would keep the lines that its parts are from in memory.
  return isHost ? [isTls ? "https" : "http", "://", host, target].join("") : undefined;
}

/** No log is older than HTTP. A later instant is a wrong one, and many functions fail beyond the year 275760. */
const [EARLIEST_MS, LATEST_MS] = [Date.UTC(1990), Date.UTC(2100)];

/** NaN: not an instant that a log can have. */
export function instantInMs(ms: number): number {
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : Number.NaN;
}
