/** A limiter at work: policies, store and isolate put together. */

import { checkRegion } from "../config/regions.ts";
import { type Decision, decide } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import { Flag, keysOfRequest } from "../core/take.ts";
import type { Wrap } from "../place/flows/place.ts";
import type { ListenerOf } from "../place/listener.ts";
import { slotFor } from "../place/slots.ts";
import type { Background, Inquiry, Taker } from "../place/taker.ts";
import { DEFAULT_IPV6_PREFIX } from "../request/address.ts";
import { type PartitionHasher, partitionHasher } from "../request/hash.ts";
import { type Answered, type AppliedPolicy, answeredOf } from "./decide.ts";
import type { InsideFeature } from "./feature.ts";
import { keysFor } from "./keys.ts";
import type { AppliedLive, NamedPolicy } from "./live.ts";
import { hasPlan, numbersOf } from "./numbers.ts";
import { type DecisionContext, reportFailures, tellAll } from "./on-decision.ts";
import type { DecideTakes, Part, PartOf, Question, SurelyRefused } from "./part.ts";
import { createReservation, type MatchedReservation, reservedCost } from "./reservation.ts";
import { takersOf } from "./takers.ts";
import { checkSize, takesOf } from "./takes.ts";
import type { EarlyTake, InsideLimiter, Limiter, LimiterOptions, PolicyTake, Take, TakeOptions } from "./types.ts";
import { waiting } from "./wait.ts";

/** How long a request waits, over a store without a time budget: for the live document, and for a key set. */
const TIMEOUT_MS = 250;

interface InsideOptions extends Omit<LimiterOptions, "policies" | "features"> {
  /** From the innermost to the outermost (features/default.ts). */
  readonly parts: readonly PartOf[];
  /** Absent: none. */
  readonly features?: readonly InsideFeature[];
  /** Whose live document is obeyed. Absent: anybody's. */
  readonly owner?: string | undefined;
  /** How often to look for a newer live document, in ms; 0: never. Only with the feature that reads it. Default: 0. */
  readonly liveRefreshMs?: number;
  /** Absent: nobody listens to what the isolate's parts do. */
  readonly listenerOf?: ListenerOf;
  /** What stands for a key in the store. Absent: its hash under `keySecret`. */
  readonly hash?: PartitionHasher;
}

