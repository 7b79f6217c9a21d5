/** `headgate`: the library, a limiter to use in other Workers. */

export type { CountsNamespace, LocationHint } from "./config/counts.ts";
export { ConfigurationError, type Mistake, type MistakeCode } from "./config/mistake.ts";
export type { CostRuleInput, LimitInput, MatchInput, PolicyInput } from "./config/policy-input.ts";
export type { RegionNames } from "./config/regions.ts";
export type { RateLimitHeaders } from "./config/settings.ts";
export type { CalendarInput } from "./core/calendar.ts";
export type { ConcurrencyInput } from "./core/concurrency.ts";
export type {
  AdmittedDecision,
  Became,
  BlockedDecision,
  Decision,
  DecisionBase,
  Hold,
  LimitDecision,
  PolicyDecision,
  RefusedDecision,
  Source,
  UnavailableDecision,
} from "./core/decision.ts";
export type { Duration } from "./core/duration.ts";
export type { FixedWindowInput } from "./core/fixed-window.ts";
export type { LimitBase, WindowBase } from "./core/named.ts";
export type { AlgorithmName, CostRule, Limit, Match, Policy } from "./core/policy.ts";
export type { SlidingLogInput } from "./core/sliding-log.ts";
export type { SlidingWindowInput } from "./core/sliding-window.ts";
export type { KeyRequest, LimitReply, TakeReply, TakeRequest } from "./core/take.ts";
export type { LeakyBucketInput, TokenBucketInput } from "./core/token-bucket.ts";
export { leases } from "./features/leases.ts";
export { live } from "./features/live.ts";
export { meter } from "./features/meter.ts";
export { rpc } from "./features/rpc.ts";
export { shared } from "./features/shared.ts";
export type { ClientIp } from "./http/client-ip.ts";
export type { RateLimitOptions } from "./http/features/rules.ts";
export type { LimiterSource } from "./http/options.ts";
export { type LimitedHandler, type WithRateLimitOptions, withRateLimit } from "./http/with-rate-limit.ts";
export type { Identify, Identity } from "./identity/identity.ts";
export { type JwtIssuer, jwtIdentity } from "./identity/jwt-identity.ts";
export type { BreakerChange, BreakerState } from "./isolate/breaker.ts";
export type { AppliedPolicy } from "./limiter/decide.ts";
export type { LimiterFeature } from "./limiter/feature.ts";
export { type DurableObjectStoreOptions, durableObjectStore } from "./limiter/stores/durable-object-store.ts";
export {
  type RedisCommandOptions,
  type RedisRestOptions,
  type RedisStoreOptions,
  redisStore,
} from "./limiter/stores/redis-store.ts";
export { type RemoteStoreOptions, remoteStore } from "./limiter/stores/remote-store.ts";
export { rendezvous } from "./limiter/stores/rendezvous.ts";
export { splitStore } from "./limiter/stores/split-store.ts";
export { storeFromEnv } from "./limiter/stores/store-from-env.ts";
export {
  type Background,
  createLimiter,
  type DecisionContext,
  type KeyByHand,
  type Limiter,
  type LimiterOptions,
  type OnDecision,
  type PolicyTake,
  type Reservation,
  type TakeOptions,
  type WaitOptions,
} from "./limiter.ts";
export { type MemoryStoreOptions, memoryStore } from "./store/memory.ts";
export type { RedisCommand } from "./store/redis.ts";
export { type LateReply, type Store, StoreError, type StoreErrorCode } from "./store/store.ts";
export { takeFrom, type Write } from "./store/value-text.ts";
