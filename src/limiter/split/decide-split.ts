/**
 * One decision over several places. Each place checks and charges its own keys, all places at once. What a place has
 * charged although another one refused is given back after the answer.
 */

import { BoundedMap } from "../../bounded-map.ts";
import { type Decision, decide, type Hold, type Source } from "../../core/decision.ts";
import { ENFORCED, Flag, type KeyRequest } from "../../core/take.ts";
import { createIsolate, type Isolate, isolateOf } from "../../isolate/isolate.ts";
import { chargedInVain, refusedGroups } from "../../isolate/repay/charged-in-vain.ts";
import { keepAlive, type ReplySource } from "../../isolate/reply-source.ts";
import { bothHolds, holdSlots } from "../../isolate/slots.ts";
import { failureOf, type StoreFailure } from "../../store/failure.ts";
import type { Store } from "../../store/store.ts";
import {
  type Answered,
  type Asked,
  countedWithoutStore,
  inOrder,
  isDeniedWithoutStore,
  type KeysReply,
  limitsOf,
  type PolicyKey,
  UNAVAILABLE,
} from "../decide.ts";
import { byPlace } from "./by-place.ts";
import type { Split } from "./split.ts";

/**
 * How long a reply of a place may refuse other requests. The units that refused may be those of a request that another
 * place has refused, and then they come back after a round trip.
 */
const TRUSTED_MS = 1_000;
/** Keys that were reset lately: what was charged before is not given back. */
const MAX_RESETS = 1_000;

/** The keys of a request that lie in one place. */
interface Part {
  readonly isolate: Isolate;
  readonly keys: readonly PolicyKey[];
  /** Those of the keys, the very objects. */
  readonly requests: readonly KeyRequest[];
}

/** A reply to a part: of its place, or of the isolate's own counters while the place is silent. */
interface PartReply extends KeysReply {
  readonly part: Part;
  readonly requests: readonly KeyRequest[];
  /** Where the reply comes from, and where it is undone. */
  readonly replies: ReplySource;
}

/** A place that had no answer. */
interface Silence {
  readonly part: Part;
  readonly failure: StoreFailure;
}

/** @param placeOf the position in `places` where a key lies. */
export function createSplit(places: readonly Store[], placeOf: (key: string) => number): Split {
  const isolates = places.map((place) => isolateOf(place, TRUSTED_MS) ?? createIsolate(place, undefined, TRUSTED_MS));
  let resets = 0;
  /** By key: the number of its last reset. */
  const lastReset = new BoundedMap<string, number>({ maxSize: MAX_RESETS });

  function partsOf(keys: readonly PolicyKey[]): Part[] {
    return byPlace(keys, ({ request }) => placeOf(request.key)).map(([at, own]) => {
      return { isolate: isolates[at]!, keys: own, requests: own.map(({ request }) => request) };
    });
  }

  function wereReset(keys: readonly string[]): void {
    resets++;
    for (const key of keys) lastReset.set(key, resets);
  }

  async function run(parts: readonly Part[], asked: Asked): Promise<Answered> {
    const { flag, slot, background } = asked;
    const resetsBefore = resets;
    const known = flag === Flag.take && parts.length > 1 ? knownRefusals(parts, asked) : [];
    if (known.length > 0) return { decision: decideBy(known, [], flag) };

    const outcomes = await Promise.all(parts.map((part) => ask(part, asked)));
    const silences = outcomes.filter((one) => "failure" in one);
    const replies: PartReply[] = outcomes.filter((one) => "reply" in one);
    const refused = new Set(replies.flatMap(refusedIn));
    const isDenied = !refused.has(ENFORCED) && silences.some(({ part }) => isDeniedWithoutStore(part.keys));
    for (const { part } of silences) {
      // The own counters come last: where they refuse, those before them are given back.
      if (isDenied || refused.has(ENFORCED)) break;
      const counted = await countHere(part, asked);
      if (!counted) continue;
      replies.push(counted);
      for (const group of refusedIn(counted)) refused.add(group);
    }

    const isKept = (group: number) => !isDenied && !refused.has(ENFORCED) && !refused.has(group);
    let decision = isDenied ? UNAVAILABLE : decideBy(replies, silences, flag);
    if (flag === Flag.take) {
      const undone = replies.map((reply) => undo(reply, isKept, slot, resetsBefore));
      background?.waitUntil(Promise.all(undone));
      if (decision.allowed && slot) decision = withHold(decision, replies, isKept, slot);
      for (const { part, failure } of silences) {
        const { replies, unreleased, missed } = part.isolate;
        const options = { replies, unreleased, slot, background, refusedGroups: refused };
        decision = missed.note(decision, part.requests, failure, options);
      }
    }
    const [silence] = silences;
    return { decision, ...(silence && { failure: silence.failure.code }) };
  }

  /** What was charged although the request, or the group of a key, was refused. Never rejects because of a place. */
  async function undo(
    { part, requests, replies, reply, unspend }: PartReply,
    isKept: (group: number) => boolean,
    slot: number,
    resetsBefore: number,
  ): Promise<void> {
    const charged = chargedInVain(requests, reply, isKept);
    const keys = charged.filter(({ key }) => (lastReset.get(key) ?? 0) <= resetsBefore);
    if (keys.length === 0) return;
    // All policies of a leased request are enforced: nothing of it stays.
    if (unspend) return unspend();
    try {
      await replies.take({ keys, flag: Flag.giveBack, atMs: reply.nowMs, slot });
    } catch (error) {
      failureOf(error);
      // Units lapse with their window. A slot would be held until its timeout: it is given back later.
      if (slot) await holdSlots(keys, { replies, slot, unreleased: part.isolate.unreleased })?.release();
    }
  }

  return {
    decide: async (keys, asked) => await keepAlive(run(partsOf(keys), asked), asked.background),

    async reset(keys) {
      wereReset(keys);
      try {
        await Promise.all(byPlace(keys, placeOf).map(([at, own]) => isolates[at]!.replies.reset(own)));
      } finally {
        // Of what was charged meanwhile it is not known whether the reset has removed it.
        wereReset(keys);
      }
    },
  };
}

