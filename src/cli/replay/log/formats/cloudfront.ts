/**
 * Amazon CloudFront, standard logs (legacy and v2): W3C extended lines, `#Fields` says which fields in which order,
 * tabs between them; or JSON objects with the same fields (v2).
 * https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html
 */

import type { LogEntry, Needed } from "../entry.ts";
import { type Format, type LineReader, WHOLE_SECONDS } from "../format.ts";
import { instantOf } from "../instant.ts";
import { isMethod, LineHead, noRequestNotes, requestUrl, UNKNOWN_HOST } from "../line-head.ts";

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

/** The fields that are read. Their index is their place in `Values`. */
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
  "x-edge-location",
  "x-forwarded-for",
  "cs(Referer)",
  "cs(User-Agent)",
  "cs(Cookie)",
] as const;
type Field = (typeof READ)[number];

const PLACE = Object.fromEntries(READ.map((name, place) => [name, place])) as Readonly<Record<Field, number>>;

/** By place in `READ`. Undefined: the log has no such field, or the request had no such value. */
type Values = readonly (string | undefined)[];

class CloudfrontReader implements LineReader {
  /** For each column of the file its place in `READ`, -1 for columns that are not read. */
  #columns: readonly number[] = columnsOf(LEGACY_FIELDS);
  #isWholeSeconds = true;
  #noRequests = 0;
  #date = "";
  #time = "";
  #secondMs = Number.NaN;

  read(line: string): LogEntry | undefined | string {
    if (line === "") return undefined;
    if (line.charCodeAt(0) === HASH) {
      if (line.startsWith("#Fields:")) this.#columns = columnsOf(line.slice("#Fields:".length));
      return undefined;
    }
    const values = line.charCodeAt(0) === OPENED ? this.#named(line) : this.#separated(line);
    if (typeof values === "string") return values;

    const tookMs = Math.round(Number(values[PLACE["time-taken"]] ?? Number.NaN) * 1000);
    const atMs = this.#atMs(values, tookMs || 0);
    if (Number.isNaN(atMs)) return "it has no instant in date and time, nor in timestamp(ms)";
    const head = headOf(values);
    if (!head) {
      this.#noRequests++;
      return undefined;
    }
    return tookMs >= 0 ? { atMs, head, durationMs: tookMs } : { atMs, head };
  }

  /** CloudFront writes when it has sent the answer. Of whole seconds: the second in which the request probably came. */
  #atMs(values: Values, tookMs: number): number {
    const exact = values[PLACE["timestamp(ms)"]];
    if (exact !== undefined) {
      this.#isWholeSeconds = false;
      return instantOf(exact) - tookMs;
    }
    const [date = "", time = ""] = [values[PLACE.date], values[PLACE.time]];
    if (date !== this.#date || time !== this.#time) {
      [this.#date, this.#time] = [date, time];
      this.#secondMs = DATE.test(date) && TIME.test(time) ? Date.parse(`${date}T${time}Z`) : Number.NaN;
    }
    return Math.floor((this.#secondMs + 500 - tookMs) / 1000) * 1000;
  }

  #separated(line: string): Values | string {
    const columns = this.#columns;
    const values = new Array<string | undefined>(READ.length).fill(undefined);
    let at = 0;
    let column = 0;
    for (; column < columns.length && at <= line.length; column++) {
      const tab = line.indexOf("\t", at);
      const end = tab < 0 ? line.length : tab;
      const place = columns[column]!;
      if (place >= 0 && !isNothing(line, at, end)) values[place] = line.slice(at, end);
      at = end + 1;
    }
    return column < columns.length ? `it has ${column} of ${columns.length} fields, tabs between them` : values;
  }

  #named(line: string): Values | string {
    let record: unknown;
    try {
      record = JSON.parse(line);
    } catch {
      return "it is not a JSON object";
    }
    const values = new Array<string | undefined>(READ.length).fill(undefined);
    const names = Object.keys(record as object);
    this.#columns = columnsOf(names.join(" "));
    for (const [i, value] of Object.values(record as object).entries()) {
      const place = this.#columns[i]!;
      if (place >= 0 && value !== "-" && value !== "") values[place] = String(value);
    }
    return values;
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

/** A hyphen stands for no value. */
function isNothing(line: string, at: number, end: number): boolean {
  return end === at || (end === at + 1 && line.charCodeAt(at) === HYPHEN);
}

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

function headOf(values: Values): LineHead | undefined {
  const method = values[PLACE["cs-method"]] ?? "GET";
  const protocol = values[PLACE["cs-protocol"]];
  const query = values[PLACE["cs-uri-query"]];
  const stem = values[PLACE["cs-uri-stem"]];
  if (stem === undefined || !isMethod(method)) return undefined;
  const url = requestUrl(
    protocol === "http" || protocol === "ws" ? "http" : "https",
    values[PLACE["x-host-header"]] ?? values[PLACE["cs(Host)"]] ?? UNKNOWN_HOST,
    query === undefined ? decodedTarget(stem) : `${decodedTarget(stem)}?${decodedTarget(query)}`,
  );
  return url === undefined ? undefined : new CloudfrontHead(method, url, values);
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

class CloudfrontHead extends LineHead {
  readonly cf: { readonly country?: string; readonly asn?: number; readonly colo?: string };
  readonly #values: Values;

  constructor(method: string, url: string, values: Values) {
    super(method, url);
    this.#values = values;
    const country = values[PLACE["c-country"]];
    const asn = values[PLACE.asn];
    // LAX1, SEA19-C1: an airport's code, as the names of Cloudflare's data centres are.
    const colo = values[PLACE["x-edge-location"]]?.slice(0, 3);
    this.cf = { ...(country && { country }), ...(asn && { asn: Number(asn) }), ...(colo && { colo }) };
  }

  get(name: string): string | null {
    const lower = name.toLowerCase();
    if (lower === "cf-connecting-ip") return this.#values[PLACE["c-ip"]] ?? null;
    if (lower === "host") return this.host();
    const place = PLACE_BY_NAME.get(lower === "x-forwarded-for" ? lower : `cs(${lower})`);
    const value = place === undefined ? undefined : this.#values[place];
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
      return ["x-edge-location"];
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
