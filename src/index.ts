/** `headgate`: the library, a limiter to use in other Workers. */

export type { LimiterSource } from "./adapters/options.ts";
export {
  type LimitedFetch,
  type LimitedHandler,
  type WithRateLimitOptions,
  withRateLimit,
} from "./adapters/with-rate-limit.ts";
export { ban } from "./features/ban/index.ts";
export { body } from "./features/body/index.ts";
export { type JwtIssuer, jwtIdentity } from "./features/identity/jwt-identity.ts";
export { leases } from "./features/leases/index.ts";
export { live } from "./features/live/index.ts";
export { meter } from "./features/meter/index.ts";
export { overflow } from "./features/overflow/index.ts";
export { rpc } from "./features/rpc/index.ts";
export type { RateLimitOptions } from "./features/rules/rules.ts";
export { shared } from "./features/shared/index.ts";
export { statedCost } from "./features/stated-cost/index.ts";
export type { ClientIp } from "./kernel/config/client-ip.ts";
export type { CountsNamespace, LocationHint } from "./kernel/config/counts.ts";
export { ConfigurationError, type Mistake, type MistakeCode } from "./kernel/config/mistake.ts";
export type { LoosePolicy } from "./kernel/config/policy-checked.ts";
export type {
  CostRuleInput,
  KeyInput,
  KeyPart,
  LimitInput,
  MatchInput,
  PolicyInput,
  StatedCostInput,
} from "./kernel/config/policy-input.ts";
export type { RegionNames } from "./kernel/config/regions.ts";
export type { RateLimitHeaders } from "./kernel/config/settings.ts";
export type { CalendarInput } from "./kernel/core/calendar.ts";
export type { ConcurrencyInput } from "./kernel/core/concurrency.ts";
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
} from "./kernel/core/decision.ts";
export type { Duration } from "./kernel/core/duration.ts";
export type { FixedWindowInput } from "./kernel/core/fixed-window.ts";
export type { LimitBase, WindowBase } from "./kernel/core/named.ts";
export type { AlgorithmName, CostRule, Limit, Match, Policy } from "./kernel/core/policy.ts";
export type { SlidingLogInput } from "./kernel/core/sliding-log.ts";
export type { SlidingWindowInput } from "./kernel/core/sliding-window.ts";
export type { KeyRequest, LimitReply, TakeReply, TakeRequest } from "./kernel/core/take.ts";
export type { LeakyBucketInput, TokenBucketInput } from "./kernel/core/token-bucket.ts";
export type { AppliedPolicy } from "./kernel/limiter/decide.ts";
export type { Identify, Identity } from "./kernel/limiter/identity.ts";
export type { LimiterFeature } from "./kernel/limiter/types.ts";
export type { BreakerChange, BreakerState } from "./kernel/place/breaker.ts";
export { type MemoryStoreOptions, memoryStore } from "./kernel/store/memory.ts";
export type { RedisCommand } from "./kernel/store/redis.ts";
export { type LateReply, type Store, StoreError, type StoreErrorCode } from "./kernel/store/store.ts";
export { takeFrom, type Write } from "./kernel/store/value-text.ts";
export {
  type Background,
  createLimiter,
  type DecisionContext,
  type KeyByHand,
  type Limiter,
  type LimiterOptions,
  type LimitWarning,
  type OnDecision,
  type OnWarning,
  type PolicyTake,
  type Reservation,
  type TakeOptions,
  type WaitOptions,
} from "./limiter.ts";
export { type DurableObjectStoreOptions, durableObjectStore } from "./stores/durable-object-store.ts";
export {
  type RedisCommandOptions,
  type RedisRestOptions,
  type RedisStoreOptions,
  redisStore,
} from "./stores/redis-store.ts";
export { type RemoteStoreOptions, remoteStore } from "./stores/remote-store.ts";
export { rendezvous } from "./stores/rendezvous.ts";
export { splitStore } from "./stores/split-store.ts";
export { storeFromEnv } from "./stores/store-from-env.ts";
