/**
 * Cloudflare Logpush, the dataset "HTTP requests", as NDJSON: a JSON object in each line. Fields and output options:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/ and .../log-output-options/.
 * Instant Logs and Logpull write the same fields.
 */

import type { LogEntry, Needed } from "../entry.ts";
import { type Format, type LineReader, WHOLE_SECONDS } from "../format.ts";
import { instantOf } from "../instant.ts";
import { JsonScan, unescapedJson } from "../json-scan.ts";
import { isMethod, LineHead, noRequestNotes, requestUrl, UNKNOWN_HOST } from "../line-head.ts";
import { pack, unpack } from "../packed.ts";

export const logpush: Format = {
  name: "logpush",
  recognizes: (line) => /"(?:Edge(?:Start|End)Timestamp|ClientRequest(?:Method|Host|URI|Path))" *:/.test(line),
  reader: () => new LogpushReader(),
};

/** The fields that are read. Their index is their place in `JsonScan`. */
const READ = [
  "EdgeStartTimestamp",
  "EdgeEndTimestamp",
  "WorkerSubrequest",
  "SampleInterval",
  "sampleInterval",
  "SampleRate",
  "ClientRequestMethod",
  "ClientRequestScheme",
  "ClientRequestHost",
  "ClientRequestURI",
  "ClientRequestPath",
  "ClientIP",
  "ClientCountry",
  "ClientASN",
  "EdgeColoCode",
  "ClientRequestUserAgent",
  "ClientRequestReferer",
  "ClientXRequestedWith",
  "RequestHeaders",
  "Cookies",
] as const;

const PLACE = Object.fromEntries(READ.map((name, place) => [name, place])) as Record<(typeof READ)[number], number>;

class LogpushReader implements LineReader {
  sampledOneIn = 1;
  readonly #scan = new JsonScan(READ);
  /** The fields of the first record: all records of a job have the same. */
  #fields: ReadonlySet<string> | undefined;
  #isWholeSeconds = true;
  #noRequests = 0;
  #subrequests = 0;

  read(line: string): LogEntry | undefined | string {
    const scan = this.#scan;
    if (!scan.scan(line)) {
      const record = parse(line);
      if (record === undefined || typeof record === "string") return record;
      scan.learn(record);
      this.#fields ??= new Set(Object.keys(record));
    }
    const startMs = this.#instant(PLACE.EdgeStartTimestamp);
    const endMs = this.#instant(PLACE.EdgeEndTimestamp);
    const atMs = Number.isNaN(startMs) ? endMs : startMs;
    if (Number.isNaN(atMs)) return "it has no EdgeStartTimestamp that is an instant";
    if (atMs % 1000 !== 0) this.#isWholeSeconds = false;
    this.#sampling();

    // The Worker has sent this request itself: no client did, and no Worker runs for it.
    if (scan.other(PLACE.WorkerSubrequest) === "true") {
      this.#subrequests++;
      return undefined;
    }
    const head = headOf(scan);
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
    if (this.#fields && !this.#fields.has("WorkerSubrequest")) notes.push(NO_SUBREQUESTS);
    if (this.#subrequests > 0) {
      const lines = this.#subrequests === 1 ? "1 line is a request" : `${this.#subrequests} lines are requests`;
      notes.push(`${lines} that a Worker sent (WorkerSubrequest): left out.`);
    }
    return notes;
  }

  #instant(place: number): number {
    const text = this.#scan.text(place);
    return instantOf(text ?? this.#scan.other(place));
  }

  /**
   * `sampleInterval` of Instant Logs is the number of requests that a record stands for. A rate is the share that was
   * logged.
   */
  #sampling(): void {
    const scan = this.#scan;
    const interval = Number(scan.other(PLACE.SampleInterval) ?? scan.other(PLACE.sampleInterval) ?? 1);
    const rate = Number(scan.other(PLACE.SampleRate) ?? 1);
    const oneIn = rate > 0 && rate < 1 ? 1 / rate : interval;
    if (oneIn > this.sampledOneIn) this.sampledOneIn = oneIn;
  }
}

