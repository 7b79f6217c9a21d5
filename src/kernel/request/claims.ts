/**
 * The claims of requests whose token was verified (src/features/identity). They are noted before keys are read, so that
 * reading a key stays synchronous.
 */

import type { RequestHead } from "./request-head.ts";

export interface Claims {
  /** Has no white space. */
  readonly issuer: string;
  /** Texts, by the names in policies. An empty one counts as absent. */
  readonly values: ReadonlyMap<string, string>;
}

const noted = new WeakMap<RequestHead, Claims>();

/** @param claims undefined: none. Those that another limiter has noted before are not those of this one. */
export function noteClaims(request: RequestHead, claims: Claims | undefined): void {
  if (claims) noted.set(request, claims);
  else noted.delete(request);
}

/** A claim behind its issuer: two issuers may name two people alike. */
export function claimText(request: RequestHead, name: string): string | undefined {
  const claims = noted.get(request);
  const value = claims?.values.get(name);
  return value === undefined ? undefined : `${claims!.issuer} ${value}`;
}

/** A value in the form of `claimText`. Undefined: the claim or the issuer is empty. */
export function countedClaim(text: string): string | undefined {
  return /^\S+ ./s.test(text) ? text : undefined;
}

/** The claim alone. @param text as `claimText` returns it. */
export function withoutIssuer(text: string): string {
  return text.slice(text.indexOf(" ") + 1);
}
