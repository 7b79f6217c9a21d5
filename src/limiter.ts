/** Policies, a store and a region, put together into a limiter. */

import { checkOptions, describeType } from "./check-options.ts";
import { reading } from "./config/bindings.ts";
import { ConfigurationError } from "./config/mistake.ts";
import { parseFields } from "./config/policy-fields.ts";
import type { PolicyInput } from "./config/policy-input.ts";
import { checkRegion, readRegion } from "./config/regions.ts";
import { readKeySecret } from "./config/settings.ts";
import { type Decision, decide } from "./core/decision.ts";
import { MAX_KEYS, MAX_UNITS } from "./core/layout.ts";
import type { Numbers, Policy } from "./core/policy.ts";
import { Flag, keysOfRequest } from "./core/take.ts";
import { isolateOf } from "./isolate/isolate.ts";
import type { ListenerOf } from "./isolate/listener.ts";
import type { Background } from "./isolate/reply-source.ts";
import { slotFor } from "./isolate/slots.ts";
import { type Answered, type AppliedPolicy, keysOf, keysPerClient, MOST_KEYS_OF_CLIENT } from "./limiter/decide.ts";
import { createDecideOnce } from "./limiter/decide-once.ts";
import { type KeyByHand, keyByHand, namedKey } from "./limiter/key-by-hand.ts";
import { isLiveStore } from "./limiter/live/is-live.ts";
import type { LiveReader } from "./limiter/live/reader.ts";
import { hasPlan, numbersOf, type OwnNumbers } from "./limiter/numbers.ts";
import { type DecisionContext, type OnDecision, tellAll } from "./limiter/on-decision.ts";
import { reportFailures } from "./limiter/report.ts";
import { createReservation, type Reservation, reservedCost } from "./limiter/reserve/reservation.ts";
import { splitOf } from "./limiter/split/split.ts";
import { type ClientKey, partitionHasher } from "./partition/hash.ts";
import { isStoreError } from "./store/failure.ts";
import type { Store } from "./store/store.ts";

export type { OnDecision, Reservation };
export { type AppliedPolicy, type Background, type DecisionContext, isStoreError, type KeyByHand, namedKey };

/** Options of `createLimiter`. */
export interface LimiterOptions {
  /**
   * The policies as in wrangler.toml. Every mistake in them is reported at once; patterns of `match` and `cost` are
   * looked at when the limiter is put before a handler.
   */
  readonly policies: readonly PolicyInput[];
  /** Where counts are held: `redisStore(…)` for limits over all regions, `memoryStore()`, or a store of your own. */
  readonly store: Store;
  /**
   * Name of the region under which limits with `scope: "region"` count: 1 to 32 letters, digits, `_` `.` `-`, beginning
   * with a letter or digit. Default `"local"`.
   */
  readonly region?: string;
  /**
   * Secret with which client keys are hashed before they reach the store, at least 16 characters. Default: derived from
   * the store's token.
   */
  readonly keySecret?: string;
  /**
   * Called after every decision, before its answer: one function, or a list of them. If one throws, the console reports
   * the error, the others are called, and the decision stands. Default: the console reports decisions without the
   * store, about one each second.
   */
  readonly onDecision?: OnDecision | readonly OnDecision[];
  /**
   * Whether to read the live document of the store: what operators change through a gateway's admin API over the same
   * store (docs/live.md). Every 30 s. Default false.
   */
  readonly live?: boolean;
}

/** One policy applied to one client. */
export interface Take extends OwnNumbers {
  readonly policy: Policy;
  readonly key: ClientKey;
  /** Units, 0 … 10^9. */
  readonly cost: number;
}

