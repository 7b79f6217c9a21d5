/**
 * Several places as one taker. Each place answers for its own lines, all places at once, also in an outage. What a
 * place has charged although another one refused is given back after the answer.
 */

import type { Source } from "../../kernel/core/decision.ts";
import { ENFORCED, Flag, hashTagOf } from "../../kernel/core/layout.ts";
import { groupBy } from "../../kernel/group-by.ts";
import type { PlaceTaker } from "../../kernel/place/isolate.ts";
import {
  type Answer,
  type Call,
  type Inquiry,
  keepAlive,
  type Line,
  type PartReply,
  type Taken,
  type Taker,
  undo,
} from "../../kernel/place/taker.ts";

/**
 * How long a reply of a place may refuse other requests, in milliseconds. The units that left no room may belong to a
 * request that another place has refused. They come back after a round trip.
 */
export const TRUSTED_MS = 1_000;

/** The lines of a request that lie in one place; in a Redis Cluster, those that lie in one of its hash slots. */
interface PlaceLines<L extends Line> {
  readonly place: number;
  readonly ask: Inquiry<L>;
}

/**
 * @param takers one for each place. @param placeOf the position in `takers` of the place where a key lies.
 * @param clusters the positions of places that are a Redis Cluster, as far as it is known.
 */
export function overPlaces(
  takers: readonly PlaceTaker[],
  placeOf: (key: string) => number,
  clusters: Set<number>,
): Taker {
  function partsOf<L extends Line>(ask: Inquiry<L>): PlaceLines<L>[] {
    return groupBy(ask.lines, ({ request }) => placeOf(request.key)).flatMap(([place, lines]) => {
      const part = { place, ask: { ...ask, lines } };
      return clusters.has(place) ? byHashSlot(part) : [part];
    });
  }

  /** Keys with the same tag lie in the same hash slot. */
  function byHashSlot<L extends Line>({ place, ask }: PlaceLines<L>): PlaceLines<L>[] {
    const groups = groupBy(ask.lines, ({ request }) => hashTagOf(request.key));
    return groups.map(([, lines]) => ({ place, ask: { ...ask, lines } }));
  }

  /** Asks a place. A cluster with the keys in several hash slots has charged nothing: each hash slot is asked. */
  async function askPart<L extends Line>(part: PlaceLines<L>, call: Call): Promise<Answer<L>[]> {
    const answer = await takers[part.place]!.take(part.ask, { ...call, isPart: true, mayBeApart: true });
    if (answer.outcome !== "apart") return [answer];
    clusters.add(part.place);
    const each = byHashSlot(part).map((one) => takers[one.place]!.take(one.ask, { ...call, isPart: true }));
    return await Promise.all(each);
  }

  async function run<L extends Line>(ask: Inquiry<L>, call: Call): Promise<Answer<L>> {
    const parts = partsOf(ask);
    const known = ask.flag === Flag.take && parts.length > 1 ? await knownOf(parts, call) : undefined;
    if (known) return known;
    const answers = (await Promise.all(parts.map((part) => askPart(part, call)))).flat();
    return concluded(ask, answers, call);
  }

  /**
   * What the isolate knows to refuse without a call to any place. Every part must be known: the limit of a place that
   * was not asked may refuse for longer.
   */
  async function knownOf<L extends Line>(parts: readonly PlaceLines<L>[], call: Call): Promise<Answer<L> | undefined> {
    const refusals = await Promise.all(parts.map(({ place, ask }) => takers[place]!.known(ask, call)));
    if (refusals.every((refusal) => refusal === undefined)) return undefined;
    const known = parts.flatMap(({ place, ask }, p) => refusals[p] ?? takers[place]!.beside(ask) ?? []);
    return known.length === parts.length ? { ...combined(known), outcome: "refused" } : undefined;
  }

  return {
    take: async (ask, call) => await keepAlive(run(ask, call), call.background),
    known: async (ask, call) => await knownOf(partsOf(ask), call),
    surelyRefuses: (line) => takers[placeOf(line.request.key)]!.surelyRefuses(line),
    returned(keys) {
      for (const [place, own] of groupBy(keys, placeOf)) takers[place]!.returned(own);
    },
    async reset(keys) {
      await Promise.all(groupBy(keys, placeOf).map(([place, own]) => takers[place]!.reset(own)));
    },
    async close(withinMs) {
      await Promise.all(takers.map((one) => one.close(withinMs)));
    },
  };
}

