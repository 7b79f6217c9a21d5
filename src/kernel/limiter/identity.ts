/** Who a request comes from, for policies whose key, plan or once is a claim. A limiter knows only these types. */

import type { Policy } from "../core/policy.ts";
import type { Background } from "../place/taker.ts";
import type { RequestHead } from "../request/request-head.ts";

/** Who issues the tokens of requests. `jwtIdentity` makes it, for the option `identity` of `createLimiter`. */
export interface Identity {
  /**
   * Undefined: none of these policies asks for a claim.
   *
   * @param waitMs how long a request waits at most for a key set, in ms.
   */
  identifyFor(policies: readonly Policy[], waitMs: number): Identify | undefined;
}

/**
 * Verifies the token of a request, if one of the policies asks for a claim. Keys and plans can be read afterwards.
 *
 * @returns a promise to wait for, which never rejects; undefined: go on at once.
 */
export interface Identify {
  (
    request: RequestHead,
    matched: readonly { readonly policy: Policy }[],
    background?: Background,
  ): Promise<void> | undefined;
  /** The names of cookies that hold tokens; undefined: they are bearer tokens. */
  readonly places: readonly (string | undefined)[];
}