/** Like `createLimiter`, for options that were checked already. */
export function limiterOf(policies: readonly Policy[], options: InsideOptions): InsideLimiter {
  const {
    store,
    region: ownRegion = "local",
    keySecret,
    ipv6Prefix = DEFAULT_IPV6_PREFIX,
    listenerOf,
    features = [],
  } = options;
  const onDecision = tellAll([options.onDecision ?? reportFailures()].flat());
  const hash = options.hash ?? partitionHasher(keySecret, store.keySecret);
  // The live document changes no consistency.
  const isAsked = (wrap: Wrap) => policies.some(({ consistency }) => consistency === wrap.consistency);
  const wraps = features.flatMap(({ wrap }) => (wrap && isAsked(wrap) ? [wrap] : []));
  const takers = takersOf(store, { listenerOf, wraps });
  const { strict } = takers;
  const takerFor = wraps.length > 0 ? strongest(strict, wraps, takers.wrapped) : () => strict;
  const timeoutMs = store.timeoutMs ?? TIMEOUT_MS;
  const isUsed = ({ field }: PartOf) => policies.some((policy) => policy[field] !== undefined);
  const parts = options.parts.filter(isUsed).map(({ make }) => make(hash));
  const applies = parts.flatMap(({ apply }) => apply ?? []);
  const hears = parts.flatMap(({ hear }) => hear ?? []);
  const { begin } = parts.find((part) => part.begin) ?? {};
  const heard = (answered: Answered) => hears.reduce((one, hear) => hear(one), answered);
  const keysOf = keysFor(
    options.namespace,
    [...parts, ...wraps].flatMap(({ ask }) => ask ?? []),
  );
  const withOwnNumbers = numbersOf(policies);
  const regionBy =
    ({ region = ownRegion }: Pick<TakeOptions, "region">) =>
    () =>
      region;
  const { liveRefreshMs: refreshMs = 0, identity, namespace, owner } = options;
  const readerOf = features.find(({ liveReader }) => liveReader)?.liveReader;
  const live =
    refreshMs > 0 && store.live
      ? readerOf?.({
          storage: store.live,
          policies,
          refreshMs,
          timeoutMs,
          numbers: withOwnNumbers,
          ...{ namespace, owner },
          secret: async () => hash({ kind: "live", values: [] }),
        })
      : undefined;

  const decideOnce: DecideTakes = async (takes, question) => {
    const { region, flag } = question;
    const lines = keysOf(takes, region);
    const taker = takerFor(takes, question);
    // Each question has a slot of its own: what another place has charged for the first may still be on its way back.
    const slot = slotFor(lines, flag);
    return answeredOf(lines, flag, await taker.take({ lines, flag, slot }, question));
  };
  const surelyRefused: SurelyRefused = (takes, question) => {
    if (question.flag !== Flag.take) return new Set();
    const keys = keysOf(takes, question.region).filter(takerFor(takes, question).surelyRefuses);
    return new Set(keys.map(({ take }) => takes[take]!));
  };
  const decideTakes = parts.reduce(
    (decide, { around }) => around?.(decide, surelyRefused) ?? decide,
    hears.length > 0 ? async (takes, question) => heard(await decideOnce(takes, question)) : decideOnce,
  );

  /** Who is counted, and with which numbers; by the live document, too, which may block the client. */
  function clientsOf(takes: readonly Take[]): AppliedLive {
    checkSize(takes);
    const all: NamedPolicy[] = [];
    for (const take of takes) all.push(named(take));
    return live ? live.apply(all) : { applied: all };
  }

  function reserving(clients: AppliedLive): AppliedLive {
    return { ...clients, applied: clients.applied.map((one) => ({ ...one, cost: reservedCost(one) })) };
  }

  /** The name becomes part of a key in the store. It is checked here, wherever it comes from. */
  const checked = (regionOf: () => string) => () => checkRegion(regionOf());

  function tell(
    { decision, atMs, failure }: Answered,
    takes: readonly AppliedPolicy[],
    { flag, background, region }: Pick<Question, "flag" | "background" | "region">,
  ): void {
    // The default listener has nothing to say about any other decision.
    if (!options.onDecision && !failure) return;
    const context: { -readonly [K in keyof DecisionContext]: DecisionContext[K] } = {
      takes,
      get region() {
        return region();
      },
    };
    if (atMs) context.atMs = atMs;
    if (failure) context.failure = failure;
    if (flag === Flag.look) context.peek = true;
    if (background) context.background = background;
    onDecision(decision, context);
  }

  async function run(
    takes: readonly Take[],
    regionOf: () => string,
    flag: Inquiry["flag"],
    background?: Background,
    isReserving = false,
  ): Promise<Answered> {
    const reading = live?.ready(background);
    if (reading) await reading;
    const found = clientsOf(takes);
    const { applied, blocked } = isReserving ? reserving(found) : found;
    const question = { flag, background, region: checked(regionOf), isReserving };
    const known = applied.length === 0 ? decide(store.kind, []) : blocked;
    const answered: Answered = known ? { decision: known } : await decideTakes(applied, question);
    live?.freshen(background);
    if (applied.length > 0) tell(answered, applied, question);
    return answered;
  }

  /** As `refuseMatched`. */
  async function refuse(
    takes: readonly EarlyTake[],
    regionOf: () => string,
    background: Background | undefined,
  ): Promise<Decision | undefined> {
    await live?.ready(background);
    const { applied, blocked } = reserving(clientsOf(takes));
    const question = { flag: Flag.take, background, region: checked(regionOf) };
    const answered = blocked ? { decision: blocked } : await refusalOf(applied, question);
    if (!answered) return undefined;
    const isSure = answered.decision.limits.some(({ admitted, policy, remaining, retryAfterMs }) => {
      const { atLeast, cost } = takes.find((one) => one.policy.name === policy.name)!;
      // A request that costs more than was asked for could be told "never" although it costs less.
      return !admitted && remaining < atLeast && (retryAfterMs !== undefined || atLeast === cost);
    });
    if (!blocked && !isSure) return undefined;
    live?.freshen(background);
    tell(answered, applied, question);
    return answered.decision;
  }

  /** What the isolate knows these policies to refuse. An overflow may pay for what the policy before it refuses. */
  async function refusalOf(
    applied: readonly AppliedPolicy[],
    { flag, background, region }: Pick<Question, "flag" | "background" | "region">,
  ): Promise<Answered | undefined> {
    const isAsked = ({ policy }: { readonly policy: Policy }) => policy.mode === "enforce" && !policy.chain;
    const asked = applied.filter(isAsked);
    if (asked.length === 0) return undefined;
    const isReserving = asked.some(({ policy }) => policy.meter || policy.count);
    const taker = takerFor(asked, { flag, isReserving });
    const keys = keysOf(applied, region);
    let lines = keys.filter(isAsked);
    let known = await taker.known({ lines, flag: Flag.take, slot: 0 }, { background });
    if (!known) {
      // Of the other keys nothing is known.
      lines = lines.filter(taker.surelyRefuses);
      known = lines.length > 0 ? await taker.known({ lines, flag: Flag.take, slot: 0 }, { background }) : undefined;
    }
    return known && heard(answeredOf(keys, flag, known));
  }

  async function take(
    takes: readonly Take[],
    regionOf: () => string,
    flag: Inquiry["flag"],
    background?: Background,
  ): Promise<Decision> {
    return (await run(takes, regionOf, flag, background)).decision;
  }

  async function reserve(
    takes: readonly Take[],
    regionOf: () => string,
    background: Background | undefined,
    begin?: Part["begin"],
  ): Promise<MatchedReservation> {
    const names = takes.map(({ policy }) => policy.name);
    if (new Set(names).size < names.length) throw new TypeError("reserve: the same policy twice");
    return createReservation({
      names,
      answered: await run(takes, regionOf, Flag.take, background, true),
      background,
      begin,
      async ask(keys) {
        if (keys.length === 0) return { decision: decide(store.kind, []) };
        const flag = Flag.take;
        return answeredOf(keys, flag, await strict.take({ lines: keys, flag, slot: 0 }, { background }));
      },
    });
  }

  function named(take: Take): NamedPolicy {
    const { policy, key, cost, plan, limits, isPreflight } = take;
    const partition = hash(key);
    const applied: { -readonly [K in keyof NamedPolicy]: NamedPolicy[K] } = { policy, kind: key.kind, partition, cost };
    if (isPreflight) applied.isPreflight = isPreflight;
    for (const apply of applies) apply(applied, take);
    // A name that is not a plan of the policy is left out: it could be anything, and listeners may write it down.
    const isKnown = hasPlan(policy, plan);
    // The live document's numbers for all come before a client's own: it applies both.
    if (live) applied.own = isKnown ? { plan, limits } : { limits };
    else {
      applied.policy = withOwnNumbers(policy, { plan, limits });
      if (isKnown) applied.plan = plan;
    }
    return applied;
  }

  async function forget(clients: readonly AppliedPolicy[], regionOf: () => string): Promise<void> {
    const keys = keysOf(clients, regionOf).map(({ request }) => request);
    await strict.reset(keysOfRequest({ keys, flag: Flag.take }));
  }

  const byHand = (policy: string | readonly PolicyTake[], options: TakeOptions) =>
    takesOf(policies, policy, options, ipv6Prefix);
  const takeByHand: Limiter["take"] = async (policy, options = {}) =>
    (await run(byHand(policy, options), regionBy(options), Flag.take, options.background)).decision;

  return {
    policies,
    region: ownRegion,
    ipv6Prefix,
    take: takeByHand,
    wait: waiting(takeByHand),
    async peek(policy, options = {}) {
      return await take(byHand(policy, options), regionBy(options), Flag.look);
    },
    async reserve(policy, options = {}) {
      return await reserve(byHand(policy, options), regionBy(options), options.background);
    },
    async reset(policy, options = {}) {
      const takes = takesOf(policies, policy, options, ipv6Prefix);
      checkSize(takes);
      await forget(takes.map(named), regionBy(options));
    },
    live,
    async client(policy, options) {
      const [take] = takesOf(policies, policy, options, ipv6Prefix);
      return named(take!);
    },
    async inspect(client, region, background) {
      // A block or an exemption says nothing about the counts.
      const { applied } = live?.apply([client], { asCounted: true }) ?? { applied: [client] };
      // An operator sees the counts of the store.
      const lines = keysOf(applied, regionBy({ region }));
      const flag = Flag.look;
      return answeredOf(lines, flag, await strict.take({ lines, flag, slot: 0 }, { background })).decision;
    },
    resetClient: (client, region) => forget([client], regionBy({ region })),
    refuseMatched: refuse,
    takeMatched: (takes, regionOf, background) => take(takes, regionOf, Flag.take, background),
    reserveMatched: (takes, regionOf, background) => reserve(takes, regionOf, background, begin),
    peekMatched: (takes, regionOf) => take(takes, regionOf, Flag.look),
    identify: identity?.identifyFor(policies, timeoutMs),
    httpFeatures: [...new Set(features.flatMap(({ http }) => http ?? []))],
  };
}

/**
 * The strongest consistency of the policies holds for all. What is reserved is strict, and so are a preflight and a
 * request with an id: only the script knows ids.
 */
function strongest(
  strict: Taker,
  wraps: readonly Wrap[],
  wrapped: (wrap: Wrap) => Taker,
): (takes: readonly AppliedPolicy[], question: Pick<Question, "flag" | "isReserving">) => Taker {
  const takers = wraps.map((wrap) => ({ wrap, taker: wrapped(wrap) }));
  return (takes, { flag, isReserving }) => {
    if (isReserving || takes.some(({ once, isPreflight }) => once !== undefined || isPreflight)) return strict;
    return takers.find(({ wrap }) => wrap.suits(takes, flag))?.taker ?? strict;
  };
}
