/** A piece of a pattern as positions, one for each character that it may match, and what may follow what (Glushkov's construction). */

import type { Node } from "./node.ts";

/** Positions at which a match of a node begins and ends, and whether it matches the empty text. */
interface Ends {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

export interface Position {
  /** What it takes: one of these characters, or any other one. */
  readonly chars: string;
  readonly not: boolean;
  /** Positions that may come next. */
  readonly follow: Set<number>;
}

interface Positions {
  /** The first one is the beginning, and takes nothing. */
  readonly positions: readonly Position[];
  /** Positions at which a match may end. */
  readonly last: readonly number[];
  /** Whether the empty text matches. */
  readonly empty: boolean;
}

export function positionsOf(nodes: readonly Node[]): Positions {
  const positions: Position[] = [{ chars: "", not: false, follow: new Set() }];
  const { first, last, empty } = addTo(positions, { all: nodes });
  for (const position of first) positions[0]!.follow.add(position);
  return { positions, last, empty };
}

function addTo(positions: Position[], node: Node): Ends {
  if (typeof node === "string") {
    return inTurn(
      positions,
      [...node].map((character) => () => addPosition(positions, character, false)),
    );
  }
  if ("chars" in node) return addPosition(positions, node.chars, node.not);
  if ("all" in node)
    return inTurn(
      positions,
      node.all.map((one) => () => addTo(positions, one)),
    );
  if ("either" in node) {
    const ends = node.either.map((one) => addTo(positions, one));
    return {
      first: ends.flatMap(({ first }) => first),
      last: ends.flatMap(({ last }) => last),
      empty: ends.some(({ empty }) => empty),
    };
  }
  const ends = addTo(positions, node.repeat);
  if (node.many) join(positions, ends, ends);
  return { ...ends, empty: ends.empty || node.optional };
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
