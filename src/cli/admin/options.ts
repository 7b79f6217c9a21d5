/** What the command line of `headgate admin` means. */

import { bareExpected, parseDurationMs } from "../../config/duration.ts";
import { instantOf } from "../../limiter/live/fields.ts";
import { type Io, Misuse } from "../io.ts";
import type { Access } from "./api.ts";

export interface AccessOptions {
  readonly url?: string;
  readonly token?: string;
}

/** Options before environment variables. */
export function accessOf({ url, token }: AccessOptions, { env, err }: Io): Access {
  const [address, secret] = [url ?? env.HEADGATE_URL, token ?? env.HEADGATE_TOKEN];
  if (!address) throw new Misuse("expected the gateway's address, as --url or HEADGATE_URL");
  if (!secret) throw new Misuse("expected the gateway's ADMIN_TOKEN, as HEADGATE_TOKEN or --token");
  const parsed = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain = parsed && parsed.username === "" && parsed.password === "" && !/[?#]/.test(address);
  if (!parsed || !isPlain || !/^https?:$/.test(parsed.protocol)) {
    throw new Misuse("--url: expected an http(s) URL without credentials, query or fragment");
  }
  if (!isFieldValue(secret))
    throw new Misuse("--token: expected letters, digits and signs of ASCII, without white space");
  if (parsed.protocol === "http:" && !/^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)) {
    err("warning: with http:// everybody on the way can read the token. Use https://\n");
  }
  return { url: parsed, token: secret };
}

/** What a field can carry as it is. */
export function isFieldValue(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text);
}

/** An instant or a day in the future, or a duration from now, as an instant in UTC. */
export function untilOf(text: string, nowMs: number): string {
  const durationMs = parseDurationMs(text);
  const instant = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text;
  const atMs = durationMs === undefined ? instantOf(instant) : nowMs + durationMs;
  const expected =
    bareExpected(text, 1, LAST_INSTANT_MS - nowMs) ??
    'a duration such as "2h", or an instant in the future such as "2026-12-01T00:00:00Z"';
  if (!(atMs > nowMs) || atMs > LAST_INSTANT_MS) throw new Misuse(`--until: expected ${expected}`);
  return new Date(atMs).toISOString();
}

/** The end of the year 9999: later instants are not written with four digits. */
const LAST_INSTANT_MS = Date.UTC(9999, 11, 31);

/** `api-1=200`, or dollars as in `usd-1=12.50`, as `{ "api-1": 200 }`; `default` undoes. */
export function limitsOf(pairs: readonly string[]): Record<string, number | null> {
  const limits = pairs.map((pair): [string, number | null] => {
    const [, id, number] = /^([a-z0-9-]+)=(\d{1,10}(?:\.\d{1,5})?|default)$/.exec(pair) ?? [];
    if (id === undefined) throw new Misuse(`expected <limit>=<number>, for example api-1=200; found ${pair}`);
    return [id, number === "default" ? null : Number(number)];
  });
  return Object.fromEntries(limits);
}
