/**
 * A piece of a pattern as positions (Glushkov's construction) and the set of them that a text may have led to, a bit for each position.
 * Each character of the text is looked at once, and moves the whole set: to the next position, to the same one again, and, where
 * something may be left out or repeated, elsewhere.
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
  /** What it takes: one of these characters, or any other one. */
  readonly chars: string;
  readonly not: boolean;
  /** Positions that may come next. */
  readonly follow: Set<number>;
}

/** Normal forms are ASCII. */
const CODES = 128;

export function compileSearch(nodes: readonly Node[]): Search {
  // Position 0 is the beginning, and takes nothing.
  const positions: Position[] = [{ chars: "", not: false, follow: new Set() }];
  const { first, last, empty } = addTo(positions, { all: nodes });
  for (const position of first) positions[0]!.follow.add(position);

  const words = Math.ceil(positions.length / 32);
  const ends = new Int32Array(words);
  /** Bit p: position p may follow itself. */
  const loops = new Int32Array(words);
  /** Bit p: position p may follow the one before it. */
  const chain = new Int32Array(words);
  /** Positions that the same others may follow, by these others, which are neither themselves nor the next ones. */
  const jumps = new Map<string, { readonly from: Int32Array; readonly to: Int32Array }>();
  /** By code: as many words of the positions that take it. */
  const takes = new Int32Array(words * CODES);
  for (const position of last) set(ends, 0, position);
  for (const [position, { chars, not, follow }] of positions.entries()) {
    for (let code = 0; code < CODES; code++) {
      if (chars.includes(String.fromCharCode(code)) !== not) set(takes, code * words, position);
    }
    if (follow.has(position)) set(loops, 0, position);
    if (follow.has(position + 1)) set(chain, 0, position + 1);
    const others = [...follow].filter((next) => next !== position && next !== position + 1);
    if (others.length === 0) continue;
    const jump = jumps.get(others.join()) ?? { from: new Int32Array(words), to: new Int32Array(words) };
    jumps.set(others.join(), jump);
    set(jump.from, 0, position);
    for (const next of others) set(jump.to, 0, next);
  }
  const groups = [...jumps.values()];
  const stepsEach = words * (1 + groups.length);

  return (text, from, floats, notBefore, work) => {
    const active = new Int32Array(words);
    const jumped = new Int32Array(words);
    active[0] = 1;
    let alive = true;
    let ended = empty;
    let at = from;
    let { left } = work;
    while (!(ended && at >= notBefore) && at < text.length && alive && left >= 0) {
      const row = Math.min(text.charCodeAt(at++), CODES - 1) * words;
      for (const jump of groups) {
        for (let word = 0; word < words; word++) {
          if ((active[word]! & jump.from[word]!) === 0) continue;
          for (let i = 0; i < words; i++) jumped[i]! |= jump.to[i]!;
          break;
        }
      }
      alive = floats;
      ended = floats && empty;
      let carry = 0;
      for (let word = 0; word < words; word++) {
        const before = active[word]!;
        const moved = ((before << 1) | carry) & chain[word]!;
        const after = (moved | (before & loops[word]!) | jumped[word]!) & takes[row + word]!;
        carry = before >>> 31;
        jumped[word] = 0;
        active[word] = after;
        if (after !== 0) alive = true;
        if ((after & ends[word]!) !== 0) ended = true;
      }
      if (floats) active[0]! |= 1;
      left -= stepsEach;
    }
    work.left = left;
    return ended && at >= notBefore && left >= 0 ? at : -1;
  };
}

/** Sets a bit of the words from `row` on. */
function set(words: Int32Array, row: number, position: number): void {
  words[row + (position >> 5)]! |= 1 << (position & 31);
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
