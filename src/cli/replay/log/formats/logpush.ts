/**
 * Cloudflare Logpush, the dataset "HTTP requests", as NDJSON: a JSON object in each line. Fields and output options:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/ and .../log-output-options/.
 * Instant Logs and Logpull write the same fields.
 */

import type { LogEntry, Needed } from "../entry.ts";
import { type Format, type LineReader, WHOLE_SECONDS } from "../format.ts";
import { instantOf } from "../instant.ts";
import { isMethod, LineHead, noRequestNotes, requestUrl, UNKNOWN_HOST } from "../line-head.ts";

export const logpush: Format = {
  name: "logpush",
  recognizes: (line) => /"(?:Edge(?:Start|End)Timestamp|ClientRequest(?:Method|Host|URI|Path))" *:/.test(line),
  reader: () => new LogpushReader(),
};

type Fields = Readonly<Record<string, unknown>>;

class LogpushReader implements LineReader {
  sampledOneIn = 1;
  /** The fields of the first record: all records of a job have the same. */
  #fields: ReadonlySet<string> | undefined;
  #isWholeSeconds = true;
  #noRequests = 0;
  #subrequests = 0;
  /** The instant of the present second, as text: many records have the same. */
  #lastText: unknown;
  #lastMs = Number.NaN;

  read(line: string): LogEntry | undefined | string {
    const record = parse(line);
    if (record === undefined || typeof record === "string") return record;
    this.#fields ??= new Set(Object.keys(record));

    const startMs = this.#instant(record.EdgeStartTimestamp);
    const endMs = instantOf(record.EdgeEndTimestamp);
    const atMs = Number.isNaN(startMs) ? endMs : startMs;
    if (Number.isNaN(atMs)) return "it has no EdgeStartTimestamp that is an instant";
    if (atMs % 1000 !== 0) this.#isWholeSeconds = false;
    const oneIn = sampling(record);
    if (oneIn > this.sampledOneIn) this.sampledOneIn = oneIn;

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
    return endMs >= startMs ? { atMs, head, durationMs: endMs - startMs } : { atMs, head };
  }

