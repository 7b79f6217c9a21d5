/** Policies, a store and a region put together: who takes what, and what came of it. */

import { checkOptions } from "./check-options.ts";
import { ConfigurationError } from "./config/mistake.ts";
import { parsePolicies } from "./config/policies.ts";
import type { PolicyInput } from "./config/policy-input.ts";
import { MAX_UNITS } from "./config/policy-schema.ts";
import { type Decision, decide } from "./core/decision.ts";
import type { Policy } from "./core/policy.ts";
import { Flag, keysOfRequest } from "./core/take.ts";
import { type AppliedPolicy, ask, keysOf, type PolicyKey } from "./limiter/ask.ts";
import { isolateOf } from "./limiter/central.ts";
import { type ClientKey, partitionHasher } from "./partition.ts";
import { type Answers, type Background, direct } from "./region/answers.ts";
import { type Store, StoreError, type StoreErrorCode } from "./store/store.ts";

export type { Background };

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /** As in wrangler.toml; checked here, every mistake at once. */
  readonly policies: readonly PolicyInput[];
  /** Where counts are held: `redisStore(…)` for limits over all regions, or `memoryStore()`. */
  readonly store: Store;
  /** Name of the region that limits with `scope: "region"` count in. Default `"local"`. */
  readonly region?: string;
  /** Key of the hash that client keys become before they reach the store. Default: derived from the store's token. */
  readonly keySecret?: string;
  /** Called after every decision, before its answer. What it throws is reported on the console and goes no further. */
  readonly onDecision?: OnDecision;
}

/** What is told of every decision, for logs and metrics. It holds no client key, only its hash. */
export type OnDecision = (decision: Decision, context: DecisionContext) => void;

/** What a decision was about. */
export interface DecisionContext {
  /** The policies, and to whom they were applied. */
  readonly takes: readonly AppliedPolicy[];
  /** Where it was counted, as far as limits with `scope: "region"` are concerned. */
  readonly region: string;
  /** Why the store had no answer, if it had none. */
  readonly failure?: StoreErrorCode;
}

/** One policy applied to one client. */
export interface Take {
  readonly policy: Policy;
  readonly key: ClientKey;
  /** Units, 0 … 10^9. */
  readonly cost: number;
}

/** Options of `take`, `peek` and `reset`. */
export interface TakeOptions {
  /** Who is counted, any text. May be left out only under a policy whose key is `global`. */
  readonly key?: string;
  /** Units, an integer 0 … 10^9; 0 looks without charging. Default 1. */
  readonly cost?: number;
  /** Default: the limiter's region. */
  readonly region?: string;
  /**
   * Where work may go on after the answer: the `ctx` of a fetch handler. Without it a policy with `consistency: "leased"`
   * behaves as `strict`.
   */
  readonly background?: Background;
}

/** One of several policies of a take. */
export interface PolicyTake {
  /** Its name. */
  readonly policy: string;
  /** Who is counted, any text. May be left out only under a policy whose key is `global`. */
  readonly key?: string;
  /** Default: the cost of the whole take. */
  readonly cost?: number;
}

/**
 * All methods reject with a `TypeError` for misuse: a policy that does not exist, a missing key, a cost that is no
 * integer of 0 … 10^9, the same policy and key twice. A refusal is a value; a failing store is handled as the policy says.
 */
