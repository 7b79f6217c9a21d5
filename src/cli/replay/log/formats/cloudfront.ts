/**
 * Amazon CloudFront, standard logs (legacy and v2): W3C extended lines, `#Fields` says which fields in which order,
 * tabs between them; or JSON objects with the same fields (v2).
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html
 */

import type { LogEntry, Needed } from "../entry.ts";
import { type Format, type LineReader, WHOLE_SECONDS } from "../format.ts";
import { instantInMs, instantOf } from "../instant.ts";
import { isMethod, LineHead, noRequestNotes, requestUrl, UNKNOWN_HOST } from "../line-head.ts";
import { pack, unpack } from "../packed.ts";

export const cloudfront: Format = {
  name: "cloudfront",
  recognizes: (line) =>
    /^#(?:Version|Fields):/.test(line) ||
    /^\d{4}-\d\d-\d\d\t\d\d:\d\d:\d\d\t/.test(line) ||
    /^\{.*"(?:cs-uri-stem|x-edge-location|cs-method)" *:/.test(line),
  reader: () => new CloudfrontReader(),
};

/** The fields of legacy logs in their order, for files that have lost their `#Fields`. */
const LEGACY_FIELDS =
  "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) " +
  "cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken " +
  "x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status " +
  "fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len " +
  "sc-range-start sc-range-end";

/** The fields that are read. Their index is their place. */
const READ = [
  "date",
  "time",
  "timestamp(ms)",
  "time-taken",
  "c-ip",
  "cs-method",
  "x-host-header",
  "cs(Host)",
  "cs-protocol",
  "cs-uri-stem",
  "cs-uri-query",
  "c-country",
  "asn",
  "x-forwarded-for",
  "cs(Referer)",
  "cs(User-Agent)",
  "cs(Cookie)",
] as const;
type Field = (typeof READ)[number];

const PLACE = Object.fromEntries(READ.map((name, place) => [name, place])) as Readonly<Record<Field, number>>;

class CloudfrontReader implements LineReader {
  /** For each column of the file its place in `READ`, -1 for columns that are not read. */
  #columns: readonly number[] = columnsOf(LEGACY_FIELDS);
  #line = "";
  /** Where the values of the line begin and end, by place. Equal numbers: the line has no such value. */
  readonly #starts = new Int32Array(READ.length);
  readonly #ends = new Int32Array(READ.length);
  #isWholeSeconds = true;
  #noRequests = 0;
  #date = "";
  #time = "";
  #secondMs = Number.NaN;

  read(line: string): LogEntry | undefined | string {
    if (line === "") return undefined;
    if (line.charCodeAt(0) === HASH) {
      if (line.startsWith("#Fields:")) this.#setColumns(line.slice("#Fields:".length));
      return undefined;
    }
    const reason = line.charCodeAt(0) === OPENED ? this.#findNamed(line) : this.#find(line);
    if (reason !== undefined) return reason;

    const tookMs = Math.round(Number(this.#value(PLACE["time-taken"]) ?? Number.NaN) * 1000);
    const atMs = instantInMs(this.#atMs(tookMs || 0));
    if (Number.isNaN(atMs)) return "it has no instant in date and time, nor in timestamp(ms)";
    const head = this.#head();
    if (!head) {
      this.#noRequests++;
      return undefined;
    }
    return tookMs >= 0 ? { atMs, head, durationMs: tookMs } : { atMs, head };
  }

  /** CloudFront writes when it has sent the answer. Of whole seconds: the second in which the request probably came. */
  #atMs(tookMs: number): number {
    const exact = this.#value(PLACE["timestamp(ms)"]);
    if (exact !== undefined) {
      this.#isWholeSeconds = false;
      return instantOf(exact) - tookMs;
    }
    const [date = "", time = ""] = [this.#value(PLACE.date), this.#value(PLACE.time)];
    if (date !== this.#date || time !== this.#time) {
      [this.#date, this.#time] = [date, time];
      this.#secondMs = DATE.test(date) && TIME.test(time) ? Date.parse(`${date}T${time}Z`) : Number.NaN;
    }
    return Math.floor((this.#secondMs + 500 - tookMs) / 1000) * 1000;
  }

  #setColumns(fields: string): void {
    this.#columns = columnsOf(fields);
    this.#starts.fill(0);
    this.#ends.fill(0);
  }

  /** Finds where the values are. @returns why the line cannot be read. */
  #find(line: string): string | undefined {
    const [columns, starts, ends] = [this.#columns, this.#starts, this.#ends];
    this.#line = line;
    let at = 0;
    let column = 0;
    for (; column < columns.length && at <= line.length; column++) {
      const tab = line.indexOf("\t", at);
      const end = tab < 0 ? line.length : tab;
      const place = columns[column]!;
      if (place >= 0) {
        starts[place] = at;
        // A hyphen stands for no value.
        ends[place] = end === at + 1 && line.charCodeAt(at) === HYPHEN ? at : end;
      }
      at = end + 1;
    }
    return column < columns.length ? `it has ${column} of ${columns.length} fields, tabs between them` : undefined;
  }

  #findNamed(line: string): string | undefined {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      return "it is not a JSON object";
    }
    this.#setColumns(Object.keys(record as object).join(" "));
    return this.#find(Object.values(record as object).join("\t"));
  }

  /** Undefined: the log has no such field, or the request had no such value. */
  #value(place: number): string | undefined {
    const [start, end] = [this.#starts[place]!, this.#ends[place]!];
    return end > start ? this.#line.slice(start, end) : undefined;
  }

  #head(): LineHead | undefined {
    const method = this.#value(PLACE["cs-method"]) ?? "GET";
    const protocol = this.#value(PLACE["cs-protocol"]);
    const query = this.#value(PLACE["cs-uri-query"]);
    const stem = this.#value(PLACE["cs-uri-stem"]);
    if (stem === undefined || !isMethod(method)) return undefined;
    const url = requestUrl(
      protocol === "http" || protocol === "ws" ? "http" : "https",
      this.#value(PLACE["x-host-header"]) ?? this.#value(PLACE["cs(Host)"]) ?? UNKNOWN_HOST,
      query === undefined ? decodedTarget(stem) : `${decodedTarget(stem)}?${decodedTarget(query)}`,
    );
    if (url === undefined) return undefined;
    const kept: (string | undefined)[] = [];
    for (const place of KEPT_PLACES) kept.push(this.#value(place));
    return new CloudfrontHead(method, url, pack(kept));
  }

  lacks(needed: Needed): string | undefined {
    const any = fieldsFor(needed);
    if (typeof any === "string") return any;
    const has = (field: Field) => this.#columns.includes(PLACE[field]);
    return any.length === 0 || any.some(has) ? undefined : any[0];
  }

  notes(): string[] {
    return [...noRequestNotes(this.#noRequests), ...(this.#isWholeSeconds ? [WHOLE_SECONDS] : [])];
  }
}

const [HASH, OPENED, HYPHEN] = [35, 123, 45];
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d\d:\d\d:\d\d$/;

/** Real-time logs have other names for some fields. */
const OTHER_NAMES: Readonly<Record<string, Field>> = {
  timestamp: "timestamp(ms)",
  "cs-host": "cs(Host)",
  "cs-referer": "cs(Referer)",
  "cs-user-agent": "cs(User-Agent)",
  "cs-cookie": "cs(Cookie)",
};

/** In lower case: `DistributionId` and `distributionid` both occur. */
const PLACE_BY_NAME = new Map<string, number>([
  ...READ.map((name, place) => [name.toLowerCase(), place] as const),
  ...Object.entries(OTHER_NAMES).map(([name, field]) => [name, PLACE[field]] as const),
]);

function columnsOf(fields: string): number[] {
  const names = fields.trim().toLowerCase().split(/\s+/);
  return names.map((name) => PLACE_BY_NAME.get(name) ?? -1);
}

/**
 * CloudFront encodes `%` and characters that have no place in URLs. `#` stays encoded: it would begin a fragment.
 * Bytes above 126 stay too: a URL encodes them in the same way.
 */
function decodedTarget(text: string): string {
  return text.includes("%") ? text.replace(/%(?!23)[2-7][\da-f]/gi, (code) => decodeURIComponent(code)) : text;
}

function decodedHeader(text: string): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[\da-f]{2})+/gi, (run) => Buffer.from(run.replaceAll("%", ""), "hex").toString());
}

/** What a head keeps of its line, in this order. */
const KEPT = [
  "c-ip",
  "c-country",
  "asn",
  "x-forwarded-for",
  "cs(Referer)",
  "cs(User-Agent)",
  "cs(Cookie)",
] as const satisfies readonly Field[];

const KEPT_PLACES = KEPT.map((field) => PLACE[field]);

/** Where a header is among them. */
const KEPT_HEADERS: Readonly<Record<string, number>> = {
  "cf-connecting-ip": 0,
  "x-forwarded-for": 3,
  referer: 4,
  "user-agent": 5,
  cookie: 6,
};

class CloudfrontHead extends LineHead {
  readonly #packed: string;

  constructor(method: string, url: string, packed: string) {
    super(method, url);
    this.#packed = packed;
  }

  get cf(): { readonly country?: string; readonly asn?: number } {
    const [country, asn] = [1, 2].map((index) => unpack(this.#packed, index));
    return { ...(country && { country }), ...(asn && { asn: Number(asn) }) };
  }

  get(name: string): string | null {
    if (name === "CF-Connecting-IP") return unpack(this.#packed, 0) ?? null;
    const lower = name.toLowerCase();
    if (lower === "host") return this.host();
    const value = Object.hasOwn(KEPT_HEADERS, lower) ? unpack(this.#packed, KEPT_HEADERS[lower]!) : undefined;
    return value === undefined ? null : decodedHeader(value);
  }
}

/** Any of the fields is enough. A text: there is no such field. */
function fieldsFor(needed: Needed): readonly Field[] | string {
  const [part = "", name = ""] = needed.replace(/^key /, "").toLowerCase().split(/:(.*)/s);
  switch (part) {
    case "method":
      return ["cs-method"];
    case "path":
      return ["cs-uri-stem"];
    case "query":
      return ["cs-uri-query"];
    case "host":
      return ["x-host-header", "cs(Host)"];
    case "duration":
      return ["time-taken"];
    case "tokens":
      return "a field for tokens";
    case "colo":
    case "region":
      // The edge location is CloudFront's own.
      return "a data centre of Cloudflare";
    case "continent":
      return "a field for the continent";
    case "ip":
      return ["c-ip"];
    case "country":
      return ["c-country"];
    case "asn":
      return ["asn"];
    case "cookie":
      return ["cs(Cookie)"];
    case "bearer":
      return headerField("authorization");
    case "preflights":
      return headerField("access-control-request-method");
    case "header":
      if (name === "host") return ["x-host-header", "cs(Host)"];
      if (name === "x-forwarded-for") return [name];
      return headerField(name);
    default:
      return [];
  }
}

function headerField(name: string): readonly Field[] | string {
  const place = PLACE_BY_NAME.get(`cs(${name})`);
  return place === undefined ? `cs(${name})` : [READ[place]!];
}
