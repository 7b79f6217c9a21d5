/**
 * One decision over several places. Each place checks and charges its own keys, all places at once. What a place has
 * charged although another one refused is given back after the answer.
 */

import { isConcurrency } from "../../core/concurrency.ts";
import type { AdmittedDecision, Decision, Hold, Source } from "../../core/decision.ts";
import { chargedInVain, ENFORCED, Flag, groupsRefusedIn, type KeyRequest, type TakeRequest } from "../../core/take.ts";
import type { Isolate } from "../../isolate/isolate.ts";
import { askOnce, keepAlive, type ReplySource, type SourcedReply } from "../../isolate/reply-source.ts";
import { bothHolds, holdSlots } from "../../isolate/slots.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import {
  type Answered,
  type Asked,
  type Charge,
  chargedBy,
  type Decider,
  decideAll,
  denies,
  type KeysReply,
  type PolicyKey,
  unavailable,
} from "../decide.ts";
import { hashTagOf } from "../store-key.ts";
import { groupBy } from "./split.ts";

/**
 * How long a reply of a place may refuse other requests, in milliseconds. The units that left no room may belong to a
 * request that another place has refused. They come back after a round trip.
 */
export const TRUSTED_MS = 1_000;

/** The keys of a request that lie in one place; in a Redis Cluster, those that lie in one of its hash slots. */
interface Part {
  /** The position of the place. */
  readonly place: number;
  readonly isolate: Isolate;
  readonly keys: readonly PolicyKey[];
  /** The requests of `keys`, the same objects. */
  readonly requests: readonly KeyRequest[];
  /** The last number that the isolate had given away when the decision began. */
  readonly begun: number;
}

/** A reply to a part: of its place, or of the isolate's own counters while the place has no answer. */
interface PartReply extends KeysReply {
  readonly part: Part;
  readonly requests: readonly KeyRequest[];
  /** Where the reply comes from, and where it is undone. */
  readonly replies: Pick<ReplySource, "take">;
}

/** A place that had no answer. */
interface Unanswered {
  readonly part: Part;
  readonly failure: StoreFailure;
}

/** What the places have said so far. */
interface Asking {
  readonly replies: PartReply[];
  /** What own counters say about a request that a place refuses: they charge nothing, and may refuse for longer. */
  readonly looked: PartReply[];
  readonly unanswered: Unanswered[];
  /** The groups for which nothing is to stay charged. */
  readonly refused: Set<number>;
  /** A place without an answer refuses the request. */
  readonly isDenied: boolean;
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
    return { keys: keptOf(chargedBy(keys, reply), isKept), atMs: reply.nowMs, slot, settle, at };
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

  /** Asks all places at once, and decides by the isolate's own counts for those that have no answer. */
  async function askAll(parts: readonly Part[], asked: Asked): Promise<Asking> {
    const outcomes = (await Promise.all(parts.map((part) => askPart(part, asked)))).flat();
    const unanswered = outcomes.filter((one) => "failure" in one);
    const replies: PartReply[] = outcomes.filter((one) => "reply" in one);
    const refused = new Set(replies.flatMap(refusedIn));
    // What is refused elsewhere stays refused, whatever a place without an answer holds.
    const isDenied = !refused.has(ENFORCED) && unanswered.some(({ part }) => asked.mustHear || part.keys.some(denies));
    const looked: PartReply[] = [];
    for (const { part, failure } of unanswered) {
      if (isDenied) break;
      // The own counters come last: where they refuse, those before them are given back.
      const isRefused = refused.has(ENFORCED);
      const counted = await countHere(part, isRefused ? { ...asked, flag: Flag.look } : asked, failure);
      if (!counted) continue;
      if (isRefused) {
        if (!counted.reply.allowed) looked.push(counted);
        continue;
      }
      replies.push(counted);
      for (const group of refusedIn(counted)) refused.add(group);
    }
    return { replies, looked, unanswered, refused, isDenied };
  }

