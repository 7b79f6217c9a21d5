/** Whether more was admitted than a limit. */

import { ms } from "../words.ts";
import { type Change, describe, givenBack, type Keyed, nameOf, type Piece, piecesOf } from "./keyed.ts";

/** A request surely holds its units from its answer until it begins to settle. */
export function exceeded(one: Keyed): string[] {
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const pieces = all.filter(({ isAlone }) => !isAlone);
  let held = 0;
  for (const { at, units } of changesOf(pieces, given)) {
    held += units;
    if (held > one.policy.limit) return [aboveLimit(one, pieces, given, at, held, "")];
  }
  return [];
}

/**
 * What an isolate admits alone it counts by itself, until an answer of the place replaces its counters. A slot stays
 * with the counters that gave it.
 */
export function exceededAlone(one: Keyed): string[] {
  const { policy } = one;
  if (policy.onStoreFailure !== "local") return [];
  const all = piecesOf(one);
  const given = givenBack(all, one);
  const alone = all.filter(({ isAlone }) => isAlone);
  return [...Map.groupBy(alone, ({ decision }) => decision.isolate)].flatMap(([isolate, own]) => {
    const answers = one.calls.flatMap((call) => (call.isolate === isolate && call.output ? [call.return!] : []));
    const outages =
      policy.counts === "slots"
        ? [own]
        : partedBy(
            own,
            answers.toSorted((a, b) => a - b),
          );
    return outages.flatMap((pieces) => {
      let held = 0;
      for (const { at, units } of changesOf(pieces, given)) {
        held += units;
        const who = `isolate ${isolate} alone: `;
        if (held > policy.limit) return [aboveLimit(one, pieces, given, at, held, who)];
      }
      return [];
    });
  });
}

/** The pieces between two answers each. One that an answer overtook belongs to neither side. */
function partedBy(pieces: readonly Piece[], answers: readonly number[]): Piece[][] {
  const before = (at: number) => answers.findLastIndex((answer) => answer < at);
  const whole = pieces.filter(({ decision }) => before(decision.call) === before(decision.return));
  return [...Map.groupBy(whole, ({ decision }) => before(decision.call)).values()];
}

function changesOf(pieces: readonly Piece[], given: ReadonlyMap<Piece, Change>): (Change & { piece: Piece })[] {
  const changes = pieces.flatMap((piece) => {
    const back = given.get(piece);
    const taken = { at: piece.decision.return, units: piece.units, piece };
    return back ? [taken, { at: back.at, units: -back.units, piece }] : [taken];
  });
  return changes.toSorted((a, b) => a.at - b.at);
}

function aboveLimit(
  one: Keyed,
  pieces: readonly Piece[],
  given: ReadonlyMap<Piece, Change>,
  at: number,
  held: number,
  who: string,
): string {
  const holding = pieces.flatMap((piece) => {
    const back = given.get(piece);
    const units = back && back.at <= at ? piece.units - back.units : piece.units;
    return piece.decision.return <= at && units > 0 ? [`  ${units} by ${describe(piece.decision)}`] : [];
  });
  const { limit, counts } = one.policy;
  return [`${who}${nameOf(one)}: at ${ms(at)} admitted requests hold ${held} ${counts} of ${limit}`, ...holding].join(
    "\n",
  );
}
