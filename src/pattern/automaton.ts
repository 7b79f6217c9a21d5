/**
 * A piece of a pattern as positions (Glushkov's construction) and the set of them that a text may have led to. Each character of the
 * text is looked at once, and costs at most as many steps as positions follow one another in the piece.
 */

import type { Node } from "./node.ts";

/** What may still be spent on a request's matching, in steps; below 0: it was given up. */
export interface Work {
  left: number;
}

/**
 * Where a match ends, of those that end first; -1 if there is none, or no work is left.
 *
 * @param from where a match begins; if it `floats`, there or later. @param notBefore ends before it do not count.
 */
export type Search = (text: string, from: number, floats: boolean, notBefore: number, work: Work) => number;

/** Positions at which a match of a node begins and ends, and whether it matches the empty text. */
interface Ends {
  readonly first: readonly number[];
  readonly last: readonly number[];
  readonly empty: boolean;
}

interface Position {
  /** The only character that it takes; -1: those of `taken`. */
  readonly code: number;
  /** By code: 1 if it takes the character. */
  readonly taken: Uint8Array;
  /** Positions that may come next. */
  readonly follow: Set<number>;
}

export function compileSearch(nodes: readonly Node[]): Search {
  const positions: Position[] = [];
  const { first, last, empty } = addTo(positions, { all: nodes });
  const codes = positions.map(({ code }) => code);
  const taken = positions.map((position) => position.taken);
  const follow = positions.map((position) => [...position.follow]);
  const isLast = positions.map((_, position) => last.includes(position));

  return (text, from, floats, notBefore, work) => {
    /** By position: one more than the index at which it was reached last. */
    const reached = new Int32Array(positions.length);
    let active: number[] = [];
    let ended = empty;
    for (let at = from; ; at++) {
      if (ended && at >= notBefore) return at;
      const starts = floats || at === from;
      if (at >= text.length || work.left < 0 || (active.length === 0 && !starts)) return -1;
      const code = text.charCodeAt(at);
      const next: number[] = [];
      ended = floats && empty;
      let steps = 1;
      for (let i = starts ? -1 : 0; i < active.length; i++) {
        const targets = i < 0 ? first : follow[active[i]!]!;
        steps += targets.length;
        for (const position of targets) {
          if (reached[position] === at + 1) continue;
          const only = codes[position]!;
          if (only < 0 ? taken[position]![code] !== 1 : only !== code) continue;
          reached[position] = at + 1;
          next.push(position);
          ended ||= isLast[position]!;
        }
      }
      active = next;
      work.left -= steps;
    }
  };
}

function addTo(positions: Position[], node: Node): Ends {
  if (typeof node === "string") {
    return inTurn(
      positions,
      [...node].map((character) => () => addPosition(positions, character.charCodeAt(0))),
    );
  }
  if ("chars" in node) {
    const taken = Uint8Array.from({ length: 128 }, (_, code) => {
      return Number(node.chars.includes(String.fromCharCode(code)) !== node.not);
    });
    return addPosition(positions, -1, taken);
  }
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

const NONE = new Uint8Array();

function addPosition(positions: Position[], code: number, taken = NONE): Ends {
  const at = positions.push({ code, taken, follow: new Set() }) - 1;
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
