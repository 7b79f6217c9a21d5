/** One call of the admin API (`/.headgate/admin`), a message for what can go wrong, and answers as text for people. */

import { isTable, parseJson } from "../../kernel/config/bindings.ts";
import { describeUnits, toUnits } from "../../kernel/core/units.ts";
import { NO_SUCH_PATH } from "../../kernel/http/reserved.ts";
import { Failure, type Io, Misuse } from "../io.ts";
import { line, printable, table } from "../printable.ts";

export type Body = Readonly<Record<string, unknown>>;

export interface AdminCall {
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

export interface Access {
  readonly url: URL;
  readonly token: string;
}

/** Options before environment variables. @throws {Misuse} */
export function accessOf(options: Body, { env, err }: Io): Access {
  const address = String(options.url ?? env.HEADGATE_URL ?? "");
  const token = String(options.token ?? env.HEADGATE_TOKEN ?? "");
  if (!address) throw new Misuse("expected the gateway's address, as --url or HEADGATE_URL");
  if (!token) throw new Misuse("expected the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token");
  return checkedAccess(address, options.url === undefined ? "HEADGATE_URL" : "--url", token, err);
}

/** @param from where the address stands. @param token empty: there is none. @throws {Misuse} */
export function checkedAccess(address: string, from: string, token: string, err: Io["err"]): Access {
  if (!/^https?:\/\/[^?#@]+$/i.test(address) || !URL.canParse(address)) {
    throw new Misuse(`${from}: expected an http(s) URL without credentials, query or fragment`);
  }
  if (!/^[\x21-\x7e]*$/.test(token)) {
    throw new Misuse("--token: expected letters, digits and signs of ASCII, without white space");
  }
  const url = new URL(address);
  if (url.protocol === "http:" && token && !isThisMachine(url)) {
    err("warning: with http:// everybody on the way can read the token. Use https://\n");
  }
  return { url, token };
}

export function isThisMachine({ hostname }: URL): boolean {
  return /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname);
}

/** The address of a path below `/.headgate`. The gateway may lie below a path of its host. */
export function reservedUrl(url: URL, path: string): URL {
  const target = new URL(url);
  target.pathname = `${url.pathname.replace(/\/+$/, "")}/.headgate${path}`;
  return target;
}

/** @throws {Failure} if there is no answer. */
export async function send(target: URL, init: RequestInit): Promise<Response> {
  // A redirect could lead the key to another host. The gateway never waits for a store as long as this.
  const all = { ...init, redirect: "manual", signal: AbortSignal.timeout(35_000) } as const;
  return await fetch(target, all).catch(({ cause, message }) => {
    // Node says "fetch failed", and tells the reason in `cause`.
    throw new Failure(`no answer from ${target.host}: ${cause?.code ?? cause?.message ?? message}`);
  });
}

/** More than any gateway answers with. Another server may go on for ever. */
const MOST_BYTES = 16_777_216;

/** Undefined: the body is not JSON, is too long, or did not arrive in full. */
export async function jsonIn({ body }: Response): Promise<unknown> {
  const [chunks, decoder] = [[] as string[], new TextDecoder()];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      if (bytes > MOST_BYTES) return undefined;
      chunks.push(decoder.decode(chunk, { stream: true }));
    }
  } catch {
    return undefined;
  }
  return parseJson(chunks.join(""));
}

/**
 * @throws {Failure} with a message for people, which never contains a key or the token. If the gateway refused the
 * call, the error's `problem` is the problem document.
 */
export async function callAdmin({ url, token }: Access, call: AdminCall): Promise<Body> {
  const { method = "GET", path, answers, search = {}, key, body, ifMatch } = call;
  const target = reservedUrl(url, `/admin${path}`);
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined) target.searchParams.set(name, String(value));
  }
  const headers = new Headers({ Authorization: `Bearer ${token}`, Accept: "application/json" });
  // A field can hold neither every character nor several values: its parts are encoded, and separated by commas.
  if (key) headers.set("Headgate-Key", key.map(encodeURIComponent).join(","));
  if (body) headers.set("Content-Type", "application/json");
  if (ifMatch !== undefined) headers.set("If-Match", String(ifMatch).replace(/[^\x21-\x7e]/g, "?"));
  const response = await send(target, { method, headers, body: body ? JSON.stringify(body) : null });
  const { status, ok } = response;
  const answer = await jsonIn(response);
  // If the counts cannot be read, the refusal has the override.
  if (isTable(answer) && answers in answer && (ok || method === "GET")) return answer;
  if (ok) throw new Failure(`${url.host} answered ${status} without "${answers}". Is it a gateway?`);
  throw Object.assign(new Failure(...messageOf(response, isTable(answer) ? answer : {})), { problem: answer });
}

/** The gateway's own words follow. */
function messageOf({ status, headers }: Response, body: Body): string[] {
  const { detail = NO_SUCH_PATH } = body;
  // The admin API itself says what it did not find.
  const isElsewhere = status === 404 && String(detail).startsWith(NO_SUCH_PATH);
  const hint = isElsewhere ? ". A gateway without ADMIN_TOKEN has no admin API" : "";
  const wait = headers.get("Retry-After");
  const again = wait === null ? "" : `. Try again in ${wait} s`;
  return [`the gateway answered ${status}${hint}${again}`, ...anyText(body).split("\n").filter(Boolean)];
}

/** Any answer: its fields, each on a line; a list of objects as a table. */
export function anyText(body: Body): string {
  const texts = Object.entries(body).map(([name, value]) => {
    if (!Array.isArray(value) || value.length === 0 || !value.every(isTable)) {
      return line(`${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
    }
    const columns = [...new Set(value.flatMap((row) => Object.keys(row)))];
    const rows = value.map((row) => columns.map((column) => row[column]));
    return `\n${line(name)}${table(columns.map(printable), rows)}\n`;
  });
  return texts.join("");
}

/** Numbers of limits in the unit of their policy's meter. */
export function countsText(body: Body): string {
  const limits = tablesIn(body.limits).map(({ id, limit, remaining, resetAfterMs, unit }) => {
    const wait = typeof resetAfterMs === "number" ? `${Math.ceil(resetAfterMs / 1000)} s` : undefined;
    const words = (number: unknown) =>
      typeof number === "number" && (unit === "usd" || unit === "tokens")
        ? describeUnits(toUnits(number, unit), unit)
        : number;
    return { limit: id, units: words(limit), remaining: words(remaining), "full again in": wait };
  });
  return anyText({ ...body, limits });
}

/** The points of all regions and minutes added up, and the clients with most refusals. */
export function statsText(body: Body): string {
  const sums = new Map<string, Body>();
  for (const { policy, outcome, source, count } of tablesIn(body.points)) {
    const name = JSON.stringify([policy, outcome, source]);
    const before = Number(sums.get(name)?.requests ?? 0);
    sums.set(name, { policy, outcome, source, requests: before + Number(count) });
  }
  const clients = Object.entries(isTable(body.top) ? body.top : {}).flatMap(([policy, top]) =>
    tablesIn(top).map(({ key, refused }) => ({ policy, key, refused })),
  );
  return anyText({ heard: body.heard, requests: [...sums.values()], clients });
}

function tablesIn(value: unknown): readonly Body[] {
  return Array.isArray(value) ? value.filter(isTable) : [];
}