  function known(parts: readonly Part[], asked: Asked): Answered | undefined {
    const refusals = knownRefusal(parts, asked);
    return refusals && { decision: combine(refusals, [], asked.flag), atMs: refusals[0]!.reply.nowMs };
  }

  async function run(parts: readonly Part[], asked: Asked): Promise<Answered> {
    const mayKnow = asked.flag === Flag.take && parts.length > 1 && asked.consistency !== "shared";
    return (mayKnow && known(parts, asked)) || conclude(await askAll(parts, asked), asked);
  }

  /** The answer, and what is given back. */
  function conclude({ replies, looked, unanswered, refused, isDenied }: Asking, asked: Asked): Answered {
    const { flag, slot, background } = asked;
    const isKept = (group: number) => !isDenied && !refused.has(ENFORCED) && !refused.has(group);
    const charges: Charge[] = [];
    let decision = isDenied ? unavailable() : combine(replies, unanswered, flag, looked);
    let undone: Promise<unknown> | undefined;
    if (flag === Flag.take) {
      undone = Promise.all(replies.map((reply) => undo(reply, isKept, asked)));
      background?.waitUntil(undone);
      if (decision.allowed && slot) decision = withHold(decision, replies, isKept, slot);
      for (const reply of replies) {
        if (reply.source !== "fallback") charges.push(chargeOf(reply, isKept, slot));
      }
      for (const { part, failure } of unanswered) {
        const { replies: at, giveBackLater } = part.isolate;
        const options = { replies: at, giveBackLater, slot, background, refusedGroups: refused };
        const noted = part.isolate.note(decision, part.requests, failure, options);
        decision = noted.decision;
        const own = replies.find((reply) => reply.part === part);
        const keys = keptOf(part.keys, isKept);
        charges.push({ keys, atMs: own?.reply.nowMs ?? 0, slot, settle: noted.settle });
      }
    }
    const [first] = unanswered;
    const charged = decision.allowed && { charges };
    return {
      decision,
      atMs: replies[0]?.reply.nowMs,
      ...charged,
      ...(undone && { undone }),
      ...(first && { failure: first.failure.code, unanswered: unanswered.flatMap(({ part }) => part.keys) }),
    };
  }

  return {
    decide: async (keys, asked) => await keepAlive(run(partsOf(keys), asked), asked.background),
    known: async (keys, asked) => known(partsOf(keys), asked),

    surelyRefused: (keys) => keys.filter(({ request }) => isolates[placeOf(request.key)]!.surelyRefuses(request)),

    async reset(keys) {
      await Promise.all(groupBy(keys, placeOf).map(([at, own]) => isolates[at]!.replies.reset(own)));
    },
  };
}