const NO_SUBREQUESTS =
  "The log has no WorkerSubrequest: requests that a Worker of the zone has sent itself are counted as clients' requests.";

type Fields = Readonly<Record<string, unknown>>;

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

function headOf(scan: JsonScan): LineHead | undefined {
  const value = (place: number) => {
    const text = scan.text(place);
    return text && unescapedJson(text);
  };
  const method = value(PLACE.ClientRequestMethod) ?? "GET";
  const url = requestUrl(
    scan.text(PLACE.ClientRequestScheme) === "http" ? "http" : "https",
    value(PLACE.ClientRequestHost) ?? UNKNOWN_HOST,
    value(PLACE.ClientRequestURI) ?? value(PLACE.ClientRequestPath) ?? "/",
  );
  return url === undefined || !isMethod(method) ? undefined : new LogpushHead(method, url, scan);
}

/** What a head keeps of its line, in this order, as it is written. */
const [IP, COUNTRY, ASN, COLO, USER_AGENT, REFERER, REQUESTED_WITH, HEADERS, COOKIES] = [0, 1, 2, 3, 4, 5, 6, 7, 8];

class LogpushHead extends LineHead {
  readonly #packed: string;
  #headers: Fields | undefined;

  constructor(method: string, url: string, scan: JsonScan) {
    super(method, url);
    this.#packed = pack([
      scan.text(PLACE.ClientIP),
      scan.text(PLACE.ClientCountry),
      scan.other(PLACE.ClientASN),
      scan.text(PLACE.EdgeColoCode),
      scan.text(PLACE.ClientRequestUserAgent),
      scan.text(PLACE.ClientRequestReferer),
      scan.text(PLACE.ClientXRequestedWith),
      scan.other(PLACE.RequestHeaders),
      scan.other(PLACE.Cookies),
    ]);
  }

  get cf(): { readonly country?: string; readonly asn?: number; readonly colo?: string } {
    const [country, asn, colo] = [this.#value(COUNTRY), this.#value(ASN), this.#value(COLO)];
    // Logs have lower case, `request.cf.country` has upper case.
    return {
      ...(country && { country: country.toUpperCase() }),
      ...(asn && { asn: Number(asn) }),
      ...(colo && { colo }),
    };
  }

  get(name: string): string | null {
    if (name === "CF-Connecting-IP") return this.#value(IP) ?? null;
    const lower = name.toLowerCase();
    this.#headers ??= objectOf(unpack(this.#packed, HEADERS));
    if (Object.hasOwn(this.#headers, lower)) {
      const value = this.#headers[lower];
      return typeof value === "string" && value !== "" ? value : null;
    }
    switch (lower) {
      case "cf-connecting-ip":
        return this.#value(IP) ?? null;
      case "host":
        return this.host();
      case "user-agent":
        return this.#value(USER_AGENT) ?? null;
      case "referer":
        return this.#value(REFERER) ?? null;
      case "x-requested-with":
        return this.#value(REQUESTED_WITH) ?? null;
      case "cookie":
        return cookieHeader(objectOf(unpack(this.#packed, COOKIES)));
      default:
        return null;
    }
  }

  #value(index: number): string | undefined {
    const text = unpack(this.#packed, index);
    return text && unescapedJson(text);
  }
}

const NOTHING: Fields = {};

function objectOf(json: string | undefined): Fields {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return isObject(value) ? value : NOTHING;
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
    case "continent":
      return "a field for the continent";
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
    case "preflights":
      return ["RequestHeaders"];
    case "cookie":
      return ["Cookies"];
    case "header":
      return ["RequestHeaders", ...(HEADER_FIELDS[name.toLowerCase()] ? [HEADER_FIELDS[name.toLowerCase()]!] : [])];
    default:
      return [];
  }
}
