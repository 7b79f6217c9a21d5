/**
 * Lets admins in, before anything else of a request is looked at: the holder of the token or of a session, or somebody
 * whom Cloudflare Access has let in.
 */

import type { Context } from "hono";
import { base64url, jwtVerify } from "jose";
import { createKeySet, FETCH_MS } from "../../features/identity/key-set.ts";
import type { AccessSettings, AdminSettings } from "../../kernel/config/admin.ts";
import { toSeconds } from "../../kernel/http/headers.ts";
import { clientKey } from "../../kernel/http/key.ts";
import type { Limiter } from "../../kernel/limiter/types.ts";
import { createLines } from "../../kernel/lines.ts";
import { deriveBytes, HMAC, importHmacKey } from "../../kernel/request/hmac.ts";
import { cookieValue, type ReadAddress } from "../../kernel/request/sources.ts";
import { answer, type NobodyAnswer, problem, type SessionAnswer } from "./answers.ts";

export interface Admin {
  /** For the audit line: `token`, `session`, or `access:` and the address or id that Access has verified. */
  readonly by: string;
  /** No page of another origin can make a browser send a bearer token. */
  readonly hasToken: boolean;
  /** When the session ends, in ms since the epoch. Absent: a token has no end. */
  readonly untilMs?: number;
}

/** Not an admin, and why what was presented is wrong. It says nothing of the token. Absent: nothing was presented. */
type Stranger = { readonly wrong?: string };

/** Wrong tokens for an address in any minute. Counted in the isolate. */
export const WRONG_TOKEN_POLICIES = [
  { name: "admin-wrong", limits: [{ algorithm: "sliding-log", limit: 5, window: "1m" }] },
] as const;

const READING = ["GET", "HEAD"];

/** The admin who asks, or the answer to anybody else. */
export type Gate = (request: Request) => Promise<Admin | Response>;

/**
 * @param wrongTokens a limiter of `WRONG_TOKEN_POLICIES` with a memory store. @param sessions absent: there is no token
 * to begin one with. @param addressOf reads the client's address. Absent: it is where Cloudflare says it.
 */
export function createGate(
  settings: AdminSettings,
  wrongTokens: Limiter,
  sessions: Sessions | undefined,
  addressOf?: ReadAddress,
): Gate {
  const authenticate = createAuthenticate(settings, sessions);
  const [policy] = wrongTokens.policies;
  // Five wrong tokens for an address are no bound: an attacker has many addresses.
  const write = createLines();

  async function refuse(request: Request, { wrong }: Stranger): Promise<Response> {
    if (wrong !== undefined) {
      const { region, ipv6Prefix } = wrongTokens;
      const key = clientKey(["ip"], request, () => region, ipv6Prefix, addressOf && (() => addressOf(request)));
      const { allowed, retryAfterMs = 0 } = await wrongTokens.takeMatched(
        [{ policy: policy!, key, cost: 1 }],
        () => region,
      );
      if (!allowed) {
        const wait = { "Retry-After": String(Math.max(1, toSeconds(retryAfterMs))) };
        return problem({ title: "Too Many Requests", status: 429, detail: "Too many wrong tokens." }, wait);
      }
      // The operator must be able to find out why somebody is not let in.
      write(() => ({ event: "admin-refused", at: new Date().toISOString(), code: wrong }));
    }
    const detail = "This needs the admin token, or a session.";
    return problem({ title: "Unauthorized", status: 401, detail }, { "WWW-Authenticate": "Bearer" });
  }

  return async (request) => {
    const presented = await authenticate(request);
    if (!("by" in presented)) return await refuse(request, presented);
    if (READING.includes(request.method) || presented.hasToken || isSameOrigin(request)) return presented;
    const detail = "Without the bearer token, only this gateway's own pages may make changes.";
    return problem({ title: "Forbidden", status: 403, detail });
  };
}

/** Browsers send cookies of this gateway with the requests of other pages too. */
function isSameOrigin({ url, headers }: Request): boolean {
  const origin = headers.get("Origin");
  if (origin !== null) return origin === new URL(url).origin;
  return headers.get("Sec-Fetch-Site") === "same-origin";
}

/**
 * Tells the console's page who is signed in. Nobody is an answer too, and no 401: browsers report each 401 as an
 * error, and the page asks before anybody can have signed in.
 */
