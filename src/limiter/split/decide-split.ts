/**
 * One decision over several places. Each place checks and charges its own keys, all places at once. What a place has
 * charged although another one refused is given back after the answer.
 */

import { asLinkAlone, asLinkOfChain, chainOf } from "../../core/chain.ts";
import type { AdmittedDecision, Hold } from "../../core/decision.ts";
import { ENFORCED, Flag, groupsRefusedIn, isRepeated, type TakeRequest } from "../../core/take.ts";
import type { Isolate } from "../../isolate/isolate.ts";
import { keepAlive, type SourcedReply } from "../../isolate/reply-source.ts";
import { bothHolds, holdSlots } from "../../isolate/slots.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import {
  type Answered,
  type Asked,
  type Charge,
  type Decider,
  denies,
  type KeysReply,
  namingPayers,
  type PolicyKey,
  unavailable,
  unpaidLinks,
  withInstants,
} from "../decide.ts";
import { hashTagOf } from "../store-key.ts";
import { combine, type Part, type PartReply, type Unanswered, undo } from "./parts.ts";
import { groupBy } from "./split.ts";

/**
 * How long a reply of a place may refuse other requests, in milliseconds. The units that left no room may belong to a
 * request that another place has refused. They come back after a round trip.
 */
export const TRUSTED_MS = 1_000;

/** What the places have said so far. */
interface Asking {
  readonly replies: PartReply[];
  readonly unanswered: Unanswered[];
  /** The groups for which nothing is to stay charged. */
  readonly refused: Set<number>;
  /** The keys whose place has no answer, and which nobody has counted. */
  readonly uncounted: PolicyKey[];
  /** A place without an answer refuses the request. */
  isDenied: boolean;
}

function nothingAsked(): Asking {
  return { replies: [], unanswered: [], refused: new Set(), uncounted: [], isDenied: false };
}

/** Whether what was charged for a group stays charged. */
type IsKept = (group: number) => boolean;

/**
 * @param isolates what this isolate keeps beside each place.
 * @param placeOf the position in `isolates` of the place where a key lies.
 * @param clusters the positions of places that are a Redis Cluster, as far as it is known.
 */
