/**
 * A limiter at work. What its policies use is put together once, in the order in which a request meets it: who is
 * counted (clients.ts), under which keys of the store (keys.ts), by whom it is answered (takers.ts), what the answer
 * means (decide.ts), and who is told (on-decision.ts).
 */

import { checkOptions } from "../check-options.ts";
import { checkRegion } from "../config/regions.ts";
import { decide } from "../core/decision.ts";
import type { Policy } from "../core/policy.ts";
import { Flag, keysOfRequest } from "../core/take.ts";
import type { ListenerOf } from "../place/listener.ts";
import type { Background } from "../place/taker.ts";
import { DEFAULT_IPV6_PREFIX } from "../request/address.ts";
import { type PartitionHasher, partitionHasher } from "../request/hash.ts";
import { sleep } from "../sleep.ts";
import { checkSize, clientsFor, reservedFor } from "./clients.ts";
import { type Answered, type AppliedPolicy, answeredOf } from "./decide.ts";
import { earlyRefusals } from "./early.ts";
import type { InsideFeature } from "./feature.ts";
import { keysFor } from "./keys.ts";
import type { AppliedLive, LiveReaderOptions } from "./live.ts";
import { numbersOf } from "./numbers.ts";
import { tellerOf } from "./on-decision.ts";
import type { DecideTakes, Part, PartOf, Question, SurelyRefused } from "./part.ts";
import { createReservation, type MatchedReservation } from "./reservation.ts";
import { takersFor } from "./takers.ts";
import { takesOf } from "./takes.ts";
import type { CloseOptions, InsideLimiter, Limiter, LimiterOptions, PolicyTake, Take, TakeOptions } from "./types.ts";
import { waiting } from "./wait.ts";

/** How long a request waits, over a store without a time budget: for the live document, and for a key set. */
const TIMEOUT_MS = 250;
/** How long a program that ends waits for its stores, in ms. */
const CLOSE_MS = 3_000;