export interface Limiter {
  /** As they were understood: checked, defaults filled in, durations in milliseconds. */
  readonly policies: readonly Policy[];
  /** Name of the region that limits with `scope: "region"` count in, unless a call names another. */
  readonly region: string;
  /** Checks every limit of the policy, or of several policies, and charges all or none, atomically. */
  take(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<Decision>;
  /** What a take of this cost would answer now. Charges nothing. */
  peek(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<Decision>;
  /** Forgets the counts of this key: the global ones and those of the region. @throws {StoreError} */
  reset(policy: string, options?: Omit<TakeOptions, "cost">): Promise<void>;
  /** `take` for policies and keys that were matched already. The region is asked for if it matters. */
  takeMatched(takes: readonly Take[], regionOf: () => string, background?: Background): Promise<Decision>;
  /** `peek` for policies and keys that were matched already. */
  peekMatched(takes: readonly Take[], regionOf: () => string): Promise<Decision>;
}

const LIMITER_TYPES: Readonly<Record<keyof LimiterOptions, string>> = {
  policies: "object",
  store: "object",
  region: "string",
  keySecret: "string",
  onDecision: "function",
};
const KEYED_TYPES = { key: "string", cost: "number" };
const PART_TYPES: Readonly<Record<keyof PolicyTake, string>> = { policy: "string", ...KEYED_TYPES };
const TAKE_TYPES: Readonly<Record<keyof TakeOptions, string>> = {
  ...KEYED_TYPES,
  region: "string",
  background: "object",
};

/**
 * Policies and a store, put together. No I/O, timer or randomness: may be called at module scope.
 *
 * @throws {ConfigurationError} with every mistake of the policies.
 * @throws {TypeError} for an unknown option, or one of a wrong type.
 */
export function createLimiter({ policies, ...options }: LimiterOptions): Limiter {
  checkOptions("createLimiter", options, LIMITER_TYPES);
  if (typeof options.store?.take !== "function") {
    throw new TypeError("createLimiter: store: expected what redisStore or memoryStore makes");
  }
  if (options.keySecret === "") throw new TypeError("createLimiter: keySecret: expected a text that is not empty");
  const parsed = parsePolicies(policies, "policies");
  if (parsed.mistakes) throw new ConfigurationError(parsed.mistakes);
  return limiterOf(parsed.value, options);
}

/** As `createLimiter`, for policies that were checked already. */
export function limiterOf(policies: readonly Policy[], options: Omit<LimiterOptions, "policies">): Limiter {
  const { store, region: ownRegion = "local", keySecret, onDecision } = options;
  const hash = partitionHasher(keySecret, store.keySecret);
  const isolate = isolateOf(store);
  const answers = isolate?.answers ?? direct(store);

  async function run(
    takes: readonly Take[],
    regionOf: () => string,
    flag: Flag,
    background?: Background,
  ): Promise<Decision> {
    const applied = await Promise.all(takes.map(apply));
    const keys = keysOf(applied, regionOf);
    if (keys.length === 0) return decide(store.kind, []);

    let decision: Decision;
    let failure: StoreErrorCode | undefined;
    try {
      decision = await ask(answers, keys, flag, background, takes.every(mayLease));
      if (isolate && isolate.owed.size > 0 && decision.source === store.kind) {
        const repaid = isolate.owed.repay(isolate.fallback.watched, Date.now());
        background?.waitUntil(repaid);
      }
    } catch (error) {
      if (!(isolate && error instanceof StoreError)) throw error;
      failure = error.code;
      decision = await fallBack(isolate.fallback, keys, flag);
      if (error.notRun && decision.allowed && flag === Flag.take) {
        isolate.owed.add(
          keys.map(({ request }) => request),
          Date.now(),
        );
      }
    }
    try {
      onDecision?.(decision, {
        takes: applied,
        get region() {
          return regionOf();
        },
        ...(failure && { failure }),
      });
    } catch (error) {
      console.error("headgate: onDecision threw", error);
    }
    return decision;
  }

  async function apply({ policy, key, cost }: Take): Promise<AppliedPolicy> {
    return { policy, kind: key.kind, partition: await hash(key), cost };
  }

  /** The store has no answer: what each policy declared for that. The strictest answer wins. */
  async function fallBack(local: Answers, keys: readonly PolicyKey[], flag: Flag): Promise<Decision> {
    const counted = keys.filter(({ policy }) => policy.onStoreFailure === "local");
    const denied = keys.some(({ policy }) => policy.onStoreFailure === "deny" && policy.mode === "enforce");
    if (denied) return { allowed: false, source: "fallback", limits: [], shadow: [], unavailable: true };
    return counted.length > 0 ? await ask(local, counted, flag) : decide("fallback", []);
  }

  /** Policies and keys by hand, checked. */
  function takesOf(policy: string | readonly PolicyTake[], options: TakeOptions): Take[] {
    checkOptions("take", options, TAKE_TYPES);
    const list = typeof policy === "string" ? [{ policy, ...options }] : policy;
    if (list === policy) for (const one of list) checkOptions("take", one, PART_TYPES);
    if (list.length === 0) throw new TypeError("take: expected at least one policy, found an empty list");
    if (typeof policy !== "string" && options.key !== undefined) {
      throw new TypeError("take: with a list of policies each has its own key; found one for all");
    }
    const takes = list.map((one): Take => {
      const found = policies.find(({ name }) => name === one.policy);
      if (!found) throw new TypeError(`take: no policy is named ${JSON.stringify(one.policy)}`);
      return { policy: found, key: keyByHand(found, one.key), cost: checkCost(one.cost ?? options.cost ?? 1) };
    });
    const distinct = new Set(takes.map(({ policy, key }) => JSON.stringify([policy.name, key])));
    if (distinct.size < takes.length) throw new TypeError("take: the same policy and key twice in one take");
    return takes;
  }

  return {
    policies,
    region: ownRegion,
    async take(policy, options = {}) {
      return await run(takesOf(policy, options), () => options.region ?? ownRegion, Flag.take, options.background);
    },
    async peek(policy, options = {}) {
      return await run(takesOf(policy, options), () => options.region ?? ownRegion, Flag.look);
    },
    async reset(policy, options = {}) {
      const takes = await Promise.all(takesOf(policy, options).map(apply));
      const keys = keysOf(takes, () => options.region ?? ownRegion).map(({ request }) => request);
      await answers.reset(keysOfRequest({ keys, flag: Flag.take }));
    },
    takeMatched: (takes, regionOf, background) => run(takes, regionOf, Flag.take, background),
    peekMatched: (takes, regionOf) => run(takes, regionOf, Flag.look),
  };
}

/** @throws {TypeError} if it is no integer of 0 … 10^9. */
export function checkCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0 && cost <= MAX_UNITS) return cost;
  throw new TypeError(`take: cost must be an integer from 0 to ${MAX_UNITS}, found ${String(cost)}`);
}

/** The client key that a caller names by itself. */
export function namedKey(key: string): ClientKey {
  return { kind: "key", values: [key] };
}

/** One strict policy makes the whole request strict; so do one in shadow and a cost of 0, which only the script can answer. */
function mayLease({ policy, cost }: Take): boolean {
  return policy.consistency === "leased" && policy.mode === "enforce" && cost > 0;
}

function keyByHand(policy: Policy, key: string | undefined): ClientKey {
  if (key !== undefined && key !== "") return namedKey(key);
  if (policy.key.length === 1 && policy.key[0] === "global") return { kind: "global", values: [] };
  throw new TypeError(`take: policy ${policy.name} needs a key (only policies with key "global" do without)`);
}
