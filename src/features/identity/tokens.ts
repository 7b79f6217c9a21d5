/** Verifies the tokens of one place of requests, and remembers the results. */

import type { JWTPayload } from "jose";
// Not "jose" as a whole: Next.js warns of what its edge runtime lacks in any file that is imported, used or not.
import { JWKSNoMatchingKey, JWTInvalid } from "jose/errors";
import { decodeJwt } from "jose/jwt/decode";
import { jwtVerify } from "jose/jwt/verify";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { isTable } from "../../kernel/config/bindings.ts";
import type { IssuerSettings } from "../../kernel/config/identity.ts";
import type { Background } from "../../kernel/place/taker.ts";
import type { Timing } from "../../kernel/place/timing.ts";
import type { Claims } from "../../kernel/request/claims.ts";
import type { KeySet } from "./key-set.ts";

/** Of key pairs only: the secret of an HMAC would be in the hands of everybody who verifies. */
const ALGORITHMS = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];
/** How far clocks may differ. */
const TOLERANCE_S = 60;
/** In characters. Servers take at most 16 KiB for a header field, most of them less. */
const LONGEST_TOKEN = 16_384;
/** What follows is dropped: some servers read a token behind which other characters stand. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+/;

/** What is remembered, at least and up to twice as much. Bad tokens never push out good ones. */
const REMEMBERED = {
  /** Of verified tokens: about 4,000 with two short claims. */
  bytes: 2_097_152,
  /** Tokens that have cost a signature check in vain. */
  bad: 5_000,
};
/** What an entry takes beside its claims: its hash, two objects and a map (Node 24, 2026-11). */
const ENTRY_BYTES = 400;

/** The same reason is written to the log once in this time. */
const REPORT_MS = 600_000;

export interface Issuer extends Pick<IssuerSettings, "issuer" | "audience"> {
  readonly keys: KeySet;
}

/** The result for a token. It holds while the keys are the same. */
interface Result {
  readonly issuer: Issuer;
  readonly version: number;
  /** Absent: the token counts as none. */
  readonly claims?: Claims;
  /** Until this instant, ms since the epoch. */
  readonly untilMs: number;
}

interface TokensOptions {
  readonly issuers: readonly Issuer[];
  /** Claims that are kept. */
  readonly names: readonly string[];
  readonly waitMs: number;
  readonly timing: Timing;
  readonly report: (line: object) => void;
  readonly remembered?: typeof REMEMBERED;
}

/** Verifies a token. It never rejects. Undefined: the token counts as none. */
export type VerifyToken = (
  token: string,
  background: Background | undefined,
) => Promise<Claims | undefined> | undefined;

export function createTokens(options: TokensOptions): VerifyToken {
  const { issuers, names, waitMs, timing, report, remembered = REMEMBERED } = options;
  const byName = new Map(issuers.map((one) => [one.issuer, one]));
  const verified = new BoundedMap<string, Result>({ maxSize: remembered.bytes, weigh });
  const bad = new BoundedMap<string, Result>({ maxSize: remembered.bad });
  /** When a reason was written last, by its text. */
  const reported = new Map<string, number>();

  async function claimsOf(token: string, background: Background | undefined): Promise<Claims | undefined> {
    const hash = await hashOf(token);
    const result = verified.get(hash) ?? bad.get(hash);
    const issuer = result?.issuer ?? byName.get(issuerIn(token));
    if (!issuer) return noteWrong("iss", "ERR_JWT_CLAIM_VALIDATION_FAILED");
    await issuer.keys.ready(waitMs, background);
    if (result && result.version === issuer.keys.version() && timing.nowMs() < result.untilMs) return result.claims;
    return await verify(token, hash, issuer, background);
  }

  async function verify(
    token: string,
    hash: string,
    issuer: Issuer,
    background: Background | undefined,
  ): Promise<Claims | undefined> {
    const { keys, audience } = issuer;
    // If the keys change in the meantime, the token is verified again.
    const version = keys.version();
    const rules = {
      ...{ issuer: issuer.issuer, audience: [...audience], algorithms: ALGORITHMS, requiredClaims: ["exp"] },
      ...{ clockTolerance: TOLERANCE_S, currentDate: new Date(timing.nowMs()) },
    };
    verified.delete(hash);
    try {
      const { payload, protectedHeader } = await jwtVerify(token, keys.finder(waitMs, background), rules);
      // It has a meaning only for what is no JWT.
      if (protectedHeader.b64 !== undefined) throw new JWTInvalid();
      const claims = { issuer: issuer.issuer, values: valuesIn(payload, names) };
      const untilMs = (payload.exp! + TOLERANCE_S) * 1000;
      verified.set(hash, { issuer, version, claims, untilMs });
      return claims;
    } catch (error) {
      // A key that is missing may come: such a token is not remembered as bad.
      if (!(error instanceof JWKSNoMatchingKey)) {
        bad.set(hash, { issuer, version, untilMs: badUntilMs(error) });
      }
      const { code = "UNKNOWN", claim } = error as { readonly code?: string; readonly claim?: string };
      return noteWrong(claim, code, issuer);
    }
  }

  /** The operator must be able to find out why nobody's token counts. */
  function noteWrong(claim: string | undefined, code: string, issuer?: Issuer): undefined {
    const wrong = { code, ...(claim !== undefined && { claim }), ...(issuer && { issuer: issuer.issuer }) };
    const text = JSON.stringify(wrong);
    const nowMs = timing.nowMs();
    if (Math.abs(nowMs - (reported.get(text) ?? Number.NEGATIVE_INFINITY)) < REPORT_MS) return;
    reported.set(text, nowMs);
    report({ event: "token-unverified", ...wrong });
  }

  return (text, background) => {
    const token = TOKEN.exec(text)?.[0];
    return token !== undefined && token.length <= LONGEST_TOKEN ? claimsOf(token, background) : undefined;
  };
}

/** A token is remembered by its hash: memory holds nobody's token, and long ones take no more room. */
async function hashOf(token: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
  return String.fromCharCode(...new Uint8Array(digest));
}

/** What the token says before it is verified. */
function issuerIn(token: string): string {
  try {
    return decodeJwt(token).iss ?? "";
  } catch {
    return "";
  }
}

/** A token that is not valid yet may become valid. */
function badUntilMs(error: unknown): number {
  const { claim, payload } = error as { readonly claim?: string; readonly payload?: JWTPayload };
  const fromMs = claim === "nbf" ? (Number(payload?.nbf) - TOLERANCE_S) * 1000 : Number.NaN;
  return Number.isNaN(fromMs) ? Number.POSITIVE_INFINITY : fromMs;
}

function valuesIn(payload: JWTPayload, names: readonly string[]): ReadonlyMap<string, string> {
  const values = names.map((name) => [name, claimIn(payload, name)] as const);
  return new Map(values.filter((one): one is [string, string] => typeof one[1] === "string"));
}

/** A claim of this name. Without one, a dot leads from a claim to one inside it. */
function claimIn(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    const outer = name.slice(0, dot);
    const inner = Object.hasOwn(claims, outer) ? claims[outer] : undefined;
    const found = isTable(inner) ? claimIn(inner, name.slice(dot + 1)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function weigh({ claims }: Result): number {
  let bytes = ENTRY_BYTES;
  for (const [name, value] of claims?.values ?? []) bytes += name.length + 2 * value.length;
  return bytes;
}