export function createSplit(
  isolates: readonly Isolate[],
  placeOf: (key: string) => number,
  clusters: Set<number> = new Set(),
): Decider {
  function partsOf(keys: readonly PolicyKey[]): Part[] {
    return groupBy(keys, ({ request }) => placeOf(request.key)).flatMap(([place, own]) => {
      return clusters.has(place) ? byHashSlot(place, own) : [partOf(place, own)];
    });
  }

  function partOf(place: number, keys: readonly PolicyKey[]): Part {
    const isolate = isolates[place]!;
    return { place, isolate, keys, requests: keys.map(({ request }) => request), begun: isolate.lastNumber() };
  }

  /** By hash tag: keys with the same tag lie in the same hash slot. */
  function byHashSlot(place: number, keys: readonly PolicyKey[]): Part[] {
    return groupBy(keys, ({ request }) => hashTagOf(request.key)).map(([, own]) => partOf(place, own));
  }

  function chargeOf({ part, keys, requests, reply }: PartReply, isKept: IsKept, slot: number): Charge {
    const { settle } = part.isolate;
    // A cluster can run a call over the keys of one hash slot only.
    const at = clusters.has(part.place) ? `${part.place} ${hashTagOf(requests[0]!.key)}` : settle;
    return { keys: keptKeys(withInstants(keys, reply), isKept), atMs: reply.nowMs, slot, settle, at };
  }

  /** Asks a place. A cluster with the keys in several hash slots has charged nothing: each hash slot is asked. */
  async function askPart(part: Part, asked: Asked): Promise<(PartReply | Unanswered)[]> {
    const outcome = await ask(part, asked);
    if (!("failure" in outcome) || outcome.failure.code !== "CROSSSLOT") return [outcome];
    const parts = byHashSlot(part.place, part.keys);
    if (parts.length === 1) return [outcome];
    clusters.add(part.place);
    return await Promise.all(parts.map((one) => ask(one, asked)));
  }

  async function askAll(known: Asking, parts: readonly Part[], asked: Asked): Promise<void> {
    await hear(known, (await Promise.all(parts.map((part) => askPart(part, asked)))).flat(), asked);
  }

  /** Learns what places have said, and decides by the isolate's own counts for those that have no answer. */
  async function hear(known: Asking, outcomes: readonly (PartReply | Unanswered)[], asked: Asked): Promise<void> {
    const { replies, unanswered, refused } = known;
    const failed = outcomes.filter((one) => "failure" in one);
    const answers: PartReply[] = outcomes.filter((one) => "reply" in one);
    unanswered.push(...failed);
    replies.push(...answers);
    for (const group of answers.flatMap(refusedIn)) refused.add(group);
    // What is refused elsewhere stays refused, whatever a place without an answer holds.
    const isOpen = ({ request }: PolicyKey) => !refused.has(ENFORCED) && !refused.has(request.group);
    known.isDenied ||= failed.some(({ part }) => part.keys.some((key) => denies(key) && isOpen(key)));
    for (const { part, failure } of failed) {
      // The own counters come last: where they refuse, those before them are given back.
      if (known.isDenied || refused.has(ENFORCED)) break;
      const counted = await countHere(part, asked, failure);
      if (counted) replies.push(counted);
      const uncounted = part.keys.filter((key) => !counted?.keys.includes(key));
      known.uncounted.push(...uncounted);
      const left = [...(counted ? refusedIn(counted) : []), ...unpaidLinks(uncounted, [])];
      for (const group of left) refused.add(group);
    }
  }

  async function run(parts: readonly Part[], asked: Asked): Promise<Answered> {
    const { flag } = asked;
    const mayKnow = flag === Flag.take && parts.length > 1 && asked.consistency !== "shared";
    const knownHere = mayKnow ? knownRefusal(parts, asked) : undefined;
    if (knownHere) return { decision: combine(knownHere, [], flag), atMs: knownHere[0]!.reply.nowMs };
    const known = nothingAsked();
    await askAll(known, parts, asked);
    return conclude(known, asked);
  }

  /**
   * The links under which the request is a repeat, as their groups: a look at every link with an id. A place without an
   * answer says nothing, and its links keep their turn.
   */
  async function repeatedLinks(keys: readonly PolicyKey[], asked: Asked): Promise<ReadonlySet<number>> {
    const named = keys.filter(({ request }) => request.once && chainOf(request.group) !== undefined);
    if (named.length === 0) return new Set();
    const look = { ...asked, flag: Flag.look, slot: 0 };
    const answers = await Promise.all(partsOf(named.map(alone)).map((part) => askPart(part, look)));
    return new Set(
      answers.flat().flatMap((one) => {
        if ("failure" in one) return [];
        const repeated = one.requests.filter((_, k) => isRepeated(one.reply.keys[k]!)).map(({ key }) => key);
        return named.filter(({ request }) => repeated.includes(request.key)).map(({ request }) => request.group);
      }),
    );
  }

  /**
   * Chains whose links lie in several places: each place is asked for the first links, and then for the next link of
   * each chain whose link has refused. Once the request is refused, the links that are left are only looked at: the
   * wait is the shortest over the chain. A link that has charged the request before comes first.
   */
  async function runInRounds(keys: readonly PolicyKey[], asked: Asked): Promise<Answered> {
    const known = nothingAsked();
    /** Replies of links that were only looked at. */
    const looks = nothingAsked();
    /** The chains that have no payer yet. */
    let open = new Set(keys.flatMap(({ request }) => chainOf(request.group) ?? []));
    const groups = new Set(keys.map(({ request }) => request.group));
    const repeated = await repeatedLinks(keys, asked);
    const isBefore = (one: number, other: number) =>
      chainOf(one) === chainOf(other) && (repeated.has(one) === repeated.has(other) ? one < other : repeated.has(one));
    /** In which round a key is asked: a link after those before it. A link may be missing, also the first. */
    const turnOf = ({ request: { group } }: PolicyKey) =>
      chainOf(group) === undefined ? 0 : [...groups].filter((one) => isBefore(one, group)).length;
    let round = keys.filter((key) => turnOf(key) === 0);
    for (let turn = 1; round.length > 0 && !known.isDenied; turn++) {
      const isRefused = known.refused.has(ENFORCED);
      const into = isRefused ? looks : known;
      await askAll(into, partsOf(round.map(alone)), isRefused ? { ...asked, flag: Flag.look, slot: 0 } : asked);
      const { refused } = into;
      open = new Set(
        round.flatMap(({ request: { group } }) => {
          const chain = chainOf(group);
          return chain !== undefined && open.has(chain) && refused.has(asLinkAlone(group)) ? [chain] : [];
        }),
      );
      round = keys.filter((key) => open.has(chainOf(key.request.group)!) && turnOf(key) === turn);
      const isOver = (chain: number) => !round.some(({ request }) => chainOf(request.group) === chain);
      if ([...open].some(isOver)) known.refused.add(ENFORCED);
    }
    return conclude(known, asked, looks.replies);
  }

  /**
   * The answer, and what is given back.
   *
   * @param looks more replies that the decision shows, and that have charged nothing.
   */
  function conclude(
    { replies, unanswered, refused, uncounted, isDenied }: Asking,
    { flag, slot, background }: Asked,
    looks: readonly PartReply[] = [],
  ): Answered {
    // Nobody knows the counts of a chain whose payer has no answer: its other links have refused, and do not count.
    const payers = uncounted.filter(({ request }) => !refused.has(request.group));
    const unknown = new Set(payers.flatMap((key) => chainOf(inChain(key).request.group) ?? []));
    const linked = (one: PartReply): KeysReply => {
      if (one.keys.every((key) => inChain(key) === key)) return one;
      const keys = one.keys.map(inChain);
      const isKnown = keys.map(({ request }) => !unknown.has(chainOf(request.group)!));
      const reply = { ...one.reply, keys: one.reply.keys.filter((_, k) => isKnown[k]) };
      return { ...one, keys: keys.filter((_, k) => isKnown[k]), reply };
    };
    const isKept = (group: number) => !isDenied && !refused.has(ENFORCED) && !refused.has(group);
    const charges: Charge[] = [];
    const shown = [...replies, ...looks].map(linked);
    let decision = isDenied ? unavailable() : combine(shown, unanswered, flag);
    if (unanswered.length > 0) {
      // A payer whose place has no answer has no counts to be named by.
      const kept = [...replies, ...unanswered.map(({ part }) => part)].flatMap(({ keys }) => keptKeys(keys, isKept));
      decision = namingPayers(decision, kept, () => true);
    }
    if (flag === Flag.take) {
      const undone = replies.map((reply) => undo(reply, isKept, slot));
      background?.waitUntil(Promise.all(undone));
      if (decision.allowed && slot) decision = withHold(decision, replies, isKept, slot);
      for (const reply of replies) {
        if (reply.source !== "fallback") charges.push(chargeOf(reply, isKept, slot));
      }
      for (const { part, failure } of unanswered) {
        const { replies: at, releaseLater } = part.isolate;
        const options = { replies: at, releaseLater, slot, background, refusedGroups: refused };
        const noted = part.isolate.note(decision, part.requests, failure, options);
        decision = noted.decision;
        const own = replies.find((reply) => reply.part === part);
        const keys = keptKeys(part.keys, isKept);
        charges.push({ keys, atMs: own?.reply.nowMs ?? 0, slot, settle: noted.settle });
      }
    }
    const [first] = unanswered;
    const charged = decision.allowed && { charges };
    return {
      decision,
      atMs: replies[0]?.reply.nowMs,
      ...charged,
      ...(first && { failure: first.failure.code, unanswered: unanswered.flatMap(({ part }) => part.keys) }),
    };
  }

  async function decideAnyhow(keys: readonly PolicyKey[], asked: Asked): Promise<Answered> {
    const parts = partsOf(keys);
    const isChained = keys.some(({ request }) => chainOf(request.group) !== undefined);
    if (!isChained) return await run(parts, asked);
    if (parts.length > 1 || isSpread(parts[0]!)) return await runInRounds(keys, asked);
    const outcome = await ask(parts[0]!, asked);
    const { failure } = outcome as Partial<Unanswered>;
    if (failure?.code === "CROSSSLOT") clusters.add(parts[0]!.place);
    // A cluster was not known as one: nothing was charged.
    if (isSpread(parts[0]!)) return await runInRounds(keys, asked);
    const known = nothingAsked();
    await hear(known, [outcome], asked);
    return conclude(known, asked);
  }

  /** Whether a part of several hash slots lies in a cluster. */
  function isSpread({ place, keys }: Part): boolean {
    return clusters.has(place) && new Set(keys.map(({ request }) => hashTagOf(request.key))).size > 1;
  }

  return {
    decide: async (keys, asked) => await keepAlive(decideAnyhow(keys, asked), asked.background),

    async reset(keys) {
      await Promise.all(groupBy(keys, placeOf).map(([at, own]) => isolates[at]!.replies.reset(own)));
    },
  };
}

