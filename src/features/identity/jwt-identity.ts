/** Makes the identity of a limiter from its issuers. It needs `jose`: only programs that call it carry it. */

import { reading } from "../../kernel/config/bindings.ts";
import { type IssuerSettings, isClaim, readIdentity } from "../../kernel/config/identity.ts";
import { ConfigurationError } from "../../kernel/config/mistake.ts";
import type { Policy } from "../../kernel/core/policy.ts";
import type { Identify, Identity } from "../../kernel/limiter/identity.ts";
import { reportLines } from "../../kernel/lines.ts";
import { LOCAL_TIMING, type Timing } from "../../kernel/place/timing.ts";
import { noteClaims } from "../../kernel/request/claims.ts";
import { bearerToken, cookieValue, plainCookie } from "../../kernel/request/sources.ts";
import { createKeySet } from "./key-set.ts";
import { createTokens } from "./tokens.ts";

/** An issuer of tokens (JWT), for `jwtIdentity`. */
export interface JwtIssuer {
  /** The URL of the issuer's key set: https, or http on the loopback. */
  readonly jwks: string;
  /** What tokens have as `iss`. Part of the client's key: two issuers may use one name for two people. */
  readonly issuer: string;
  /** What tokens have as `aud`, or among their `aud`; of a list, at least one of them. */
  readonly audience: string | readonly string[];
  /** The name of the cookie that holds the token. Default: it is the bearer token. */
  readonly cookie?: string | undefined;
}

/**
 * Lets keys and plans be claims of verified tokens: `key: ["jwt:sub", "ip"]`, `plan: "jwt:plan"`. A token that cannot
 * be verified is ignored, and the next key counts. Signatures by key pairs only (RS, PS, ES, EdDSA); `exp` is required;
 * `exp` and `nbf` with 60 s of tolerance.
 *
 * The key set is fetched when a token first needs it, again every 10 minutes, and for an unknown key at most every
 * 30 s; a request waits for it at most as long as for the store. The last one holds while it cannot be fetched. There
 * is no I/O until then: it may be called at module scope. One identity may serve several limiters.
 *
 * @param issuers one, or a list of 1 to 10.
 * @throws {ConfigurationError} with every mistake.
 */
export function jwtIdentity(issuers: JwtIssuer | readonly JwtIssuer[]): Identity {
  const { get, wrong, mistakes } = reading({ identity: issuers });
  const read = readIdentity(get, wrong, "identity");
  if (!read && mistakes.length === 0)
    wrong("ERR_IDENTITY", "identity", "an issuer { jwks, issuer, audience }", issuers);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes);
  return identityOf(read!);
}

/** Not `KeySetOptions`: the declarations of CommonJS cannot import `jose`, which that file does. */
interface PartsForTests {
  readonly timing?: Timing;
  readonly report?: (line: object) => void;
}

/** Like `jwtIdentity`, for issuers that were checked already. */
export function identityOf(
  issuers: readonly IssuerSettings[],
  { timing = LOCAL_TIMING, report = reportLines() }: PartsForTests = {},
): Identity {
  const keySets = new Map(issuers.map(({ jwks }) => [jwks, createKeySet(jwks, { timing, report })]));
  const places = [...new Set(issuers.map(({ cookie }) => cookie))];

  return {
    identifyFor(policies, waitMs) {
      // By name: an overflow in a chain is another object than the policy of its name.
      const asking = new Set(policies.filter((policy) => claimsOf(policy).length > 0).map(({ name }) => name));
      if (asking.size === 0) return undefined;
      const names = [...new Set(policies.flatMap(claimsOf))].map((part) => part.slice(part.indexOf(":") + 1));
      const readers = places.map((cookie) => {
        const here = issuers.filter((one) => one.cookie === cookie);
        const verify = createTokens({
          issuers: here.map(({ jwks, issuer, audience }) => ({ issuer, audience, keys: keySets.get(jwks)! })),
          ...{ names, waitMs, timing, report },
        });
        return { cookie, verify };
      });

      const identify = (...[request, matched, background]: Parameters<Identify>) => {
        if (!matched.some(({ policy }) => asking.has(policy.name))) return undefined;
        const { headers } = request;
        const verifying = readers.flatMap(({ cookie, verify }) => {
          const text = cookie === undefined ? bearerToken(headers) : plainCookie(cookieValue(headers, cookie) ?? "");
          return (text && verify(text, background)) || [];
        });
        noteClaims(request, undefined);
        if (verifying.length === 0) return undefined;
        return Promise.all(verifying).then((all) => {
          // The first place with a token that can be verified.
          noteClaims(
            request,
            all.find((one) => one),
          );
        });
      };
      return Object.assign(identify, { places });
    },
  };
}

function claimsOf({ key, plan, once }: Policy): string[] {
  const others = [plan, once?.source].filter((source) => source !== undefined);
  return [...key.flatMap((kind) => kind.split("+")), ...others].filter(isClaim);
}