/** Options of `take`, `peek` and `reset`. */
export interface TakeOptions extends KeyByHand {
  /** Units, an integer 0 … 10^9; 0 looks without charging. Default 1. */
  readonly cost?: number;
  /** The client's plan: a name in `plans` of the policies. Default, and for another name: the limits as written. */
  readonly plan?: string;
  /**
   * Other numbers for this client by the ids of limits, for example `{ "api-1": 200 }`. They come before those of a
   * plan. A limit without a number keeps its own; the client's counts stay what they are.
   */
  readonly limits?: Numbers;
  /** A name as in `LimiterOptions`. Default: the limiter's region. */
  readonly region?: string;
  /**
   * Where work may go on after the answer: the `ctx` of a fetch handler. Without it a policy with `consistency:
   * "leased"` behaves as one with `"strict"`.
   */
  readonly background?: Background;
}

/** One of several policies of a take. */
export interface PolicyTake extends KeyByHand {
  /** The name of the policy. */
  readonly policy: string;
  /** Default: the cost of the whole take. */
  readonly cost?: number;
  /** As in `TakeOptions`. Default: that of the whole take. */
  readonly plan?: string;
  /** As in `TakeOptions`. Default: those of the whole take. */
  readonly limits?: Numbers;
}

/**
 * All methods reject with a `TypeError` for misuse: a policy that does not exist, a missing key, a kind that the policy
 * does not count by, a cost that is not an integer of 0 … 10^9, a number that a limit cannot have, an id that no limit
 * has, a region that is not a name, the same policy and key twice, more clients than one take can have. One take has at
 * most 1,000 keys in the store: one for each policy and client, one more if the policy has limits of both scopes, and
 * one more for each `sliding-log` and `concurrency` limit. A refusal is a value. A failing store is handled as
 * the policy says.
 */
