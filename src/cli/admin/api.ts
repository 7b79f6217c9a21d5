/** One call of the admin API (`/.headgate/admin`), and a clear message for everything that can go wrong with it. */

import { isTable, parseJson } from "../../config/bindings.ts";
import { NO_SUCH_PATH } from "../../http/reserved.ts";
import { Failure, type Io, Misuse } from "../io.ts";

export interface Access {
  readonly url: URL;
  readonly token: string;
}

export interface Call {
  readonly method: "GET" | "PUT" | "PATCH" | "DELETE";
  /** Below `/.headgate/admin`. */
  readonly path: string;
  readonly kind?: string | undefined;
  /** Further parameters of the URL. */
  readonly search?: Readonly<Record<string, string>>;
  /** Raw values, one for each part of the kind. They are sent in a field, because URLs reach logs. */
  readonly key?: readonly string[];
  readonly body?: unknown;
  readonly ifMatch?: string;
  /** A field of every answer to this call. Another server may answer anything with 200. */
  readonly answers: string;
}

export type Body = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly body: Body;
  readonly etag: string | null;
}

/** The gateway refused the call. */
export class Refused extends Failure {
  /** The problem document of the answer. Undefined: the answer has none. */
  readonly problem: unknown;

  constructor(lines: readonly string[], problem?: unknown) {
    super(...lines);
    this.problem = problem;
  }
}

/** Options before environment variables. */
export function accessOf(options: { readonly [name: string]: unknown }, { env, err }: Io): Access {
  const [address, token] = [options.url ?? env.HEADGATE_URL ?? "", options.token ?? env.HEADGATE_TOKEN ?? ""].map(
    String,
  ) as [string, string];
  if (!address) throw new Misuse("expected the gateway's address, as --url or HEADGATE_URL");
  if (!token) throw new Misuse("expected the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token");
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain = url && url.username === "" && url.password === "" && !/[?#]/.test(address);
  if (!url || !isPlain || !/^https?:$/.test(url.protocol)) {
    throw new Misuse("--url: expected an http(s) URL without credentials, query or fragment");
  }
  if (!isFieldValue(token)) {
    throw new Misuse("--token: expected letters, digits and signs of ASCII, without white space");
  }
  if (url.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    err("warning: with http:// everybody on the way can read the token. Use https://\n");
  }
  return { url, token };
}

/** What a field can carry as it is. */
export function isFieldValue(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** Longer than the gateway ever waits for a store. */
const TIMEOUT_MS = 35_000;

/** @throws {Failure} with a message for people. It never contains a key or the token. */
export async function callAdmin({ url, token }: Access, call: Call): Promise<Answer> {
  const response = await send(url, token, call);
  if (response.status >= 300 && response.status < 400) {
    throw new Failure(`${url.host} answered with a redirect (${response.status}). Give the address that it leads to`);
  }
  const text = await response.text().catch(() => "");
  const body = parseJson(text);
  if (!response.ok) throw new Refused(messageOf(response, body), body);
  const answered = `${url.host} answered ${response.status}`;
  if (!isTable(body)) throw new Failure(`${answered} without a JSON object. Is it a gateway?`);
  if (!(call.answers in body)) throw new Failure(`${answered} without "${call.answers}". Is it a gateway?`);
  return { body, etag: response.headers.get("ETag") };
}

async function send(url: URL, token: string, call: Call): Promise<Response> {
  const { method, path, kind, search = {}, key = [], body, ifMatch } = call;
  const target = new URL(url);
  target.pathname = `${url.pathname.replace(/\/+$/, "")}/.headgate/admin${path}`;
  if (kind !== undefined) target.searchParams.set("kind", kind);
  for (const [name, value] of Object.entries(search)) target.searchParams.set(name, value);
  const headers = new Headers({ Authorization: `Bearer ${token}`, Accept: "application/json" });
  // A field can hold neither every character nor several values: its parts are encoded, and separated by commas.
  if (key.length > 0) headers.set("Headgate-Key", key.map(encodeURIComponent).join(","));
  if (body !== undefined) headers.set("Content-Type", "application/json");
  if (ifMatch !== undefined) headers.set("If-Match", ifMatch);
  try {
    return await fetch(target, {
      method,
      headers,
      // A redirect could lead the key to another host.
      redirect: "manual",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  } catch (error) {
    throw new Failure(`no answer from ${url.host}: ${networkReason(error)}`);
  }
}

/** Node says "fetch failed", and tells the reason in `cause`. */
function networkReason(error: unknown): string {
  const { name, cause } = error as Error & { cause?: Error & { code?: unknown } };
  if (name === "TimeoutError") return `waited ${TIMEOUT_MS / 1000} s`;
  return typeof cause?.code === "string" ? cause.code : (cause?.message ?? "the connection failed");
}

/** What a status means here. The gateway's own words follow. */
const MEANINGS: Readonly<Record<number, string>> = {
  400: "the gateway does not understand this",
  401: "the gateway does not accept this token",
  403: "the gateway does not allow this",
  404: "not found",
  409: "this does not fit what is there now",
  412: "somebody else has changed the live document. Get it again, and repeat the change",
  413: "the live document would be too large",
  422: "the gateway refuses this",
  428: "the gateway wants If-Match",
  429: "too many wrong tokens",
};

function messageOf(response: Response, body: unknown): string[] {
  const { status, headers } = response;
  const { detail, title, mistakes } = isTable(body) ? body : {};
  const wait = headers.get("Retry-After");
  const said = [detail, title].find((text) => typeof text === "string" && text !== "");
  // The admin API itself says what it did not find.
  const isElsewhere = status === 404 && (said === undefined || String(said).startsWith(NO_SUCH_PATH));
  return [
    [
      `${status}: ${MEANINGS[status] ?? "the gateway could not do this"}`,
      isElsewhere ? ". A gateway without ADMIN_TOKEN has no admin API" : "",
      wait === null ? "" : `. Try again in ${wait} s`,
    ].join(""),
    ...(said === undefined ? [] : [String(said)]),
    ...(Array.isArray(mistakes) ? mistakes : []).map((mistake) => `- ${mistakeText(mistake)}`),
  ];
}

function mistakeText(mistake: unknown): string {
  if (!isTable(mistake)) return String(mistake);
  const { path, expected, found, code } = mistake;
  // What is wrong in a live document has no code.
  const end = code === undefined ? "" : ` (${code})`;
  return expected === undefined ? `${path}${end}` : `${path}: expected ${expected}; found ${found}${end}`;
}