  lacks(needed: Needed): string | undefined {
    const any = fieldsFor(needed);
    if (typeof any === "string") return any;
    if (any.length === 0 || any.some((field) => this.#fields?.has(field))) {
      if (needed !== "duration" || (this.#fields?.has("EdgeStartTimestamp") && !this.#isWholeSeconds)) return undefined;
      return "EdgeStartTimestamp and EdgeEndTimestamp in nanoseconds (timestamp_format unixnano)";
    }
    return any[0];
  }

  notes(): string[] {
    const notes = noRequestNotes(this.#noRequests);
    if (this.#isWholeSeconds) notes.push(WHOLE_SECONDS);
    if (this.#subrequests > 0) {
      const lines = this.#subrequests === 1 ? "1 line is a request" : `${this.#subrequests} lines are requests`;
      notes.push(`${lines} that a Worker sent (WorkerSubrequest): left out.`);
    }
    return notes;
  }

  #instant(value: unknown): number {
    if (value !== this.#lastText) {
      this.#lastText = value;
      this.#lastMs = instantOf(value);
    }
    return this.#lastMs;
  }
}

/** What `output_options` may write before the records of a batch, for example `{"events":[`, and after them. */
const BATCH_PREFIX = /^[\s{"\w:]*\[$/;
const BATCH_SUFFIX = /^[\]}\s]*$/;

function parse(line: string): Fields | undefined | string {
  const text = bare(line);
  if (text === "") return undefined;
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    return BATCH_PREFIX.test(text) || BATCH_SUFFIX.test(text) ? undefined : "it is not a JSON object";
  }
  if (!isObject(record)) return "it is not a JSON object";
  if ("EdgeStartTimestamp" in record || "EdgeEndTimestamp" in record) return record;
  // `record_prefix` may have wrapped the record: {"info":{…}}.
  const values = Object.values(record);
  return values.length === 1 && isObject(values[0]) ? values[0] : record;
}

/** The line without what may stand around a record: delimiters, and brackets of a batch. */
function bare(line: string): string {
  if (line.charCodeAt(0) === OPENED && line.charCodeAt(line.length - 1) === CLOSED) return line;
  const text = line
    .trim()
    .replace(/^\[(?=\s*\{)/, "")
    .replace(/,$/, "")
    .replace(/(?<=\}\s*)\]$/, "");
  return text.trim();
}

const [OPENED, CLOSED] = [123, 125];

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Instant Logs say `sampleInterval`: a record stands for so many requests. A rate is the share that was logged. */
function sampling(record: Fields): number {
  const interval = Number(record.SampleInterval ?? record.sampleInterval ?? 1);
  const rate = Number(record.SampleRate ?? 1);
  return Math.max(interval, rate > 0 && rate < 1 ? 1 / rate : 1) || 1;
}

function headOf(record: Fields): LineHead | undefined {
  const method = text(record.ClientRequestMethod) ?? "GET";
  const url = requestUrl(
    record.ClientRequestScheme === "http" ? "http" : "https",
    text(record.ClientRequestHost) ?? UNKNOWN_HOST,
    text(record.ClientRequestURI) ?? text(record.ClientRequestPath) ?? "/",
  );
  return url === undefined || !isMethod(method) ? undefined : new LogpushHead(method, url, record);
}

/** Empty: the request had no such value. */
function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

class LogpushHead extends LineHead {
  readonly cf: { readonly country?: string; readonly asn?: number; readonly colo?: string };
  /** The fields of the record that headers are read from. The rest of it is forgotten. */
  readonly #ip: unknown;
  readonly #userAgent: unknown;
  readonly #referer: unknown;
  readonly #requestedWith: unknown;
  readonly #headers: unknown;
  readonly #cookies: unknown;

  constructor(method: string, url: string, record: Fields) {
    super(method, url);
    const { ClientCountry: country, ClientASN: asn, EdgeColoCode: colo } = record;
    this.cf = {
      // Logs have lower case, `request.cf.country` has upper case.
      ...(typeof country === "string" && country !== "" && { country: country.toUpperCase() }),
      ...(typeof asn === "number" && { asn }),
      ...(typeof colo === "string" && { colo }),
    };
    this.#ip = record.ClientIP;
    this.#userAgent = record.ClientRequestUserAgent;
    this.#referer = record.ClientRequestReferer;
    this.#requestedWith = record.ClientXRequestedWith;
    this.#headers = record.RequestHeaders;
    this.#cookies = record.Cookies;
  }

  get(name: string): string | null {
    const lower = name.toLowerCase();
    if (lower === "cf-connecting-ip") return text(this.#ip) ?? null;
    if (isObject(this.#headers) && Object.hasOwn(this.#headers, lower)) {
      return text(this.#headers[lower]) ?? null;
    }
    switch (lower) {
      case "host":
        return this.host();
      case "user-agent":
        return text(this.#userAgent) ?? null;
      case "referer":
        return text(this.#referer) ?? null;
      case "x-requested-with":
        return text(this.#requestedWith) ?? null;
      case "cookie":
        return isObject(this.#cookies) ? cookieHeader(this.#cookies) : null;
      default:
        return null;
    }
  }
}

function cookieHeader(cookies: Fields): string | null {
  const pairs = Object.entries(cookies).filter(([, value]) => typeof value === "string");
  return pairs.length === 0 ? null : pairs.map(([name, value]) => `${name}=${value}`).join("; ");
}

const HEADER_FIELDS: Readonly<Record<string, string>> = {
  "user-agent": "ClientRequestUserAgent",
  referer: "ClientRequestReferer",
  "x-requested-with": "ClientXRequestedWith",
  host: "ClientRequestHost",
};

/** Any of the fields is enough. A text: there is no such field. */
function fieldsFor(needed: Needed): readonly string[] | string {
  const [part = "", name = ""] = needed.replace(/^key /, "").split(/:(.*)/s);
  switch (part) {
    case "method":
      return ["ClientRequestMethod"];
    case "path":
      return ["ClientRequestURI", "ClientRequestPath"];
    case "query":
      return ["ClientRequestURI"];
    case "host":
      return ["ClientRequestHost"];
    case "duration":
      return ["EdgeEndTimestamp"];
    case "tokens":
      return "a field for tokens";
    case "colo":
    case "region":
      return ["EdgeColoCode"];
    case "ip":
      return ["ClientIP"];
    case "country":
      return ["ClientCountry"];
    case "asn":
      return ["ClientASN"];
    case "bearer":
      return ["RequestHeaders"];
    case "cookie":
      return ["Cookies"];
    case "header":
      return ["RequestHeaders", ...(HEADER_FIELDS[name.toLowerCase()] ? [HEADER_FIELDS[name.toLowerCase()]!] : [])];
    default:
      return [];
  }
}
