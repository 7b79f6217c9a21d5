/** One call of the admin API (`/.headgate/admin`), and a clear message for everything that can go wrong with it. */

import { isTable, parseJson } from "../../config/bindings.ts";
import { NO_SUCH_PATH } from "../../http/reserved.ts";
import { Failure, type Io, Misuse } from "../io.ts";

interface Access {
  readonly url: URL;
  readonly token: string;
}

export interface Call {
  /** Default: `GET`. */
  readonly method?: string;
  /** Below `/.headgate/admin`. */
  readonly path: string;
  /** A field of every answer. Another server may answer anything with 200. */
  readonly answers: string;
  readonly search?: Body;
  /** Raw values, one for each part of the kind. They are sent in a field, because URLs reach logs. */
  readonly key?: readonly string[];
  readonly body?: Body;
  readonly ifMatch?: unknown;
}

export type Body = Readonly<Record<string, unknown>>;

/** The gateway refused the call. */
export class Refused extends Failure {
  /** The problem document of the answer. Undefined: the answer has none. */
  problem: unknown;
}

/** Options before environment variables. @throws {Misuse} */
export function accessOf(options: Body, { env, err }: Io): Access {
  const address = String(options.url ?? env.HEADGATE_URL ?? "");
  const token = String(options.token ?? env.HEADGATE_TOKEN ?? "");
  if (!address) throw new Misuse("expected the gateway's address, as --url or HEADGATE_URL");
  if (!token) throw new Misuse("expected the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token");
  if (!/^https?:\/\/[^?#@]+$/i.test(address) || !URL.canParse(address)) {
    throw new Misuse("--url: expected an http(s) URL without credentials, query or fragment");
  }
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new Misuse("--token: expected letters, digits and signs of ASCII, without white space");
  }
  const url = new URL(address);
  if (url.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    err("warning: with http:// everybody on the way can read the token. Use https://\n");
  }
  return { url, token };
}

/** Longer than the gateway ever waits for a store. */
const TIMEOUT_MS = 35_000;

/** @throws {Failure} with a message for people. It never contains a key or the token. */
export async function callAdmin({ url, token }: Access, call: Call): Promise<Body> {
  const { method = "GET", path, answers, search = {}, key, body, ifMatch } = call;
  const target = new URL(url);
  target.pathname = `${url.pathname.replace(/\/+$/, "")}/.headgate/admin${path}`;
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined) target.searchParams.set(name, String(value));
  }
  const headers = new Headers({ Authorization: `Bearer ${token}`, Accept: "application/json" });
  // A field can hold neither every character nor several values: its parts are encoded, and separated by commas.
  if (key) headers.set("Headgate-Key", key.map(encodeURIComponent).join(","));
  if (body) headers.set("Content-Type", "application/json");
  if (ifMatch !== undefined) headers.set("If-Match", String(ifMatch));
  const response = await fetch(target, {
    method,
    headers,
    body: body ? JSON.stringify(body) : null,
    // A redirect could lead the key to another host.
    redirect: "manual",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch(({ cause, message }) => {
    // Node says "fetch failed", and tells the reason in `cause`.
    throw new Failure(`no answer from ${url.host}: ${cause?.code ?? cause?.message ?? message}`);
  });
  const { status, ok } = response;
  if (status >= 300 && status < 400) {
    throw new Failure(`${url.host} answered with a redirect (${status}). Give the address that it leads to`);
  }
  const answer = parseJson(await response.text().catch(() => ""));
  // If the counts cannot be read, the refusal has the override.
  if (isTable(answer) && answers in answer && (ok || method === "GET")) return answer;
  if (!ok) throw Object.assign(new Refused(...messageOf(response, answer)), { problem: answer });
  const missing = isTable(answer) ? `"${answers}"` : "a JSON object";
  throw new Failure(`${url.host} answered ${status} without ${missing}. Is it a gateway?`);
}

/** What a status means here. The gateway's own words follow. */
const MEANINGS: Readonly<Record<number, string>> = {
  401: "the gateway does not accept this token",
  404: "not found",
  409: "this does not fit what is there now",
  412: "somebody else has changed the live document. Get it again, and repeat the change",
  428: "the gateway wants If-Match",
  429: "too many wrong tokens",
};

function messageOf({ status, headers }: Response, body: unknown): string[] {
  const { detail, title, mistakes } = isTable(body) ? body : {};
  const said = String(detail || title || "");
  const meaning = MEANINGS[status] ?? (status < 500 ? "the gateway refuses this" : "the gateway could not do this");
  // The admin API itself says what it did not find.
  const isElsewhere = status === 404 && (said === "" || said.startsWith(NO_SUCH_PATH));
  const hint = isElsewhere ? ". A gateway without ADMIN_TOKEN has no admin API" : "";
  const wait = headers.get("Retry-After");
  const again = wait === null ? "" : `. Try again in ${wait} s`;
  const list = Array.isArray(mistakes) ? mistakes.map((mistake) => `- ${mistakeText(mistake)}`) : [];
  return [`${status}: ${meaning}${hint}${again}`, ...(said === "" ? [] : [said]), ...list];
}

function mistakeText(mistake: unknown): string {
  if (!isTable(mistake)) return String(mistake);
  const { path, expected, found, code } = mistake;
  // What is wrong in a live document has no code.
  const end = code === undefined ? "" : ` (${code})`;
  return expected === undefined ? `${path}${end}` : `${path}: expected ${expected}; found ${found}${end}`;
}