interface InsideOptions extends Omit<LimiterOptions, "policies" | "features" | "onWarning"> {
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

type Run = (
  takes: readonly Take[],
  question: Question,
  find?: (takes: readonly Take[]) => AppliedLive,
) => Promise<Answered>;

/** Like `createLimiter`, for options that were checked already. */
export function limiterOf(policies: readonly Policy[], options: InsideOptions): InsideLimiter {
  const { store, region: ownRegion = "local", ipv6Prefix = DEFAULT_IPV6_PREFIX, features = [], namespace } = options;
  const timeoutMs = store.timeoutMs ?? TIMEOUT_MS;
  const hash = options.hash ?? partitionHasher(options.keySecret, store.keySecret);
  const used = options.parts.filter(({ isUsed }) => policies.some(isUsed));
  const { strict, takerFor, asks } = takersFor(policies, features, used, store, options.listenerOf);
  const parts = used.map(({ make }) => make(hash, strict));
  const numbers = numbersOf(policies);
  const live = liveOf(features, options, {
    ...{ policies, numbers, timeoutMs },
    secret: async () => hash({ kind: "live", values: [] }),
  });
  const { named, clientsOf } = clientsFor(hash, parts, numbers, live);
  const keysOf = parts.reduce(
    (inner, { lines }) => lines?.(inner) ?? inner,
    keysFor(namespace, [...parts.flatMap(({ ask }) => ask ?? []), ...asks]),
  );
  const decideTakes = partsAround();
  const tell = tellingParts(tellerOf(options.onDecision));
  const refusalOf = earlyRefusals(parts, keysOf, takerFor);

  /** Decides about the policies in front of which no part stands any more. */
  async function decideOnce(takes: readonly AppliedPolicy[], question: Question): Promise<Answered> {
    const { flag, region, slot = 0 } = question;
    const lines = keysOf(takes, region);
    return answeredOf(lines, flag, await takerFor(takes, flag).take({ lines, flag, slot }, question));
  }

  function tellingParts(tellOthers: ReturnType<typeof tellerOf>): NonNullable<Part["onAnswer"]> {
    const listeners = parts.flatMap(({ onAnswer }) => onAnswer ?? []);
    if (listeners.length === 0) return tellOthers;
    return (answered, takes, question) => {
      for (const listen of listeners) listen(answered, takes, question);
      tellOthers(answered, takes, question);
    };
  }

  function partsAround(): DecideTakes {
    const isKept = (take: AppliedPolicy) => parts.some(({ mustAsk }) => mustAsk?.(take));
    const surelyRefused: SurelyRefused = (takes, { flag, region }) => {
      if (flag !== Flag.take) return new Set();
      const keys = keysOf(takes, region).filter(takerFor(takes, flag).surelyRefuses);
      return new Set(keys.map(({ take }) => takes[take]!).filter((take) => !isKept(take)));
    };
    let decided: DecideTakes = decideOnce;
    for (const { hear } of parts) {
      const inner = decided;
      if (hear) decided = async (takes, question) => hear(await inner(takes, question));
    }
    for (const { around } of parts) decided = around?.(decided, surelyRefused) ?? decided;
    return decided;
  }

  /** Decides about these clients, and tells who listens. */
  async function decideAbout(applied: readonly AppliedPolicy[], question: Question): Promise<Answered> {
    // The client is exempt from all policies: nobody is told.
    if (applied.length === 0) return { decision: decide(store.kind, []) };
    const answered = await decideTakes(applied, question);
    tell(answered, applied, question);
    return answered;
  }

  /** The same about what the document has made of a request. */
  async function decideFound({ applied, blocked }: AppliedLive, question: Question): Promise<Answered> {
    if (!blocked) return await decideAbout(applied, question);
    tell({ decision: blocked }, applied, question);
    return { decision: blocked };
  }

  /** Every take, peek and reservation comes through here. @param find the clients that are counted. */
  const run: Run = live
    ? async (takes, question, find = clientsOf) => {
        const { background } = question;
        await live.ready(background);
        const answered = await decideFound(find(takes), question);
        live.freshen(background);
        return answered;
      }
    : (takes, question, find = clientsOf) => decideAbout(find(takes).applied, question);

  /** The region's name becomes part of a key in the store. It is checked here, wherever it comes from. */
  function questionOf(flag: Question["flag"], regionOf: () => string, background?: Background): Question {
    return { flag, background, region: () => checkRegion(regionOf()) };
  }

  async function take(takes: readonly Take[], question: Question) {
    return (await run(takes, question)).decision;
  }

  async function reserve(
    takes: readonly Take[],
    question: Question,
    begin?: (typeof parts)[number]["begin"],
  ): Promise<MatchedReservation> {
    const { flag, background } = question;
    const names = takes.map(({ policy }) => policy.name);
    if (new Set(names).size < names.length) throw new TypeError("reserve: the same policy twice");
    const reserved = (one: AppliedPolicy): AppliedPolicy => ({ ...reservedFor(parts, one), isStrict: true });
    const reserving: typeof clientsOf = () => {
      const found = clientsOf(takes);
      return { ...found, applied: found.applied.map(reserved) };
    };
    return createReservation({
      names,
      answered: await run(takes, question, reserving),
      background,
      begin,
      async ask(keys) {
        if (keys.length === 0) return { decision: decide(store.kind, []) };
        return answeredOf(keys, flag, await strict.take({ lines: keys, flag, slot: 0 }, { background }));
      },
    });
  }

  async function forget(clients: readonly AppliedPolicy[], regionOf: () => string): Promise<void> {
    const requests = keysOf(clients, regionOf).map(({ request }) => request);
    const keys = keysOfRequest({ keys: requests, flag: Flag.take });
    for (const { forget } of parts) forget?.(keys);
    await strict.reset(keys);
  }

  const takesBy = (policy: string | readonly PolicyTake[], options: TakeOptions) =>
    takesOf(policies, policy, options, ipv6Prefix, named);
  const regionBy =
    ({ region = ownRegion }: Pick<TakeOptions, "region">) =>
    () =>
      region;
  const questionBy = (flag: Question["flag"], options: TakeOptions) =>
    questionOf(flag, regionBy(options), options.background);
  const takeByHand: Limiter["take"] = async (policy, options = {}) =>
    await take(takesBy(policy, options), questionBy(Flag.take, options));
  const takeAgain: Limiter["take"] = async (policy, options = {}) =>
    await take(takesBy(policy, options), { ...questionBy(Flag.take, options), isRetry: true });

  async function close(options: CloseOptions = {}): Promise<void> {
    checkOptions("close", options, { timeoutMs: "number" });
    const { timeoutMs: withinMs = CLOSE_MS } = options;
    if (!(withinMs > 0)) throw new TypeError(`close: expected timeoutMs to be more than 0, found ${withinMs}`);
    // Their calls have begun when the taker looks which are under way.
    const ended = Promise.allSettled(parts.map((part) => part.close?.()));
    const timer = new AbortController();
    await Promise.all([strict.close(withinMs), Promise.race([ended, sleep(withinMs, timer.signal).catch(() => {})])]);
    timer.abort();
  }

  return {
    policies,
    region: ownRegion,
    ipv6Prefix,
    take: takeByHand,
    wait: waiting(takeByHand, takeAgain),
    async peek(policy, options = {}) {
      return await take(takesBy(policy, options), questionBy(Flag.look, options));
    },
    async reserve(policy, options = {}) {
      return await reserve(takesBy(policy, options), questionBy(Flag.take, options));
    },
    async reset(policy, options = {}) {
      const takes = takesBy(policy, options);
      checkSize(takes);
      await forget(takes.map(named), regionBy(options));
    },
    close,
    [Symbol.asyncDispose]: () => close(),

    // For a request over HTTP, whose policies and keys were matched already.
    takeMatched: (takes, regionOf, background) => take(takes, questionOf(Flag.take, regionOf, background)),
    peekMatched: (takes, regionOf) => take(takes, questionOf(Flag.look, regionOf)),
    reserveMatched: (takes, regionOf, background) =>
      reserve(takes, questionOf(Flag.take, regionOf, background), parts.find(({ begin }) => begin)?.begin),
    async refuseMatched(takes, regionOf, background) {
      await live?.ready(background);
      const question = questionOf(Flag.take, regionOf, background);
      const found = clientsOf(takes);
      const applied = found.applied.map((one) => reservedFor(parts, one));
      const answered = found.blocked ? { decision: found.blocked } : await refusalOf(takes, applied, question);
      if (!answered) return undefined;
      live?.freshen(background);
      tell(answered, applied, question);
      return answered.decision;
    },
    identify: options.identity?.identifyFor(policies, timeoutMs),
    httpFeatures: [...new Set(features.flatMap(({ http }) => http ?? []))],

    // For operators.
    live,
    async client(policy, options) {
      return named(takesBy(policy, options)[0]!);
    },
    async inspect(client, region, background) {
      // A block or an exemption says nothing about the counts.
      const { applied } = live?.apply([client], { asCounted: true }) ?? { applied: [client] };
      // An operator sees the counts of the store.
      const lines = keysOf(applied, regionBy({ region }));
      const flag = Flag.look;
      return answeredOf(lines, flag, await strict.take({ lines, flag, slot: 0 }, { background })).decision;
    },
    returned: strict.returned,
    resetClient: (client, region) => forget([client], regionBy({ region })),
  };
}

/** Who reads the live document. Undefined: nobody. */
function liveOf(
  features: readonly InsideFeature[],
  { store, namespace, owner, liveRefreshMs: refreshMs = 0 }: InsideOptions,
  more: Pick<LiveReaderOptions, "policies" | "numbers" | "timeoutMs" | "secret">,
) {
  const { live: storage } = store;
  const reader = features.find(({ liveReader }) => liveReader)?.liveReader;
  if (!reader || !storage || refreshMs <= 0) return undefined;
  return reader({ storage, namespace, owner, refreshMs, ...more });
}
