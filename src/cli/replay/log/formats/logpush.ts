/**
 * Cloudflare Logpush, the dataset "HTTP requests", as NDJSON: a JSON object in each line. Fields and output options:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/ and .../log-output-options/.
 */

import { isTable, parseJson } from "../../../../kernel/config/bindings.ts";
import { headOf, instantInMs, type LineReader, type LogFormat, UNKNOWN_HOST, WHOLE_SECONDS } from "../format.ts";

export const logpush: LogFormat = {
  name: "logpush",
  recognizes: (line) => /"(?:EdgeStartTimestamp|ClientRequest(?:Method|Host|URI))" *:/.test(line),
  reader,
};

type LogpushFields = Readonly<Record<string, unknown>>;

/** A text that is not empty. */
function textIn(fields: LogpushFields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

function numberIn(fields: LogpushFields, name: string): number | undefined {
  const value = fields[name];
  return typeof value === "number" ? value : undefined;
}

const NO_SUBREQUESTS =
  "The log has no WorkerSubrequest: requests that a Worker of the zone has sent itself are counted as clients' requests.";

function reader(notes: Set<string>): LineReader {
  /** The fields of the first record: all records of a job have the same. */
  let fields: ReadonlySet<string> | undefined;
  let isWholeSeconds = true;

  return {
    read(line) {
      if (line.trim() === "") return undefined;
      const record = parseJson(line);
      if (!isTable(record)) return "it is not a JSON object";
      fields ??= new Set(Object.keys(record));
      const [atMs, endMs] = [instantOf(record.EdgeStartTimestamp), instantOf(record.EdgeEndTimestamp)];
      if (Number.isNaN(atMs)) return "it has no EdgeStartTimestamp that is an instant";
      if (isFine(record.EdgeStartTimestamp)) isWholeSeconds = false;
      else notes.add(WHOLE_SECONDS);
      if (!fields.has("WorkerSubrequest")) notes.add(NO_SUBREQUESTS);
      // The Worker has sent such a request itself: no client did, and no Worker runs for it.
      if (record.WorkerSubrequest === true) return undefined;
      const head = headIn(record, notes);
      // Without an answer it is 0.
      const status = numberIn(record, "EdgeResponseStatus") || undefined;
      return head && { atMs, head, durationMs: endMs >= atMs ? endMs - atMs : undefined, status };
    },

    lacks(part, name) {
      const own = name === "host" ? "ClientRequestHost" : HEADER_FIELDS[name];
      const hasOwn = part === "header" && own !== undefined && fields?.has(own);
      if (!hasOwn && !fields?.has(FIELDS[part]!)) return FIELDS[part];
      if (part !== "duration" || !isWholeSeconds) return undefined;
      return "EdgeStartTimestamp and EdgeEndTimestamp in nanoseconds (timestamp_format unixnano)";
    },
  };
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)$/i;
/** Any number of seconds is smaller, and any number of nanoseconds is larger. */
const NANOSECONDS = 1e12;

/** The three forms of `timestamp_format`: RFC 3339, seconds or nanoseconds since the epoch. NaN: not an instant. */
function instantOf(value: unknown): number {
  if (typeof value === "string" && RFC_3339.test(value)) return instantInMs(Date.parse(value));
  if (typeof value !== "number") return Number.NaN;
  // Beyond 2^53, and so rounded by up to 128 ns: a whole millisecond must not become the one before it.
  return instantInMs(value < NANOSECONDS ? value * 1_000 : Math.floor(value / 1_000_000 + 0.0005));
}

/** Whether an instant has parts of a second. */
function isFine(value: unknown): boolean {
  return typeof value === "string" ? value.includes(".") : Number(value) >= NANOSECONDS;
}

/** Fields of their own for what a request has sent. */
const HEADER_FIELDS: Readonly<Record<string, string>> = {
  "cf-connecting-ip": "ClientIP",
  "user-agent": "ClientRequestUserAgent",
  referer: "ClientRequestReferer",
  "x-requested-with": "ClientXRequestedWith",
};

function headIn(record: LogpushFields, notes: Set<string>) {
  const method = textIn(record, "ClientRequestMethod") ?? "GET";
  const host = textIn(record, "ClientRequestHost") ?? UNKNOWN_HOST;
  const target = textIn(record, "ClientRequestURI") ?? "/";
  const isTls = record.ClientRequestScheme !== "http";
  // Not the whole record: many requests are kept until they are in order.
  const { RequestHeaders: headers, Cookies: cookies } = record;
  const own = new Map(Object.entries(HEADER_FIELDS).map(([name, field]) => [name, textIn(record, field)]));
  const header = (name: string) => {
    if (name !== "cf-connecting-ip" && isTable(headers) && Object.hasOwn(headers, name))
      return textIn(headers, name) ?? "";
    if (name !== "cookie" || !isTable(cookies)) return own.get(name);
    return Object.keys(cookies)
      .map((cookie) => `${cookie}=${textIn(cookies, cookie) ?? ""}`)
      .join("; ");
  };
  // Logs have lower case, `request.cf.country` has upper case.
  const country = textIn(record, "ClientCountry")?.toUpperCase();
  const cf = { country, asn: numberIn(record, "ClientASN"), colo: textIn(record, "EdgeColoCode") };
  return headOf({ method, isTls, host, target }, header, notes, cf);
}

const FIELDS: Readonly<Record<string, string>> = {
  method: "ClientRequestMethod",
  path: "ClientRequestURI",
  query: "ClientRequestURI",
  host: "ClientRequestHost",
  duration: "EdgeEndTimestamp",
  status: "EdgeResponseStatus",
  ip: "ClientIP",
  bearer: "RequestHeaders",
  header: "RequestHeaders",
  cookie: "Cookies",
  country: "ClientCountry",
  asn: "ClientASN",
  colo: "EdgeColoCode",
};
