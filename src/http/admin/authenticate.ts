/** Who calls the admin API: the holder of the token or of a session, or somebody whom Cloudflare Access has let in. */

import { createRemoteJWKSet, jwtVerify } from "jose";
import type { AccessSettings, AdminSettings } from "../../config/admin.ts";
import { bearerToken, cookieValue } from "../../keys/read.ts";
import type { Sessions } from "./session.ts";

export interface Admin {
  /** For the audit line: `token`, `session`, or `access:` and the address or id that Access has verified. */
  readonly by: string;
  /** No page of another origin can make a browser send a bearer token. */
  readonly hasToken: boolean;
  /** When the session ends, in ms since the epoch. Absent: a token has no end. */
  readonly untilMs?: number;
}

/** Somebody who has not shown that they are an admin. */
export interface Stranger {
  /** Why what was presented is wrong. It says nothing of the token. Absent: nothing was presented. */
  readonly wrong?: string;
}

/** @param sessions absent: there is no token. */
export function createAuthenticate(
  { token, access }: AdminSettings,
  sessions: Sessions | undefined,
): (request: Request) => Promise<Admin | Stranger> {
  const isToken = token === undefined ? undefined : createCompare(token);
  const verify = access && createVerify(access);

  return async ({ headers }) => {
    const bearer = bearerToken(headers);
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
  // Kept for 10 minutes. An unknown key is looked for again, at most every 30 s.
  const keys = createRemoteJWKSet(new URL(`${issuer}/cdn-cgi/access/certs`));
  const rules = { issuer, audience, algorithms: ["RS256"], requiredClaims: ["exp", "sub"] };
  return async (assertion) => {
    try {
      const { payload } = await jwtVerify(assertion, keys, rules);
      // A person has an address; a service token has a name, and an empty `sub`.
      const by = `access:${payload.email || payload.common_name || payload.sub}`;
      return { by, hasToken: false, untilMs: payload.exp! * 1000 };
    } catch (error) {
      return { wrong: (error as { code?: string }).code ?? "UNKNOWN" };
    }
  };
}
