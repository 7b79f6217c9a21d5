/**
 * Cloudflare Logpush, the dataset "HTTP requests", as NDJSON: a JSON object in each line. Fields and output options:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/ and .../log-output-options/.
 * Instant Logs and Logpull write the same fields.
 */

import { isTable, parseJson } from "../../../../config/bindings.ts";
import {
  type Format,
  type LineReader,
  type LogEntry,
  type Needed,
  NO_BODIES,
  NO_CLAIMS,
  noRequestNotes,
  WHOLE_SECONDS,
} from "../format.ts";
import { instantInMs, LineHead, requestUrl, UNKNOWN_HOST } from "../line-head.ts";

export const logpush: Format = {
  name: "logpush",
  recognizes: (line) => /"(?:Edge(?:Start|End)Timestamp|ClientRequest(?:Method|Host|URI|Path))" *:/.test(line),
  reader: () => new LogpushReader(),
};

type Fields = Readonly<Record<string, unknown>>;

/** A text that is not empty. */
function textIn(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberIn(fields: Fields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" ? value : undefined;
}

class LogpushReader implements LineReader {
  #sampledOneIn = 1;
  /** The fields of the first record: all records of a job have the same. */
  #fields: ReadonlySet<string> | undefined;
  #isWholeSeconds = true;
  #noRequests = 0;
  #subrequests = 0;

  read(line: string): LogEntry | undefined | string {
    const record = parse(line);
    if (!isTable(record)) return record;
    this.#fields ??= new Set(Object.keys(record));
    const [startMs, endMs] = [instantOf(record.EdgeStartTimestamp), instantOf(record.EdgeEndTimestamp)];
    const atMs = Number.isNaN(startMs) ? endMs : startMs;
    if (Number.isNaN(atMs)) return "it has no EdgeStartTimestamp that is an instant";
    if (atMs % 1000 !== 0) this.#isWholeSeconds = false;
    this.#sampledOneIn = Math.max(this.#sampledOneIn, sampledOneIn(record));

    // The Worker has sent this request itself: no client did, and no Worker runs for it.
    if (record.WorkerSubrequest === true) {
      this.#subrequests++;
      return undefined;
    }
    const head = headOf(record);
    if (!head) {
      this.#noRequests++;
      return undefined;
    }
    const status = numberIn(record, "EdgeResponseStatus") ?? numberIn(record, "OriginResponseStatus");
    // Without an answer the status is 0.
    return { atMs, head, durationMs: endMs >= startMs ? endMs - startMs : undefined, status: status || undefined };
  }

  lacks(needed: Needed): string | undefined {
    const has = (field: string) => this.#fields?.has(field) ?? false;
    const any = fieldsFor(needed);
    if (any.length > 0 && !any.some(has)) return any[0];
    if (needed !== "duration" || (has("EdgeStartTimestamp") && !this.#isWholeSeconds)) return undefined;
    return "EdgeStartTimestamp and EdgeEndTimestamp in nanoseconds (timestamp_format unixnano)";
  }

  notes(): string[] {
    const notes = noRequestNotes(this.#noRequests);
    if (this.#isWholeSeconds) notes.push(WHOLE_SECONDS);
    if (this.#sampledOneIn > 1) {
      const share = Number((100 / this.#sampledOneIn).toPrecision(2));
      notes.push(`The log is sampled: it has ${share} % of the requests. Limits refuse less than in truth.`);
    }
    if (this.#fields && !this.#fields.has("WorkerSubrequest")) notes.push(NO_SUBREQUESTS);
    if (this.#subrequests > 0) {
      const lines = this.#subrequests === 1 ? "1 line is a request" : `${this.#subrequests} lines are requests`;
      notes.push(`${lines} that a Worker sent (WorkerSubrequest): left out.`);
    }
    return notes;
  }
}

const NO_SUBREQUESTS =
  "The log has no WorkerSubrequest: requests that a Worker of the zone has sent itself are counted as clients' requests.";

/**
 * How many requests a record stands for: `sampleInterval` of Instant Logs is that number. A rate is the share that was
 * logged.
 */
function sampledOneIn(record: Fields): number {
  const rate = numberIn(record, "SampleRate") ?? 1;
  if (rate > 0 && rate < 1) return 1 / rate;
  return numberIn(record, "SampleInterval") ?? numberIn(record, "sampleInterval") ?? 1;
}

function parse(line: string): Fields | undefined | string {
  if (line.trim() === "") return undefined;
  const record = parseJson(line);
  return isTable(record) ? record : "it is not a JSON object";
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)$/i;
const DIGITS = /^\d+(?:\.\d+)?$/;

/** RFC 3339, or a number of seconds, milliseconds, microseconds or nanoseconds since the epoch. NaN: not an instant. */
function instantOf(value: unknown): number {
  if (typeof value === "number") return instantInMs(numberedInstant(value));
  if (typeof value !== "string") return Number.NaN;
  if (DIGITS.test(value)) return instantInMs(numberedInstant(Number(value)));
  return RFC_3339.test(value) ? instantInMs(Date.parse(value)) : Number.NaN;
}

/**
 * The units are told apart by size: 1e11 seconds are the year 5138, 1e11 ms are 1973. Nanoseconds are beyond 2^53 and
 * arrive rounded by up to 128 ns: the addition keeps a whole millisecond from becoming the one before it.
 */
function numberedInstant(value: number): number {
  if (value < 1e11) return Math.round(value * 1000);
  if (value < 1e14) return Math.floor(value);
  if (value < 1e17) return Math.floor(value / 1e3);
  return Math.floor(value / 1e6 + 0.0005);
}

function headOf(record: Fields): LineHead | undefined {
  const method = textIn(record, "ClientRequestMethod") ?? "GET";
  const url = requestUrl(
    method,
    record.ClientRequestScheme === "http" ? "http" : "https",
    textIn(record, "ClientRequestHost") ?? UNKNOWN_HOST,
    textIn(record, "ClientRequestURI") ?? textIn(record, "ClientRequestPath") ?? "/",
  );
  return url === undefined ? undefined : new LogpushHead(method, url, record);
}

/** Headers that have a field of their own. */
const HEADER_FIELDS: Readonly<Record<string, string>> = {
  "user-agent": "ClientRequestUserAgent",
  referer: "ClientRequestReferer",
  "x-requested-with": "ClientXRequestedWith",
};

class LogpushHead extends LineHead {
  /** Not the whole record: many requests are kept until they are in order. */
  readonly #kept: Fields;

  constructor(method: string, url: string, record: Fields) {
    super(method, url);
    this.#kept = {
      ClientIP: record.ClientIP,
      ClientCountry: record.ClientCountry,
      ClientASN: record.ClientASN,
      EdgeColoCode: record.EdgeColoCode,
      ClientRequestUserAgent: record.ClientRequestUserAgent,
      ClientRequestReferer: record.ClientRequestReferer,
      ClientXRequestedWith: record.ClientXRequestedWith,
      RequestHeaders: record.RequestHeaders,
      Cookies: record.Cookies,
    };
  }

  get cf(): { readonly country?: string; readonly asn?: number; readonly colo?: string } {
    const [country, colo] = [textIn(this.#kept, "ClientCountry"), textIn(this.#kept, "EdgeColoCode")];
    const asn = numberIn(this.#kept, "ClientASN");
    // Logs have lower case, `request.cf.country` has upper case.
    return {
      ...(country && { country: country.toUpperCase() }),
      ...(asn !== undefined && { asn }),
      ...(colo && { colo }),
    };
  }

  protected header(name: string): string | undefined {
    if (name === "cf-connecting-ip") return textIn(this.#kept, "ClientIP");
    const { RequestHeaders, Cookies } = this.#kept;
    if (isTable(RequestHeaders) && Object.hasOwn(RequestHeaders, name)) return textIn(RequestHeaders, name) ?? "";
    if (name === "cookie" && isTable(Cookies)) return cookieHeader(Cookies);
    return Object.hasOwn(HEADER_FIELDS, name) ? textIn(this.#kept, HEADER_FIELDS[name]!) : undefined;
  }
}

function cookieHeader(cookies: Fields): string {
  const pairs = Object.entries(cookies).filter(([, value]) => typeof value === "string");
  return pairs.map(([name, value]) => `${name}=${value}`).join("; ");
}

/** Any of the fields is enough. No log has the fields in words. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  method: ["ClientRequestMethod"],
  path: ["ClientRequestURI", "ClientRequestPath"],
  query: ["ClientRequestURI"],
  host: ["ClientRequestHost"],
  duration: ["EdgeEndTimestamp"],
  tokens: ["a field for tokens"],
  preflights: ["RequestHeaders"],
  status: ["EdgeResponseStatus", "OriginResponseStatus"],
  ip: ["ClientIP"],
  bearer: ["RequestHeaders"],
  jwt: [NO_CLAIMS],
  calls: [NO_BODIES],
  header: ["RequestHeaders"],
  cookie: ["Cookies"],
  country: ["ClientCountry"],
  continent: ["a field for the continent"],
  asn: ["ClientASN"],
  colo: ["EdgeColoCode"],
  region: ["EdgeColoCode"],
};

function fieldsFor(needed: Needed): readonly string[] {
  const [part = "", name = ""] = needed.replace(/^key /, "").toLowerCase().split(/:(.*)/s);
  const own = name === "host" ? "ClientRequestHost" : HEADER_FIELDS[name];
  return [...(FIELDS[part] ?? []), ...(part === "header" && own ? [own] : [])];
}
