/**
 * Cloudflare Logpush, the dataset "HTTP requests", as NDJSON: a JSON object in each line. Fields and output options:
 * https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/ and .../log-output-options/.
 * Instant Logs and Logpull write the same fields.
 */

import { isTable, parseJson } from "../../../../config/bindings.ts";
import {
  type Format,
  headOf,
  instantInMs,
  type LineReader,
  type Needed,
  NO_BODIES,
  NO_CLAIMS,
  NO_REQUESTS,
  requestUrl,
  UNKNOWN_HOST,
  WHOLE_SECONDS,
} from "../format.ts";

export const logpush: Format = {
  name: "logpush",
  recognizes: (line) => /"(?:Edge(?:Start|End)Timestamp|ClientRequest(?:Method|Host|URI|Path))" *:/.test(line),
  reader,
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

const NO_SUBREQUESTS =
  "The log has no WorkerSubrequest: requests that a Worker of the zone has sent itself are counted as clients' requests.";

function reader(): LineReader {
  /** The fields of the first record: all records of a job have the same. */
  let fields: ReadonlySet<string> | undefined;
  let [isWholeSeconds, hasOther, subrequests, oneIn] = [true, false, 0, 1];

  return {
    read(line) {
      if (line.trim() === "") return undefined;
      const record = parseJson(line);
      if (!isTable(record)) return "it is not a JSON object";
      fields ??= new Set(Object.keys(record));
      const [startMs, endMs] = [instantOf(record.EdgeStartTimestamp), instantOf(record.EdgeEndTimestamp)];
      const atMs = Number.isNaN(startMs) ? endMs : startMs;
      if (Number.isNaN(atMs)) return "it has no EdgeStartTimestamp that is an instant";
      if (atMs % 1000 !== 0) isWholeSeconds = false;
      // An interval is how many requests a record stands for, a rate the share that was logged.
      const interval = numberIn(record, "SampleInterval") ?? numberIn(record, "sampleInterval") ?? 1;
      oneIn = Math.max(oneIn, interval, 1 / (numberIn(record, "SampleRate") || 1));

      // The Worker has sent such a request itself: no client did, and no Worker runs for it.
      if (record.WorkerSubrequest === true) subrequests++;
      const head = record.WorkerSubrequest === true ? undefined : headIn(record);
      hasOther ||= !head && record.WorkerSubrequest !== true;
      if (!head) return undefined;
      // Without an answer it is 0.
      const status = numberIn(record, "EdgeResponseStatus") ?? numberIn(record, "OriginResponseStatus");
      return { atMs, head, durationMs: endMs >= startMs ? endMs - startMs : undefined, status: status || undefined };
    },

    lacks(needed) {
      const has = (field: string) => fields?.has(field) ?? false;
      const any = fieldsFor(needed);
      if (any.length > 0 && !any.some(has)) return any[0];
      if (needed !== "duration" || (has("EdgeStartTimestamp") && !isWholeSeconds)) return undefined;
      return "EdgeStartTimestamp and EdgeEndTimestamp in nanoseconds (timestamp_format unixnano)";
    },

    notes() {
      const notes = hasOther ? [NO_REQUESTS] : [];
      if (isWholeSeconds) notes.push(WHOLE_SECONDS);
      if (fields && !fields.has("WorkerSubrequest")) notes.push(NO_SUBREQUESTS);
      if (subrequests > 0) notes.push(`${subrequests} requests of Workers (WorkerSubrequest) are left out.`);
      const share = Number((100 / oneIn).toPrecision(2));
      if (oneIn > 1)
        notes.push(`The log is sampled: it has ${share} % of the requests. Limits refuse less than in truth.`);
      return notes;
    },
  };
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)$/i;

/** RFC 3339, or a number of seconds, milliseconds, microseconds or nanoseconds since the epoch. NaN: not an instant. */
function instantOf(value: unknown): number {
  if (typeof value === "string" && RFC_3339.test(value)) return instantInMs(Date.parse(value));
  const number = typeof value === "string" && /^\d+(?:\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof number === "number" ? instantInMs(numberedInstant(number)) : Number.NaN;
}

/**
 * In ms. The units are told apart by size: 1e11 seconds are the year 5138, 1e11 ms are 1973. Nanoseconds are beyond 2^53
 * and arrive rounded by up to 128 ns: the addition keeps a whole millisecond from becoming the one before it.
 */
function numberedInstant(value: number): number {
  let ms = value < 1e11 ? value * 1_000 : value;
  while (ms >= 1e14 && ms < Number.POSITIVE_INFINITY) ms /= 1_000;
  return Math.floor(ms + 0.0005);
}

/** Fields of their own for what a request has sent. */
const HEADER_FIELDS: Readonly<Record<string, string>> = {
  "cf-connecting-ip": "ClientIP",
  "user-agent": "ClientRequestUserAgent",
  referer: "ClientRequestReferer",
  "x-requested-with": "ClientXRequestedWith",
};

function headIn(record: Fields) {
  const method = textIn(record, "ClientRequestMethod") ?? "GET";
  const host = textIn(record, "ClientRequestHost") ?? UNKNOWN_HOST;
  const target = textIn(record, "ClientRequestURI") ?? textIn(record, "ClientRequestPath") ?? "/";
  const url = requestUrl(method, record.ClientRequestScheme !== "http", host, target);
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
  return url === undefined ? undefined : headOf(method, url, header, cf);
}

/** Any of the fields is enough. No log has the fields in words. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  method: ["ClientRequestMethod"],
  path: ["ClientRequestURI", "ClientRequestPath"],
  query: ["ClientRequestURI"],
  host: ["ClientRequestHost"],
  duration: ["EdgeEndTimestamp"],
  tokens: ["a field for tokens"],
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
};

function fieldsFor(needed: Needed): readonly string[] {
  const [part = "", name = ""] = needed.replace(/^key /, "").toLowerCase().split(/:(.*)/s);
  const own = name === "host" ? "ClientRequestHost" : HEADER_FIELDS[name];
  return [...(FIELDS[part] ?? []), ...(part === "header" && own ? [own] : [])];
}