/** The answer of all places together, and what is given back. */
function concluded<L extends Line>(ask: Inquiry<L>, answers: readonly Answer<L>[], call: Call): Answer<L> {
  const answer = combined(answers);
  if (ask.flag !== Flag.take) return answer;
  const refused = answer.outcome === "admitted" ? refusedGroups(ask, answers) : undefined;
  const [kept, inVain] = partOf(answer.taken, (group) => refused !== undefined && !refused.has(group));
  for (const { by } of kept) by.keep?.(call.background);
  if (inVain.length === 0) return { ...answer, taken: kept };
  const undone = undo(inVain, call);
  keepAlive(undone, call.background);
  return { ...answer, taken: kept, undone };
}

function combined<L extends Line>(answers: readonly Answer<L>[]): Answer<L> {
  const source = sourceOf(answers);
  const failed = answers.filter(({ failure }) => failure !== undefined);
  const [first] = failed;
  // The isolate's own counts do not have the numbers of the place. Clients see them only with the source `fallback`.
  const isHidden = (one: PartReply<L>) => one.source === "fallback" && source !== "fallback";
  const replies = answers.flatMap((answer) => answer.replies);
  const hidden = replies.filter(isHidden);
  return {
    outcome: outcomeOf(answers),
    source,
    atMs: answers.find(({ atMs }) => atMs > 0)?.atMs ?? 0,
    replies: replies.filter((one) => !isHidden(one)),
    ...(hidden.length > 0 && { hidden }),
    taken: answers.flatMap(({ taken }) => taken),
    ...(first && { failure: first.failure!, unanswered: failed.flatMap(({ unanswered }) => unanswered ?? []) }),
  };
}

/** What a store refuses stays refused, whatever a place without an answer holds. */
function outcomeOf(answers: readonly Answer[]): Answer["outcome"] {
  if (answers.some(({ outcome, source }) => outcome === "refused" && source !== "fallback")) return "refused";
  for (const outcome of ["unavailable", "refused"] as const) {
    if (answers.some((one) => one.outcome === outcome)) return outcome;
  }
  return "admitted";
}

/** The policies in shadow that some place has not charged. */
function refusedGroups({ lines }: Inquiry, answers: readonly Answer[]): ReadonlySet<number> {
  if (lines.every(({ request }) => request.group === ENFORCED)) return new Set();
  const charged = new Set(
    answers.flatMap(({ taken }) => taken.flatMap(({ receipts }) => receipts.map(({ key }) => key))),
  );
  return new Set(lines.flatMap(({ request: { key, group } }) => (charged.has(key) ? [] : [group])));
}

/** What was charged, in two: for groups that keep it, and for the others. */
function partOf(taken: readonly Taken[], isKept: (group: number) => boolean): readonly [kept: Taken[], rest: Taken[]] {
  const only = (isWanted: boolean) =>
    taken.flatMap((one) => {
      const receipts = one.receipts.filter(({ group }) => isKept(group) === isWanted);
      return receipts.length > 0 ? [{ ...one, receipts }] : [];
    });
  return [only(true), only(false)];
}

/**
 * The source that is furthest away of those that have decided: a place, then the own counts in its stead, then leased
 * units, then memory. A refusal is decided by those that refuse. An answer about policies in shadow alone decides only
 * if there is no other answer.
 */
function sourceOf(answers: readonly Answer[]): Source {
  const isEnforced = ({ request }: Line) => request.group === ENFORCED;
  const refusing = answers.filter(({ outcome }) => outcome === "refused");
  // Own counts are the answer only if nothing else refuses.
  const heard = refusing.filter(({ source }) => source !== "fallback");
  const enforced = answers.filter(({ replies, unanswered = [] }) =>
    [...replies.flatMap(({ lines }) => lines), ...unanswered].some(isEnforced),
  );
  const deciding = [heard, refusing, enforced, answers].find(({ length }) => length > 0)!;
  return deciding.map(({ source }) => source).reduce((a, b) => (distanceOf(b) > distanceOf(a) ? b : a));
}

function distanceOf(source: Source): number {
  const nearest = ["cache", "lease", "shared", "fallback"];
  const at = nearest.indexOf(source);
  return at < 0 ? nearest.length : at;
}
