/** Glushkov's construction: one position for each character of a pattern, and which positions may follow which. */

import type { Term } from "./term.ts";

/** The positions where a match of a term can begin and end, and whether the term matches the empty text. */
interface Ends {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

export interface Position {
  /** The position takes one of these characters; with `not`, any other character. */
  readonly chars: string;
  readonly not: boolean;
  /** The positions that may come next. */
  readonly follow: Set<number>;
}

interface Positions {
  /** The first position stands for the beginning and takes no character. */
  readonly positions: readonly Position[];
  /** The positions where a match can end. */
  readonly last: readonly number[];
  /** Whether the piece matches the empty text. */
  readonly empty: boolean;
}

export function positionsOf(terms: readonly Term[]): Positions {
  const positions: Position[] = [{ chars: "", not: false, follow: new Set() }];
  const { first, last, empty } = addTo(positions, { all: terms });
  for (const position of first) positions[0]!.follow.add(position);
  return { positions, last, empty };
}

function addTo(positions: Position[], term: Term): Ends {
  if (typeof term === "string") {
    return inTurn(
      positions,
      [...term].map((character) => () => addPosition(positions, character, false)),
    );
  }
  if ("chars" in term) return addPosition(positions, term.chars, term.not);
  if ("all" in term)
    return inTurn(
      positions,
      term.all.map((one) => () => addTo(positions, one)),
    );
  if ("either" in term) {
    const ends = term.either.map((one) => addTo(positions, one));
    return {
      first: ends.flatMap(({ first }) => first),
      last: ends.flatMap(({ last }) => last),
      empty: ends.some(({ empty }) => empty),
    };
  }
  const ends = addTo(positions, term.repeat);
  if (term.many) join(positions, ends, ends);
  return { ...ends, empty: ends.empty || term.optional };
}

function addPosition(positions: Position[], chars: string, not: boolean): Ends {
  const at = positions.push({ chars, not, follow: new Set() }) - 1;
  return { first: [at], last: [at], empty: false };
}

function inTurn(positions: Position[], adds: readonly (() => Ends)[]): Ends {
  return adds.reduce<Ends>(
    (before, add) => {
      const behind = add();
      join(positions, before, behind);
      return {
        first: before.empty ? [...before.first, ...behind.first] : before.first,
        last: behind.empty ? [...before.last, ...behind.last] : behind.last,
        empty: before.empty && behind.empty,
      };
    },
    { first: [], last: [], empty: true },
  );
}

function join(positions: readonly Position[], { last }: Ends, { first }: Ends): void {
  for (const from of last) for (const to of first) positions[from]!.follow.add(to);
}