function keptOf(keys: readonly PolicyKey[], isKept: IsKept): PolicyKey[] {
  return keys.filter(({ request }) => isKept(request.group));
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

async function ask(part: Part, { flag, slot, background, consistency, notes }: Asked): Promise<PartReply | Unanswered> {
  const { isolate, keys, requests } = part;
  const { replies } = isolate;
  let sourced: SourcedReply;
  try {
    sourced = await askOnce(replies, { keys: requests, flag, slot }, background, consistency, notes);
  } catch (error) {
    return { part, failure: failureOf(error) };
  }
  return { ...sourced, part, keys, requests, replies };
}

/**
 * Decides by the isolate's own counters, because the place has no answer. Undefined: no policy of the part says
 * `local`.
 */
async function countHere(
  part: Part,
  { flag, slot, notes }: Asked,
  failure: StoreFailure,
): Promise<PartReply | undefined> {
  const keys = part.keys.filter(({ policy }) => policy.onStoreFailure === "local");
  if (keys.length === 0) return undefined;
  const requests = keys.map(({ request }) => request);
  const replies = part.isolate.alone(failure, notes);
  return { ...(await replies.take({ keys: requests, flag, slot })), part, keys, requests, replies };
}

function refusedIn({ requests, reply }: PartReply): number[] {
  return [...groupsRefusedIn(requests, reply.keys)];
}

/** The slots of an admitted request, wherever they are held. */
function withHold(
  decision: AdmittedDecision,
  replies: readonly PartReply[],
  isKept: IsKept,
  slot: number,
): AdmittedDecision {
  const hold = replies.reduce((before: Hold | undefined, { part, requests, replies: at, source }) => {
    const held = requests.filter(({ group }) => isKept(group));
    // Own counters forget a slot that is not given back after its timeout.
    const giveBackLater = source === "fallback" ? undefined : part.isolate.giveBackLater;
    const one = holdSlots(held, { replies: at, slot, giveBackLater });
    return one ? bothHolds(before, one) : before;
  }, undefined);
  return hold ? { ...decision, hold } : decision;
}

/** The answer that all replies together give. @param looked as in `Asking`. */
function combine(
  replies: readonly KeysReply[],
  unanswered: readonly Unanswered[],
  flag: Flag,
  looked: readonly KeysReply[] = [],
): Decision {
  const source = sourceOf(replies, unanswered);
  // The isolate's own counters do not have the numbers of the place. Clients see them only with the source `fallback`.
  const isHidden = (reply: KeysReply) => reply.source === "fallback" && source !== "fallback";
  return decideAll(source, [...replies, ...looked], flag, isHidden);
}

/**
 * The source that is furthest away of those that have decided: a place, then the own counters in its stead, then leased
 * units, then memory. A refusal is decided by those that refuse. A reply about policies in shadow alone decides only if
 * there is no other reply.
 */
function sourceOf(replies: readonly KeysReply[], unanswered: readonly Unanswered[]): Source {
  const refusing = replies.filter(({ reply }) => !reply.allowed);
  const all = [...replies, ...unanswered.map(({ part }) => ({ keys: part.keys, source: "fallback" as Source }))];
  const enforced = all.filter(({ keys }) => keys.some(({ request }) => request.group === ENFORCED));
  const deciding = [refusing, enforced, all].find(({ length }) => length > 0)!;
  return deciding.map(({ source }) => source).reduce((a, b) => (distanceOf(b) > distanceOf(a) ? b : a));
}

function distanceOf(source: Source): number {
  const nearest = ["cache", "lease", "shared", "fallback"];
  const at = nearest.indexOf(source);
  return at < 0 ? nearest.length : at;
}

/**
 * Gives back what one place has charged. Units of a key that was reset since the decision began are not given back: the
 * reset may have removed them. Slots are: a slot has the number of its request, and no other request loses it. Never
 * rejects because of a place.
 *
 * @param isKept whether what was charged for a group stays charged. @param asked whose time the call shares.
 */
async function undo(
  { part, requests, replies, reply, returnUnits }: PartReply,
  isKept: IsKept,
  { slot, background, notes }: Pick<Asked, "slot" | "background" | "notes">,
): Promise<void> {
  const { isolate, begun } = part;
  const keys = chargedInVain(requests, reply, isKept).flatMap((one) => {
    const limits = isolate.wasReset(one.key, begun) ? one.limits.filter(isConcurrency) : one.limits;
    return limits.length > 0 ? [{ ...one, limits }] : [];
  });
  if (keys.length === 0) return;
  if (returnUnits) return returnUnits(new Set(keys.map(({ group }) => group)));
  const request: TakeRequest = { keys, flag: Flag.giveBack, atMs: reply.nowMs, slot };
  try {
    await replies.take(request, background, undefined, notes);
  } catch (error) {
    const failure = failureOf(error);
    if (failure.notRun) return isolate.giveBackLater(request, failure, begun);
    // Units lapse with their window. A slot is given back once more: the next attempt does not wait for that.
    const hold = slot ? holdSlots(keys, { replies, slot, giveBackLater: isolate.giveBackLater }) : undefined;
    if (hold) keepAlive(hold.release(), background);
  }
}