/** What the isolate knows to refuse without a call to any place. */
function knownRefusals(parts: readonly Part[], { slot, background, mayLease = true }: Asked): KeysReply[] {
  return parts.flatMap(({ isolate, keys, requests }): KeysReply[] => {
    const known = isolate.refusal({ keys: requests, flag: Flag.take, slot }, background, mayLease);
    return known ? [{ ...known, keys }] : [];
  });
}

async function ask(part: Part, { flag, slot, background, mayLease }: Asked): Promise<PartReply | Silence> {
  const { isolate, keys, requests } = part;
  const { replies, missed } = isolate;
  try {
    const sourced = await replies.take({ keys: requests, flag, ...(slot && { slot }) }, background, mayLease);
    missed.tell(background);
    return { ...sourced, part, keys, requests, replies };
  } catch (error) {
    return { part, failure: failureOf(error) };
  }
}

/** By the isolate's own counters of a silent place. Undefined: no policy wants that. */
async function countHere(part: Part, { flag, slot }: Asked): Promise<PartReply | undefined> {
  const keys = countedWithoutStore(part.keys);
  if (keys.length === 0) return undefined;
  const requests = keys.map(({ request }) => request);
  const replies = part.isolate.fallback;
  return { ...(await replies.take({ keys: requests, flag, ...(slot && { slot }) })), part, keys, requests, replies };
}

function refusedIn({ requests, reply }: PartReply): number[] {
  return [...refusedGroups(requests, reply)];
}

/** The answer that all replies together give. */
function decideBy(replies: readonly KeysReply[], silences: readonly Silence[], flag: Flag): Decision {
  const source = sourceOf(replies, silences);
  // Numbers of the isolate's own counters are not those of the place: they are told as such, or not at all.
  const told = source === "fallback" ? replies : replies.filter((reply) => reply.source !== "fallback");
  return decide(source, inOrder(told.flatMap((reply) => limitsOf(reply, flag))));
}

/**
 * The source that is furthest away of those that have decided: a place, then the own counters in place of a silent one,
 * then a stock, then memory. A refusal is decided by those that refuse. What holds only policies in shadow does not
 * decide, unless there is nothing else.
 */
function sourceOf(replies: readonly KeysReply[], silences: readonly Silence[]): Source {
  const isEnforced = (keys: readonly PolicyKey[]) => keys.some(({ request }) => request.group === ENFORCED);
  const refusing = replies.filter(({ reply }) => !reply.allowed);
  const answers = [
    ...replies,
    ...(refusing.length > 0 ? [] : silences.map(({ part }) => ({ keys: part.keys, source: "fallback" as Source }))),
  ];
  const enforced = answers.filter(({ keys }) => isEnforced(keys));
  const deciding = refusing.length > 0 ? refusing : enforced.length > 0 ? enforced : answers;
  return deciding.map(({ source }) => source).reduce((a, b) => (distanceOf(b) > distanceOf(a) ? b : a));
}

function distanceOf(source: Source): number {
  const at = ["cache", "lease", "fallback"].indexOf(source);
  return at < 0 ? 3 : at;
}

/** The slots of an admitted request, wherever they are held. */
function withHold(
  decision: Decision,
  replies: readonly PartReply[],
  isKept: (group: number) => boolean,
  slot: number,
): Decision {
  const hold = replies.reduce((before: Hold | undefined, { part, requests, replies: at }) => {
    const held = requests.filter(({ group }) => isKept(group));
    // Own counters forget a slot that is not given back after its timeout.
    const unreleased = at === part.isolate.fallback ? undefined : part.isolate.unreleased;
    const one = holdSlots(held, { replies: at, slot, unreleased });
    return one ? bothHolds(before, one) : before;
  }, undefined);
  return hold ? { ...decision, hold } : decision;
}