export interface Limiter {
  /** The policies as they were understood: checked, with defaults filled in and durations in milliseconds. */
  readonly policies: readonly Policy[];
  /** Name of the region under which limits with `scope: "region"` count, unless a call names another. */
  readonly region: string;
  /** Checks every limit of the policy, or of several policies, and charges all or none, atomically. */
  take(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<Decision>;
  /** The answer that a take of this cost would get now. Charges nothing. */
  peek(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<Decision>;
  /** Forgets the counts of this key: the global ones and those of the region. @throws {StoreError} */
  reset(policy: string, options?: Omit<TakeOptions, "cost" | "plan" | "limits">): Promise<void>;
  /**
   * Reserves units whose cost is known only afterwards: `take`, and what settles it later. No policy may be named
   * twice. Its units are never leased.
   */
  reserve(policy: string | readonly PolicyTake[], options?: TakeOptions): Promise<Reservation>;
  /** `take` for policies and keys that were matched already. `regionOf` is called only if a limit counts by region. */
  takeMatched(takes: readonly Take[], regionOf: () => string, background?: Background): Promise<Decision>;
  /** `reserve` for policies and keys that were matched already. */
  reserveMatched(takes: readonly Take[], regionOf: () => string, background?: Background): Promise<Reservation>;
  /** `peek` for policies and keys that were matched already. */
  peekMatched(takes: readonly Take[], regionOf: () => string): Promise<Decision>;
}

const LIMITER_TYPES: Readonly<Record<keyof LimiterOptions, string>> = {
  policies: "object",
  store: "object",
  region: "any",
  keySecret: "any",
  onDecision: "any",
  live: "boolean",
};
const KEYED_TYPES = { key: "any", kind: "any", cost: "number", plan: "string", limits: "object" };
const PART_TYPES: Readonly<Record<keyof PolicyTake, string>> = { policy: "string", ...KEYED_TYPES };
const TAKE_TYPES: Readonly<Record<keyof TakeOptions, string>> = {
  ...KEYED_TYPES,
  region: "string",
  background: "object",
};

/**
 * Puts policies and a store together. There is no I/O, timer or randomness in it: it may be called at module scope.
 *
 * @throws {ConfigurationError} with every mistake of the policies, of `region` and of `keySecret`.
 * @throws {TypeError} for an unknown option, or an option of a wrong type.
 */
export function createLimiter(all: LimiterOptions): Limiter {
  checkOptions("createLimiter", all, LIMITER_TYPES);
  const { policies, region, keySecret, live, ...options } = all;
  const { store } = options;
  if (typeof store?.take !== "function") {
    throw new TypeError("createLimiter: store: expected a store");
  }
  if (!(keySecret ?? store.keySecret)) {
    throw new TypeError("createLimiter: keySecret: expected a text that is not empty");
  }
  const listeners = listenersOf(options.onDecision);
  if (!listeners.every((one) => typeof one === "function")) {
    throw new TypeError("createLimiter: onDecision: expected a function, or a list of functions");
  }
  const parsed = parseFields(policies, "policies");
  const { get, wrong, mistakes } = reading({ region, keySecret });
  const [name, secret] = [readRegion(get, wrong, "region"), readKeySecret(get, wrong, "keySecret")];
  if (parsed.mistakes || mistakes.length > 0) throw new ConfigurationError([...(parsed.mistakes ?? []), ...mistakes]);
  if (live && !isLiveStore(store)) {
    throw new TypeError("createLimiter: live: expected a store that keeps a live document, such as redisStore");
  }
  return limiterOf(parsed.value, {
    ...options,
    ...(live && { liveRefreshMs: LIVE_REFRESH_MS }),
    ...(name !== undefined && { region: name }),
    ...(secret !== undefined && { keySecret: secret }),
  });
}

const LIVE_REFRESH_MS = 30_000;
/** How long the first requests wait for the document of a store without a time budget. */
const LIVE_TIMEOUT_MS = 250;

/** A limiter with what a gateway needs beyond the public methods. */
export interface InsideLimiter extends Limiter {
  /** Undefined: no live document is read. */
  readonly live: LiveReader | undefined;
  /** A client in the form that is counted. Rejects for misuse as `take` does. */
  client(policy: string, options: TakeOptions): Promise<AppliedPolicy>;
  /** What each limit holds for a client, blocked and exempt clients included. Charges nothing. */
  inspect(client: AppliedPolicy, region: string, background: Background): Promise<Decision>;
  /** `reset` for a client in that form. @throws {StoreError} */
  resetClient(client: AppliedPolicy, region: string): Promise<void>;
}

interface InsideOptions extends Omit<LimiterOptions, "policies" | "live"> {
  /** How often to look for a newer live document, in ms. Absent: there is none. */
  readonly liveRefreshMs?: number;
  /** Absent: nobody listens to what the isolate's parts do. */
  readonly listenerOf?: ListenerOf;
}

/** A policy for a client whose own numbers are not applied yet if there is a live document. */
type Named = AppliedPolicy & { readonly own?: OwnNumbers };

/** Like `createLimiter`, for options that were checked already. */
export function limiterOf(policies: readonly Policy[], options: InsideOptions): InsideLimiter {
  const { store, region: ownRegion = "local", keySecret, listenerOf } = options;
  const onDecision = tellAll(listenersOf(options.onDecision ?? reportFailures()));
  const hash = partitionHasher(keySecret, store.keySecret);
  const decider =
    splitOf(store, listenerOf) ?? createDecideOnce(store, isolateOf(store, { listener: listenerOf?.(0) }));
  const withOwnNumbers = numbersOf(policies);
  const { liveRefreshMs: refreshMs } = options;
  const live =
    refreshMs === undefined || !isLiveStore(store)
      ? undefined
      : store.liveReader({
          policies,
          refreshMs,
          timeoutMs: store.timeoutMs ?? LIVE_TIMEOUT_MS,
          numbers: withOwnNumbers,
          secret: async () => await hash({ kind: "live", values: [] }),
        });

  async function run(
    takes: readonly Take[],
    regionOf: () => string,
    flag: Flag,
    background?: Background,
    isReserving = false,
  ): Promise<Answered> {
    checkSize(takes);
    const all: Named[] = [];
    for (const take of takes) all.push(apply(take, await hash(take.key)));
    const reading = live?.ready(background);
    if (reading) await reading;
    const { applied: found, blocked, blockedBy } = live?.apply(all) ?? { applied: all };
    const applied = isReserving ? found.map((one) => ({ ...one, cost: reservedCost(one) })) : found;
    if (applied.length === 0) return { decision: decide(store.kind, []) };
    // The name becomes part of a key in the store. It is checked here, wherever it comes from.
    const region = () => checkRegion(regionOf());

    const keys = blocked ? [] : keysOf(applied, region);
    const slot = slotFor(keys, flag);
    // A look at a cost of 0 tells what a take could spend.
    const mayLeaseAll = !isReserving && applied.every((one) => mayLease(one) && (one.cost > 0 || flag === Flag.look));
    const answered: Answered = blocked
      ? { decision: blocked }
      : await decider.decide(keys, { flag, slot, background, mayLease: mayLeaseAll });
    const { decision, atMs, failure, silent } = answered;
    // The default listener has nothing to say about any other decision.
    if (options.onDecision || failure) {
      const context: { -readonly [K in keyof DecisionContext]: DecisionContext[K] } = {
        takes: applied,
        get region() {
          return region();
        },
      };
      if (atMs) context.atMs = atMs;
      if (failure) context.failure = failure;
      if (silent) context.fallback = [...new Set(silent.map(({ policy }) => policy.name))];
      if (blockedBy) context.blocked = blockedBy;
      if (flag === Flag.look) context.peek = true;
      if (background) context.background = background;
      onDecision(decision, context);
    }
    return answered;
  }

  async function take(
    takes: readonly Take[],
    regionOf: () => string,
    flag: Flag,
    background?: Background,
  ): Promise<Decision> {
    return (await run(takes, regionOf, flag, background)).decision;
  }

  async function reserve(
    takes: readonly Take[],
    regionOf: () => string,
    background: Background | undefined,
  ): Promise<Reservation> {
    const names = takes.map(({ policy }) => policy.name);
    if (new Set(names).size < names.length) throw new TypeError("reserve: the same policy twice");
    return createReservation({
      names,
      answered: await run(takes, regionOf, Flag.take, background, true),
      background,
      async ask(keys) {
        if (keys.length === 0) return { decision: decide(store.kind, []) };
        return await decider.decide(keys, { flag: Flag.take, slot: 0, background, mayLease: false });
      },
    });
  }

  function apply({ policy, key, cost, plan, limits }: Take, partition: string): Named {
    // A name that is not a plan of the policy is left out: it could be anything, and listeners may write down `own`.
    const known = hasPlan(policy, plan) && { plan };
    const own = { ...known, limits };
    // The live document's numbers for all come before a client's own: it applies both.
    if (live) return { policy, kind: key.kind, partition, cost, own };
    return { policy: withOwnNumbers(policy, own), kind: key.kind, partition, cost, ...known };
  }

  async function named(take: Take): Promise<Named> {
    return apply(take, await hash(take.key));
  }

  async function forget(clients: readonly AppliedPolicy[], region: string): Promise<void> {
    const keys = keysOf(clients, () => region).map(({ request }) => request);
    await decider.reset(keysOfRequest({ keys, flag: Flag.take }));
  }

  /** Checks policies and keys that a caller names in code. */
  function takesOf(policy: string | readonly PolicyTake[], options: TakeOptions): Take[] {
    checkOptions("take", options, TAKE_TYPES);
    if (typeof policy !== "string" && !Array.isArray(policy)) {
      const expected = 'expected the name of a policy, or a list such as [{ policy: "api", key: "ann" }]';
      throw new TypeError(`take: ${expected}; found ${describeType(policy)}`);
    }
    const list: readonly PolicyTake[] = typeof policy === "string" ? [{ ...options, policy }] : policy;
    if (list === policy) for (const [i, one] of list.entries()) checkOptions(`take: policies[${i}]`, one, PART_TYPES);
    if (list.length === 0) throw new TypeError("take: expected at least one policy");
    if (typeof policy !== "string" && (options.key !== undefined || options.kind !== undefined)) {
      throw new TypeError("take: in a list, each policy has its own key and kind");
    }
    if (options.region !== undefined) checkRegion(options.region);
    const takes = list.map((one): Take => {
      const found = policies.find(({ name }) => name === one.policy);
      if (!found) throw new TypeError(`take: no policy is named ${JSON.stringify(one.policy)}`);
      const cost = checkCost(one.cost ?? options.cost ?? 1);
      return {
        policy: found,
        key: keyByHand(found, one),
        cost,
        plan: one.plan ?? options.plan,
        limits: one.limits ?? options.limits,
      };
    });
    const distinct = () => new Set(takes.map(({ policy, key }) => JSON.stringify([policy.name, key])));
    if (takes.length > 1 && distinct().size < takes.length) throw new TypeError("take: the same policy and key twice");
    return takes;
  }

  return {
    policies,
    region: ownRegion,
    async take(policy, options = {}) {
      return await take(takesOf(policy, options), () => options.region ?? ownRegion, Flag.take, options.background);
    },
    async peek(policy, options = {}) {
      return await take(takesOf(policy, options), () => options.region ?? ownRegion, Flag.look);
    },
    async reserve(policy, options = {}) {
      return await reserve(takesOf(policy, options), () => options.region ?? ownRegion, options.background);
    },
    async reset(policy, options = {}) {
      const takes = takesOf(policy, options);
      checkSize(takes);
      await forget(await Promise.all(takes.map(named)), options.region ?? ownRegion);
    },
    live,
    async client(policy, options) {
      const [take] = takesOf(policy, options);
      return await named(take!);
    },
    async inspect(client, region, background) {
      // A block or an exemption says nothing about the counts.
      const { applied } = live?.apply([client], { asCounted: true }) ?? { applied: [client] };
      // An operator sees the counts of the store.
      const asked = { flag: Flag.look, slot: 0, background, mayLease: false };
      const { decision } = await decider.decide(
        keysOf(applied, () => region),
        asked,
      );
      return decision;
    },
    resetClient: (client, region) => forget([client], region),
    takeMatched: (takes, regionOf, background) => take(takes, regionOf, Flag.take, background),
    reserveMatched: reserve,
    peekMatched: (takes, regionOf) => take(takes, regionOf, Flag.look),
  };
}

function listenersOf(onDecision: LimiterOptions["onDecision"] = []): readonly OnDecision[] {
  return Array.isArray(onDecision) ? onDecision : [onDecision as OnDecision];
}

/** @throws {TypeError} if the cost is not an integer of 0 … 10^9. */
export function checkCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 0 && cost <= MAX_UNITS) return cost;
  throw new TypeError(`take: cost must be an integer from 0 to ${MAX_UNITS}, found ${String(cost)}`);
}

/**
 * Every store takes `MAX_KEYS`. With more, some store would fail, and its policies would admit what they should refuse.
 *
 * @throws {TypeError}
 */
function checkSize(takes: readonly Take[]): void {
  if (takes.length * MOST_KEYS_OF_CLIENT <= MAX_KEYS) return;
  let keys = 0;
  for (const { policy } of takes) keys += keysPerClient(policy);
  if (keys <= MAX_KEYS) return;
  const expected = `expected at most ${MAX_KEYS} keys of the store in one take`;
  throw new TypeError(`take: ${expected}; found ${keys}, of ${takes.length} policies and clients`);
}

/**
 * A strict policy makes the whole request strict. A policy in shadow or a take of cost 0 does too: only the script can
 * answer them.
 */
function mayLease({ policy }: AppliedPolicy): boolean {
  return policy.consistency === "leased" && policy.mode === "enforce";
}
