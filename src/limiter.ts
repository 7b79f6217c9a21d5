/** Policies, a store and a region, put together into a limiter. */

import { warnBy } from "./features/alerts/warnings.ts";
import { partsWith } from "./features/default.ts";
import { OPTIONAL, tableOfSome } from "./features/optional.ts";
import { checkOptions } from "./kernel/check-options.ts";
import { reading } from "./kernel/config/bindings.ts";
import { placeOf } from "./kernel/config/fields/read.ts";
import { readSetting } from "./kernel/config/fields/setting.ts";
import { missingIdentity } from "./kernel/config/identity.ts";
import { ConfigurationError } from "./kernel/config/mistake.ts";
import type { LoosePolicy, NameIn } from "./kernel/config/policy-checked.ts";
import { parseFields } from "./kernel/config/policy-fields.ts";
import { readRegion } from "./kernel/config/regions.ts";
import { OPTION_SETTINGS } from "./kernel/config/settings.ts";
import { checkedFeatures } from "./kernel/limiter/feature.ts";
import { reportFailures } from "./kernel/limiter/on-decision.ts";
import { limiterOf } from "./kernel/limiter/run.ts";
import type { Limiter, LimiterOptions } from "./kernel/limiter/types.ts";

export type { AppliedPolicy } from "./kernel/limiter/decide.ts";
export { type KeyByHand, namedKey } from "./kernel/limiter/key-by-hand.ts";
export type { DecisionContext, OnDecision } from "./kernel/limiter/on-decision.ts";
export type { LimitWarning, OnWarning } from "./kernel/limiter/on-warning.ts";
export type { Reservation } from "./kernel/limiter/reservation.ts";
export { checkCost } from "./kernel/limiter/takes.ts";
export type {
  EarlyTake,
  InsideLimiter,
  Limiter,
  LimiterOptions,
  PolicyTake,
  Take,
  TakeOptions,
  WaitOptions,
} from "./kernel/limiter/types.ts";
export type { Background } from "./kernel/place/taker.ts";
export { isStoreError } from "./kernel/store/failure.ts";
export { limiterOf };

const LIVE_REFRESH_MS = 30_000;

const LIMITER_TYPES: Readonly<Record<keyof LimiterOptions, string>> = {
  policies: "object",
  store: "object",
  region: "any",
  keySecret: "any",
  namespace: "any",
  ipv6Prefix: "any",
  onDecision: "any",
  onWarning: "function",
  features: "any",
  identity: "object",
};

/**
 * Makes a limiter from policies and a store. It does no I/O and starts no timer: you may call it at module scope.
 *
 * @throws {ConfigurationError} with every mistake of the policies, of `region`, `keySecret`, `namespace` and
 * `ipv6Prefix`, for a claim in a policy without `identity`, and for a field whose feature is not in `features`.
 * @throws {TypeError} for an unknown option, an option of a wrong type, and a feature that is there twice.
 */
export function createLimiter<const P extends readonly LoosePolicy[]>(all: LimiterOptions<P>): Limiter<NameIn<P>> {
  checkOptions("createLimiter", all, LIMITER_TYPES, placeOf);
  const { policies, region, keySecret, namespace, ipv6Prefix, features: given = [], onWarning, ...options } = all;
  const { store } = options;
  if (typeof store?.take !== "function") {
    throw new TypeError("createLimiter: store: expected a store");
  }
  if (!(keySecret ?? store.keySecret)) {
    throw new TypeError("createLimiter: keySecret: expected at least 16 characters, because the store has no secret");
  }
  if (![options.onDecision ?? []].flat().every((one) => typeof one === "function")) {
    throw new TypeError("createLimiter: onDecision: expected a function, or a list of functions");
  }
  if (options.identity && typeof options.identity.identifyFor !== "function") {
    throw new TypeError("createLimiter: identity: expected jwtIdentity({ jwks, issuer, audience })");
  }
  const features = checkedFeatures("createLimiter: features", given, Object.keys(OPTIONAL));
  if (features.some(({ liveReader }) => liveReader) && !store.live) {
    throw new TypeError("createLimiter: features: live() needs a store that keeps a live document, such as redisStore");
  }
  const table = tableOfSome(features);
  const parsed = parseFields(table, policies, "policies", undefined, options.identity ? undefined : missingIdentity);
  const { get, wrong, mistakes } = reading({ region, keySecret, namespace, ipv6Prefix });
  const [name, secret] = [
    readRegion(get, wrong, "region"),
    readSetting(OPTION_SETTINGS, "KEY_SECRET", get, wrong, "keySecret"),
  ];
  const prefix = readSetting(OPTION_SETTINGS, "IPV6_PREFIX", get, wrong, "ipv6Prefix");
  const space = readSetting(OPTION_SETTINGS, "NAMESPACE", get, wrong, "namespace");
  if (parsed.mistakes || mistakes.length > 0) throw new ConfigurationError([...(parsed.mistakes ?? []), ...mistakes]);
  const warned = onWarning && parsed.value.some(({ warn }) => warn) && warnBy(onWarning);
  return limiterOf(parsed.value, {
    parts: partsWith(features),
    ...options,
    ...(warned && { onDecision: [options.onDecision ?? reportFailures(), warned].flat() }),
    ipv6Prefix: prefix,
    ...(space && { namespace: space, owner: space }),
    features,
    liveRefreshMs: LIVE_REFRESH_MS,
    ...(name !== undefined && { region: name }),
    ...(secret !== undefined && { keySecret: secret }),
  });
}
