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
  type LineReader,
  type LogEntry,
  type Needed,
  NO_BODIES,
  NO_CLAIMS,
  noRequestNotes,
  WHOLE_SECONDS,
} from "../format.ts";
import { instantInMs, LineHead, requestUrl, UNKNOWN_HOST } from "../line-head.ts";

export const combined: Format = {
  name: "combined",
  recognizes: (line) => / \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "/.test(line),
  reader: () => new CombinedReader(),
};

/** Apache writes a quote as `\"`, nginx as `\x22`. */
const INNER = '[^"\\\\]*(?:\\\\.[^"\\\\]*)*';
/** The time, the request, and the quote behind it. A user's name may hold a bracket too. */
const TIME_AND_REQUEST = new RegExp(` \\[(.{26})\\] "(${INNER})("?)`, "s");
const QUOTED = new RegExp(`"(${INNER})"`, "gs");
const STATUS = /^ (\d{3})(?: |$)/;
/** HTTP/0.9 has no version. A target with spaces is malformed, but servers may answer it. */
const METHOD_AND_TARGET = /^([^ ]*) (.*?)(?: HTTP\/[^ ]*)?$/s;
const NO_TIME =
  "it has no time in brackets with a request in quotes after it, as in " +
  '[10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"';

class CombinedReader implements LineReader {
  /** Some line has shown one. */
  #hasHost = false;
  #hasHeaders = false;
  #hasStatus = false;
  #noRequests = 0;
  #named = 0;
  #timeText = "";
  #timeMs = Number.NaN;

  read(line: string): LogEntry | undefined | string {
    if (line === "") return undefined;
    const found = TIME_AND_REQUEST.exec(line);
    if (!found) return NO_TIME;
    const [beginning, time = "", request = "", closingQuote] = found;
    if (time !== this.#timeText) {
      this.#timeText = time;
      this.#timeMs = commonInstant(time);
    }
    if (Number.isNaN(this.#timeMs)) return "its time is not an instant";
    if (closingQuote === "") return "the request on it has no closing quote";

    const [first = "", second = ""] = line.split(" ", 2);
    const isAfterHost = hasHost(first, second);
    const address = isAfterHost ? second : first;
    const rest = line.slice(found.index + beginning.length);
    this.#hasHost ||= isAfterHost;
    this.#hasHeaders ||= rest.includes('"');
    if (isIP(address) === 0) this.#named++;
    const [, status] = STATUS.exec(rest) ?? [];
    this.#hasStatus ||= status !== undefined;

    const [, method = "", target = ""] = METHOD_AND_TARGET.exec(request) ?? [];
    const url = urlOf(method, isAfterHost ? first : UNKNOWN_HOST, target);
    // Servers log what clients sent, for example the bytes of TLS.
    if (url === undefined) {
      this.#noRequests++;
      return undefined;
    }
    const head = new CombinedHead(method, url, address, rest);
    return { atMs: this.#timeMs, head, status: status === undefined ? undefined : Number(status) };
  }

  lacks(needed: Needed): string | undefined {
    const known = FIELDS[needed];
    if (known !== undefined) return known;
    const [part = "", name = ""] = needed.replace(/^key /, "").split(/:(.*)/s);
    if (part === "jwt") return NO_CLAIMS;
    if (part === "calls") return NO_BODIES;
    if (part === "cookie") return `$cookie_${name}`;
    if (part === "status") return this.#hasStatus ? undefined : "$status";
    if (part === "host") return this.#hasHost ? undefined : "$host";
    if (part !== "header") return undefined;
    const variable = `$http_${name.toLowerCase().replaceAll("-", "_")}`;
    const isHeader = /^\$http_(?:user_agent|referer)$/.test(variable);
    const isShown = variable === "$http_host" ? this.#hasHost : isHeader && this.#hasHeaders;
    return isShown ? undefined : variable;
  }

  notes(): string[] {
    const notes = [...noRequestNotes(this.#noRequests), WHOLE_SECONDS];
    if (this.#named > 0) {
      const lines = this.#named === 1 ? "1 line shows" : `${this.#named} lines show`;
      notes.push(`${lines} a name in place of the client's address (%a): by address, such clients are anonymous.`);
    }
    return notes;
  }
}

/** What no such line has, as nginx calls it. */
const FIELDS: Readonly<Partial<Record<Needed, string>>> = {
  duration: "$request_time",
  tokens: "a field for tokens",
  preflights: "$http_origin",
  colo: "a data centre",
  "key region": "a data centre",
  "key bearer": "$http_authorization",
  "key country": "$geoip_country_code",
  "key continent": "$geoip_city_continent_code",
  "key asn": "the number of the client's network",
};

/** `name:port client - - [`, or `name address - - [`. Without a host the identity is the second word. */
function hasHost(first: string, second: string): boolean {
  return isIP(second) !== 0 || (/:\d{1,5}$/.test(first) && isIP(first) === 0);
}

/** @param authority of the virtual host. @param logged the target as the line shows it. */
function urlOf(method: string, authority: string, logged: string): string | undefined {
  const isTls = authority === UNKNOWN_HOST || authority.endsWith(":443");
  return requestUrl(method, isTls ? "https" : "http", authority.replace(/:(?:80|443)$/, ""), unescaped(logged));
}

const MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec";
const TIME = /^\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$/;

/** `10/Oct/2000:13:55:36 -0700` in ms since the epoch. NaN: not an instant. */
function commonInstant(text: string): number {
  const month = MONTHS.indexOf(text.slice(3, 6));
  if (month < 0 || month % 3 !== 0 || !TIME.test(text)) return Number.NaN;
  const number = (from: number, to: number) => Number(text.slice(from, to));
  const zoneMin = number(22, 24) * 60 + number(24, 26);
  const utcMs = Date.UTC(number(7, 11), month / 3, number(0, 2), number(12, 14), number(15, 17), number(18, 20));
  return instantInMs(utcMs - (text[21] === "-" ? -zoneMin : zoneMin) * 60_000);
}

const HEADERS = ["referer", "user-agent"];

class CombinedHead extends LineHead {
  readonly #address: string;
  /** Status, size, referrer and user agent. They are read when a policy asks for them. */
  readonly #rest: string;

  constructor(method: string, url: string, address: string, rest: string) {
    super(method, url);
    this.#address = address;
    this.#rest = rest;
  }

  protected header(name: string): string | undefined {
    if (name === "cf-connecting-ip") return this.#address;
    const index = HEADERS.indexOf(name);
    const value = index < 0 ? undefined : [...this.#rest.matchAll(QUOTED)][index]?.[1];
    return value === undefined || value === "-" ? undefined : unescaped(value);
  }
}

/** nginx escapes bytes as `\xHH`; Apache too, but writes `\"`, `\\`, and white space as C does. */
function unescaped(text: string): string {
  return text.includes("\\") ? text.replace(ESCAPES, unescapedOne) : text;
}

/** A run of bytes is one match: a character of UTF-8 may have several. */
const ESCAPES = /(?:\\x[\da-fA-F]{2})+|\\["\\bnrtvf]/g;

function unescapedOne(code: string): string {
  if (code[1] === "x") return Buffer.from(code.replaceAll("\\x", ""), "hex").toString();
  return WHITE_SPACE[code[1]!] ?? code[1]!;
}

const WHITE_SPACE: Readonly<Record<string, string>> = { b: "\b", n: "\n", r: "\r", t: "\t", v: "\v", f: "\f" };
