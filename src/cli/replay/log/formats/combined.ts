/**
 * The access logs of nginx and Apache: `combined`, the older `common`, and both with a virtual host before them
 * (`vhost_combined`). What follows on the line is not read.
 * https://nginx.org/en/docs/http/ngx_http_log_module.html, https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
 *
 *     vhost:port address identity user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 2326 "referer" "user agent"
 */

import { isIP } from "node:net";
import { headOf, instantInMs, type LineReader, type LogFormat, UNKNOWN_HOST, WHOLE_SECONDS } from "../format.ts";

export const combined: LogFormat = {
  name: "combined",
  recognizes: (line) => TIME_AND_REQUEST.test(line),
  reader,
};

/** Apache writes a quote as `\"`, nginx as `\x22`. */
const INNER = '[^"\\\\]*(?:\\\\.[^"\\\\]*)*';
/** The time, the request, and the quote behind it. A user's name may hold a bracket too. */
const TIME = "\\d\\d/[A-Z][a-z]{2}/\\d{4}:\\d\\d:\\d\\d:\\d\\d [+-]\\d{4}";
const TIME_AND_REQUEST = new RegExp(` \\[(${TIME})\\] "(${INNER})("?)`, "s");
const QUOTED = new RegExp(`"(${INNER})"`, "gs");
const STATUS = /^ (\d{3})(?: |$)/;
/** HTTP/0.9 has no version. A target with spaces is malformed, but servers may answer it. */
const METHOD_AND_TARGET = /^([^ ]*) (.*?)(?: HTTP\/[^ ]*)?$/s;
const NO_TIME = 'it has no time and request as in [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"';
/** In the order in which they stand. */
const HEADERS = ["referer", "user-agent"];

/** What no such line has, as nginx calls it. */
const FIELDS: Readonly<Record<string, string>> = {
  duration: "$request_time",
  colo: "a data centre",
  bearer: "$http_authorization",
  country: "$geoip_country_code",
  asn: "the number of the client's network",
};

function reader(notes: Set<string>): LineReader {
  /** Some line has shown one. */
  const has = { host: false, headers: false, status: false };

  return {
    read(line) {
      if (line === "") return undefined;
      const found = TIME_AND_REQUEST.exec(line);
      if (!found) return NO_TIME;
      const [beginning, time = "", request = "", closingQuote] = found;
      const atMs = instantOf(time);
      if (Number.isNaN(atMs)) return "its time is not an instant";
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
      const header = (name: string) => {
        if (name === "cf-connecting-ip") return address;
        const index = HEADERS.indexOf(name);
        const value = index < 0 ? undefined : [...rest.matchAll(QUOTED)][index]?.[1];
        return value === undefined || value === "-" ? undefined : unescaped(value);
      };
      const head = headOf({ method, isTls, host, target: unescaped(target) }, header, notes);
      return head && { atMs, head, status: status ? Number(status) : undefined };
    },

    lacks(part, name) {
      if (part === "cookie") return `$cookie_${name}`;
      if (part === "status") return has.status ? undefined : "$status";
      if (part === "host" || (part === "header" && name === "host")) return has.host ? undefined : "$host";
      if (part !== "header" || (HEADERS.includes(name) && has.headers)) return FIELDS[part];
      return `$http_${name.replaceAll("-", "_")}`;
    },
  };
}

/** `10/Oct/2000:13:55:36 -0700` in ms since the epoch. NaN: not an instant. */
function instantOf(text: string): number {
  // JavaScript reads `10 Oct 2000 13:55:36 -0700`.
  return instantInMs(Date.parse(text.replaceAll("/", " ").replace(":", " ")));
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