/** A key as its place is asked for it without the other links of its chain. */
function alone(key: PolicyKey): PolicyKey {
  const { group } = key.request;
  return chainOf(group) === undefined ? key : { ...key, request: { ...key.request, group: asLinkAlone(group) } };
}

/** The key as it was before `alone`. */
function inChain(key: PolicyKey): PolicyKey {
  const group = asLinkOfChain(key.request.group);
  return group === key.request.group ? key : { ...key, request: { ...key.request, group } };
}

/** As links of their chain again: more units are asked of all that were charged, or of none. */
function keptKeys(keys: readonly PolicyKey[], isKept: IsKept): PolicyKey[] {
  return keys.filter(({ request }) => isKept(request.group)).map(inChain);
}

/**
 * What the isolate knows to refuse without a call to any place. Every part must be known: the limit of a place that was
 * not asked may refuse for longer. undefined: the places are asked. (Those that are known to refuse are not called.)
 */
function knownRefusal(
  parts: readonly Part[],
  { slot, background, consistency = "leased" }: Asked,
): readonly KeysReply[] | undefined {
  const asked = parts.map(({ requests }): TakeRequest => ({ keys: requests, flag: Flag.take, slot }));
  const refusals = parts.map(({ isolate }, p) => isolate.refusal(asked[p]!, background, consistency));
  if (!refusals.some((refusal) => refusal)) return undefined;
  const known = parts.flatMap(({ isolate, keys }, p): KeysReply[] => {
    const sourced = refusals[p] ?? isolate.beside(asked[p]!);
    return sourced ? [{ ...sourced, keys }] : [];
  });
  return known.length === parts.length ? known : undefined;
}

