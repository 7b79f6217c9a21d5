/**
 * The access logs of nginx and Apache: `combined`, the older `common`, and both with a virtual host before them
 * (`vhost_combined`). What follows on the line is not read.
 * https://nginx.org/en/docs/http/ngx_http_log_module.html, https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
 *
 *     vhost:port address identity user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 2326 "referer" "user agent"
 */

import { isIP } from "node:net";
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

export const combined: Format = {
  name: "combined",
  recognizes: (line) => / \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "/.test(line),
  reader,
};

/** Apache writes a quote as `\"`, nginx as `\x22`. */
const INNER = '[^"\\\\]*(?:\\\\.[^"\\\\]*)*';
/** The time, the request, and the quote behind it. A user's name may hold a bracket too. */
const TIME_AND_REQUEST = new RegExp(` \\[(.{26})\\] "(${INNER})("?)`, "s");
const QUOTED = new RegExp(`"(${INNER})"`, "gs");
const STATUS = /^ (\d{3})(?: |$)/;
/** HTTP/0.9 has no version. A target with spaces is malformed, but servers may answer it. */
const METHOD_AND_TARGET = /^([^ ]*) (.*?)(?: HTTP\/[^ ]*)?$/s;
const NO_TIME = 'it has no time and request as in [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"';
/** In the order in which they stand. */
const HEADERS = ["referer", "user-agent"];

/** What no such line has, as nginx calls it. */
const FIELDS: Readonly<Partial<Record<Needed, string>>> = {
  duration: "$request_time",
  tokens: "a field for tokens",
  calls: NO_BODIES,
  colo: "a data centre",
  "key bearer": "$http_authorization",
  "key country": "$geoip_country_code",
  "key continent": "$geoip_city_continent_code",
  "key asn": "the number of the client's network",
};

function reader(notes: Set<string>): LineReader {
  /** Some line has shown one. */
  const has = { host: false, headers: false, status: false };
  let [timeText, timeMs] = ["", Number.NaN];

  return {
    read(line) {
      if (line === "") return undefined;
      const found = TIME_AND_REQUEST.exec(line);
      if (!found) return NO_TIME;
      const [beginning, time = "", request = "", closingQuote] = found;
      if (time !== timeText) [timeText, timeMs] = [time, instantOf(time)];
      if (Number.isNaN(timeMs)) return "its time is not an instant";
      if (closingQuote === "") return "the request on it has no closing quote";

      notes.add(WHOLE_SECONDS);
      // `name:port client - - [`. Without a host the identity is the second word.
      const [first = "", second = ""] = line.split(" ", 2);
      const isAfterHost = /:\d{1,5}$/.test(first) && isIP(first) === 0;
      const address = isAfterHost ? second : first;
      const rest = line.slice(found.index + beginning.length);
      const [, status] = STATUS.exec(rest) ?? [];
      has.host ||= isAfterHost;
      has.headers ||= rest.includes('"');
      has.status ||= status !== undefined;

      const [, method = "", target = ""] = METHOD_AND_TARGET.exec(request) ?? [];
      const isTls = !isAfterHost || first.endsWith(":443");
      const host = isAfterHost ? first.replace(/:(?:80|443)$/, "") : UNKNOWN_HOST;
      const url = requestUrl(method, isTls, host, unescaped(target));
      // Servers log what clients sent, for example the bytes of TLS.
      if (url === undefined) return void notes.add(NO_REQUESTS);
      const header = (name: string) => {
        if (name === "cf-connecting-ip") return address;
        const index = HEADERS.indexOf(name);
        const value = index < 0 ? undefined : [...rest.matchAll(QUOTED)][index]?.[1];
        return value === undefined || value === "-" ? undefined : unescaped(value);
      };
      return { atMs: timeMs, head: headOf(method, url, header), status: status ? Number(status) : undefined };
    },

    lacks(needed) {
      const known = FIELDS[needed];
      if (known !== undefined) return known;
      const [part = "", name = ""] = needed.replace(/^key /, "").toLowerCase().split(/:(.*)/s);
      if (part === "jwt") return NO_CLAIMS;
      if (part === "cookie") return `$cookie_${name}`;
      if (part === "status") return has.status ? undefined : "$status";
      if (part === "host" || (part === "header" && name === "host")) return has.host ? undefined : "$host";
      if (part !== "header" || (HEADERS.includes(name) && has.headers)) return undefined;
      return `$http_${name.replaceAll("-", "_")}`;
    },
  };
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIME = /^(\d\d)\/([A-Z][a-z]{2})\/(\d{4}):(\d\d:\d\d:\d\d) ([+-]\d\d)(\d\d)$/;

/** `10/Oct/2000:13:55:36 -0700` in ms since the epoch. NaN: not an instant. */
function instantOf(text: string): number {
  const [, day, name = "-", year, time, hours, minutes] = TIME.exec(text) ?? [];
  const month = MONTHS.indexOf(name) / 3 + 1;
  return instantInMs(Date.parse(`${year}-${String(month).padStart(2, "0")}-${day}T${time}${hours}:${minutes}`));
}

/** nginx escapes bytes as `\xHH`; Apache too, but writes `\"`, `\\`, and white space as C does. */
function unescaped(text: string): string {
  return text.includes("\\") ? text.replace(ESCAPES, unescapedOne) : text;
}

/** A run of bytes is one match: a character of UTF-8 may have several. */
const ESCAPES = /(?:\\x[\da-fA-F]{2})+|\\["\\bnrtvf]/g;
const WHITE_SPACE: Readonly<Record<string, string>> = { b: "\b", n: "\n", r: "\r", t: "\t", v: "\v", f: "\f" };

function unescapedOne(code: string): string {
  if (code[1] === "x") return Buffer.from(code.replaceAll("\\x", ""), "hex").toString();
  return WHITE_SPACE[code[1]!] ?? code[1]!;
}