export function serveSignedIn(gate: Gate): (c: Context) => Promise<Response> {
  return async (c) => {
    const admin = await gate(c.req.raw);
    if (admin instanceof Response) return admin.status === 401 ? answer<NobodyAnswer>({ by: null }) : admin;
    const { by, untilMs } = admin;
    return answer<SessionAnswer>({ by, until: untilMs === undefined ? null : new Date(untilMs).toISOString() });
  };
}

/** @param sessions absent: there is no token. */
function createAuthenticate(
  { token, access }: AdminSettings,
  sessions: Sessions | undefined,
): (request: Request) => Promise<Admin | Stranger> {
  const isToken = token === undefined ? undefined : createCompare(token);
  const verify = access && createVerify(access);

  return async ({ headers }) => {
    // In full: an admin's token may have characters that no client's token has.
    const bearer = /^Bearer +(\S.*)$/i.exec(headers.get("Authorization") ?? "")?.[1];
    if (bearer !== undefined && (await isToken?.(bearer))) return { by: "token", hasToken: true };
    // A session that has ended is no guess: it counts as nothing presented.
    const untilMs = bearer === undefined ? await sessions?.untilMs(headers, Date.now()) : undefined;
    if (untilMs !== undefined) return { by: "session", hasToken: false, untilMs };
    const assertion = headers.get("Cf-Access-Jwt-Assertion") ?? cookieValue(headers, "CF_Authorization");
    if (assertion && verify) return await verify(assertion);
    return bearer === undefined ? {} : { wrong: "token" };
  };
}

/** Compares digests: the time says nothing about the token, not even its length. */
function createCompare(token: string): (presented: string) => Promise<boolean> {
  let expected: Uint8Array | undefined;
  return async (presented) => {
    expected ??= await digest(token);
    const found = await digest(presented);
    let difference = 0;
    for (let i = 0; i < expected.length; i++) difference |= expected[i]! ^ found[i]!;
    return difference === 0;
  };
}

async function digest(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

function createVerify({ team, audience }: AccessSettings): (assertion: string) => Promise<Admin | Stranger> {
  const issuer = `https://${team}.cloudflareaccess.com`;
  const keys = createKeySet(`${issuer}/cdn-cgi/access/certs`);
  const rules = { issuer, audience, algorithms: ["RS256"], requiredClaims: ["exp", "sub"] };
  return async (assertion) => {
    try {
      await keys.ready(FETCH_MS);
      const { payload } = await jwtVerify(assertion, keys.finder(FETCH_MS), rules);
      // A person has an address; a service token has a name, and an empty `sub`.
      const by = `access:${payload.email || payload.common_name || payload.sub}`;
      return { by, hasToken: false, untilMs: payload.exp! * 1000 };
    } catch (error) {
      return { wrong: (error as { code?: string }).code ?? "UNKNOWN" };
    }
  };
}

/** A day of work. Nothing is stored of a session: only another token ends it early. */
const SESSION_MS = 43_200_000;
const COOKIE = "headgate-session";
/** The cookie never reaches the origin: the gateway answers every path below `/.headgate` itself. */
const ATTRIBUTES = "Path=/.headgate; HttpOnly; Secure; SameSite=Strict";

/** The field that ends a session in this browser. */
export const ENDED = `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`;

export type Sessions = ReturnType<typeof createSessions>;

/**
 * A cookie in place of the token, for the console. The token is typed once and stays nowhere in the browser; no script
 * can read the cookie, and no page of another site makes the browser send it.
 *
 * A cookie is the instant of its end, in ms since the epoch, and an HMAC of that text. The HMAC's key is derived from
 * the token: a new token ends all sessions.
 */
export function createSessions(token: string) {
  // Plain data, not a promise: one request must not await a promise of another.
  let key: CryptoKey | undefined;
  const encoder = new TextEncoder();

  async function keyOfSessions(): Promise<CryptoKey> {
    const secret = await importHmacKey(encoder.encode(token));
    return await importHmacKey(await deriveBytes(secret, "headgate session"), ["sign", "verify"]);
  }

  return {
    async begin(nowMs: number): Promise<string> {
      key ??= await keyOfSessions();
      const until = String(nowMs + SESSION_MS);
      const signature = new Uint8Array(await crypto.subtle.sign(HMAC, key, encoder.encode(until)));
      return `${COOKIE}=${until}.${base64url.encode(signature)}; ${ATTRIBUTES}; Max-Age=${SESSION_MS / 1000}`;
    },

    /** When the request's session ends, in ms since the epoch. Undefined: it has none, or a wrong or old one. */
    async untilMs(headers: Headers, nowMs: number): Promise<number | undefined> {
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