async function ask(part: Part, { flag, slot, background, consistency }: Asked): Promise<PartReply | Unanswered> {
  const { isolate, keys, requests } = part;
  const { replies } = isolate;
  let sourced: SourcedReply;
  try {
    sourced = await replies.take({ keys: requests, flag, slot }, background, consistency);
  } catch (error) {
    return { part, failure: failureOf(error) };
  }
  isolate.repay(sourced.source, background);
  return { ...sourced, part, keys, requests, replies };
}

/**
 * Decides by the isolate's own counters, because the place has no answer. Undefined: no policy of the part says
 * `local`.
 */
async function countHere(part: Part, { flag, slot }: Asked, failure: StoreFailure): Promise<PartReply | undefined> {
  const keys = part.keys.filter(({ policy }) => policy.onStoreFailure === "local");
  if (keys.length === 0) return undefined;
  const requests = keys.map(({ request }) => request);
  const replies = part.isolate.alone(failure);
  return { ...(await replies.take({ keys: requests, flag, slot })), part, keys, requests, replies };
}

function refusedIn({ requests, reply }: PartReply): number[] {
  return [...groupsRefusedIn(requests, reply.keys)];
}

/** The slots of an admitted request, wherever they are held. */
function withHold(
  decision: AdmittedDecision,
  replies: readonly PartReply[],
  isKept: (group: number) => boolean,
  slot: number,
): AdmittedDecision {
  const hold = replies.reduce((before: Hold | undefined, { part, requests, replies: at, source }) => {
    const held = requests.filter(({ group }) => isKept(group));
    // Own counters forget a slot that is not given back after its timeout.
    const releaseLater = source === "fallback" ? undefined : part.isolate.releaseLater;
    const one = holdSlots(held, { replies: at, slot, releaseLater });
    return one ? bothHolds(before, one) : before;
  }, undefined);
  return hold ? { ...decision, hold } : decision;
}
