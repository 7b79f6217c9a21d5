/**
 * The access logs of nginx and Apache: `combined`, the older `common`, and both with a virtual host before them
 * (`vhost_combined`). What follows on the line is not read.
 * https://nginx.org/en/docs/http/ngx_http_log_module.html, https://httpd.apache.org/docs/2.4/mod/mod_log_config.html
 *
 *     vhost:port address identity user [10/Oct/2000:13:55:36 -0700] "GET /a?b HTTP/1.1" 200 2326 "referer" "user agent"
 */

import { isIP } from "node:net";
import type { LogEntry, Needed } from "../entry.ts";
import { type Format, type LineReader, WHOLE_SECONDS } from "../format.ts";
import { commonInstant } from "../instant.ts";
import { isMethod, LineHead, noRequestNotes, requestUrl, UNKNOWN_HOST } from "../line-head.ts";

export const combined: Format = {
  name: "combined",
  recognizes: (line) => / \[\d\d\/[A-Z][a-z]{2}\/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "/.test(line),
  reader: () => new CombinedReader(),
};

/** Characters of the time, without its brackets. */
const TIME_LENGTH = 26;
const NO_TIME =
  "it has no time in brackets with a request in quotes after it, as in " +
  '[10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1"';
const [QUOTE, SPACE, BACKSLASH, CLOSING_BRACKET] = [34, 32, 92, 93];

class CombinedReader implements LineReader {
  /** Some line has shown one. */
  #hasHost = false;
  #hasHeaders = false;
  #noRequests = 0;
  #named = 0;
  #timeText = "";
  #timeMs = Number.NaN;
  #method = "GET";

  read(line: string): LogEntry | undefined | string {
    if (line === "") return undefined;
    const timeAt = timeStart(line);
    if (timeAt < 0) return NO_TIME;
    if (!line.startsWith(this.#timeText, timeAt) || this.#timeText === "") {
      this.#timeText = line.slice(timeAt, timeAt + TIME_LENGTH);
      this.#timeMs = commonInstant(this.#timeText);
    }
    if (Number.isNaN(this.#timeMs)) return "its time is not an instant";
    const requestAt = timeAt + TIME_LENGTH + 3;
    const requestEnd = closingQuote(line, requestAt);
    if (requestEnd < 0) return "the request on it has no closing quote";

    const firstSpace = line.indexOf(" ");
    const isAfterHost = hasHost(line, firstSpace);
    this.#hasHost ||= isAfterHost;
    this.#hasHeaders ||= line.includes('"', requestEnd + 1);
    const addressAt = isAfterHost ? firstSpace + 1 : 0;
    const address = line.slice(addressAt, isAfterHost ? line.indexOf(" ", addressAt) : firstSpace);
    if (isIP(address) === 0) this.#named++;
    const authority = isAfterHost ? line.slice(0, firstSpace) : UNKNOWN_HOST;

    const head = this.#head(line, { from: requestAt, to: requestEnd, address, authority });
    if (head) return { atMs: this.#timeMs, head };
    this.#noRequests++;
    return undefined;
  }

  /** Undefined: not `METHOD target HTTP/version`. Servers log what clients sent, for example the bytes of TLS. */
  #head(line: string, at: { from: number; to: number; address: string; authority: string }): LineHead | undefined {
    const { from, to, address, authority } = at;
    const methodEnd = line.indexOf(" ", from);
    if (methodEnd < 0 || methodEnd >= to) return undefined;
    if (!(line.startsWith(this.#method, from) && methodEnd - from === this.#method.length)) {
      const method = line.slice(from, methodEnd);
      if (!isMethod(method)) return undefined;
      this.#method = method;
    }
    // HTTP/0.9 has no version. A target with spaces is malformed, but servers may answer it.
    const version = line.lastIndexOf(" ", to - 1);
    const targetEnd = version > methodEnd && line.startsWith("HTTP/", version + 1) ? version : to;
    const target = unescaped(line.slice(methodEnd + 1, targetEnd));
    const isTls = authority.endsWith(":443");
    const host = authority.replace(/:(?:80|443)$/, "");
    const url = requestUrl(authority === UNKNOWN_HOST || isTls ? "https" : "http", host, target);
    return url === undefined ? undefined : new CombinedHead(this.#method, url, address, line, to + 1);
  }

  lacks(needed: Needed): string | undefined {
    return FIELDS[needed] ?? this.#lacksPart(needed);
  }

  #lacksPart(needed: Needed): string | undefined {
    const [part = "", name = ""] = needed.replace(/^key /, "").split(/:(.*)/s);
    if (part === "host" || needed === "key host") return this.#hasHost ? undefined : "$host";
    if (part === "cookie") return `$cookie_${name}`;
    if (part !== "header") return undefined;
    const variable = `$http_${name.toLowerCase().replaceAll("-", "_")}`;
    if (variable === "$http_host" && this.#hasHost) return undefined;
    return this.#hasHeaders && /^\$http_(?:user_agent|referer)$/.test(variable) ? undefined : variable;
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

/** Where the time begins, after its bracket. A user's name may hold a bracket too. -1: nowhere. */
function timeStart(line: string): number {
  for (let at = line.indexOf(" ["); at >= 0; at = line.indexOf(" [", at + 1)) {
    const end = at + 2 + TIME_LENGTH;
    if (
      line.charCodeAt(end) === CLOSING_BRACKET &&
      line.charCodeAt(end + 1) === SPACE &&
      line.charCodeAt(end + 2) === QUOTE
    ) {
      return at + 2;
    }
  }
  return -1;
}

/** Apache writes a quote as `\"`, nginx as `\x22`. -1: there is none. */
function closingQuote(line: string, from: number): number {
  let end = line.indexOf('"', from);
  while (end > 0 && isEscaped(line, from, end)) end = line.indexOf('"', end + 1);
  return end;
}

function isEscaped(line: string, from: number, at: number): boolean {
  let backslashes = 0;
  while (at - backslashes > from && line.charCodeAt(at - backslashes - 1) === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}

/** `name:port client - - [`, or `name address - - [`. Without a host the identity is the second word. */
function hasHost(line: string, firstSpace: number): boolean {
  const second = line.slice(firstSpace + 1, line.indexOf(" ", firstSpace + 1));
  if (second !== "-" && isIP(second) !== 0) return true;
  const first = line.slice(0, firstSpace);
  return NAME_AND_PORT.test(first) && isIP(first) === 0;
}

const NAME_AND_PORT = /:\d{1,5}$/;

class CombinedHead extends LineHead {
  readonly #address: string;
  readonly #line: string;
  /** Where status, size, referrer and user agent are. They are read when a policy asks for them. */
  readonly #rest: number;

  constructor(method: string, url: string, address: string, line: string, rest: number) {
    super(method, url);
    this.#address = address;
    this.#line = line;
    this.#rest = rest;
  }

  get(name: string): string | null {
    switch (name.toLowerCase()) {
      case "cf-connecting-ip":
        return this.#address;
      case "host":
        return this.host();
      case "referer":
        return this.#quoted(0);
      case "user-agent":
        return this.#quoted(1);
      default:
        return null;
    }
  }

  #quoted(index: number): string | null {
    let at = this.#rest;
    for (let i = 0; ; i++) {
      const start = this.#line.indexOf('"', at) + 1;
      const end = start === 0 ? -1 : closingQuote(this.#line, start);
      if (end < 0) return null;
      const value = this.#line.slice(start, end);
      if (i === index) return value === "-" ? null : unescaped(value);
      at = end + 1;
    }
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
