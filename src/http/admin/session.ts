/**
 * A cookie in place of the token, for the console. The token is typed once and stays nowhere in the browser; no script
 * can read the cookie, and no page of another site makes the browser send it.
 */

import { base64url } from "jose";
import { cookieValue } from "../../keys/read.ts";
import { deriveBytes, HMAC, importHmacKey } from "../../partition/hmac.ts";

/** A day of work. Nothing is stored of a session: only another token ends it early. */
const SESSION_MS = 43_200_000;
const COOKIE = "headgate-session";
/** The cookie never reaches the origin: the gateway answers every path below `/.headgate` itself. */
const ATTRIBUTES = "Path=/.headgate; HttpOnly; Secure; SameSite=Strict";

/** The field that ends a session in this browser. */
export const ENDED = `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;

export interface Sessions {
  /** The field that begins a session. */
  begin(nowMs: number): Promise<string>;
  /** When the request's session ends, in ms since the epoch. Undefined: it has none, or a wrong or old one. */
  untilMs(headers: Headers, nowMs: number): Promise<number | undefined>;
}

/**
 * A cookie is the instant of its end, in ms since the epoch, and an HMAC of that text. The HMAC's key is derived from
 * the token: a new token ends all sessions.
 */
export function createSessions(token: string): Sessions {
  // Plain data, not a promise: one request must not await a promise of another.
  let key: CryptoKey | undefined;
  const encoder = new TextEncoder();

  async function keyOfSessions(): Promise<CryptoKey> {
    const secret = await importHmacKey(encoder.encode(token));
    return await importHmacKey(await deriveBytes(secret, "headgate session"), ["sign", "verify"]);
  }

  return {
    async begin(nowMs) {
      key ??= await keyOfSessions();
      const until = String(nowMs + SESSION_MS);
      const signature = new Uint8Array(await crypto.subtle.sign(HMAC, key, encoder.encode(until)));
      return `${COOKIE}=${until}.${base64url.encode(signature)}; ${ATTRIBUTES}; Max-Age=${SESSION_MS / 1000}`;
    },

    async untilMs(headers, nowMs) {
      const [, until, signature] = /^(\d{1,15})\.([\w-]{43})$/.exec(cookieValue(headers, COOKIE) ?? "") ?? [];
      if (until === undefined || signature === undefined || Number(until) <= nowMs) return undefined;
      key ??= await keyOfSessions();
      // In constant time.
      const isOurs = await crypto.subtle.verify(
        HMAC,
        key,
        new Uint8Array(base64url.decode(signature)),
        encoder.encode(until),
      );
      return isOurs ? Number(until) : undefined;
    },
  };
}
