/**
 * Finds where a piece of a pattern matches: a nondeterministic automaton with one bit for each position of the piece.
 * A set bit means: the text read up to here can end at this position. The search reads each character of the text once.
 * A character moves all bits at once: to the next position, to the same position again, or, where a part is optional or
 * repeats, to another position.
 */

import { positionsOf } from "./positions.ts";
import type { Term } from "./term.ts";

/** The steps that the matching of one request may still take; below 0: the matching was given up. */
export interface Work {
  left: number;
}

/**
 * Returns where the match that ends first ends; -1: nothing matches, or no work is left.
 *
 * @param from index in the text where the match begins. @param floats true: the match begins at `from` or later.
 * @param notBefore a match that ends before this index does not count.
 */
type Search = (text: string, from: number, floats: boolean, notBefore: number, work: Work) => number;

/** The normal forms of paths and hosts are ASCII. */
const CODES = 128;
const ALL_CODES = Array.from({ length: CODES }, (_, code) => code);

export function compileSearch(terms: readonly Term[]): Search {
  const { positions, last, empty } = positionsOf(terms);
  const words = Math.ceil(positions.length / 32);
  const ends = new Int32Array(words);
  /** Bit p: position p may follow position p. */
  const loops = new Int32Array(words);
  /** Bit p: position p may follow position p - 1. */
  const chain = new Int32Array(words);
  /** All other moves, by their targets: positions with the same targets share one entry. */
  const jumps = new Map<string, { readonly from: Int32Array; readonly to: Int32Array }>();
  /** One row of `words` words for each character code: the positions that take this character. */
  const takes = new Int32Array(words * CODES);
  for (const position of last) set(ends, 0, position);
  /** The codes of each class of characters: most positions of a repetition share one class. */
  const codesOf = new Map<string, readonly number[]>();
  for (const [position, { chars, not, follow }] of positions.entries()) {
    const taken = `${not}${chars}`;
    const codes = codesOf.get(taken) ?? ALL_CODES.filter((code) => chars.includes(String.fromCharCode(code)) !== not);
    codesOf.set(taken, codes);
    for (const code of codes) set(takes, code * words, position);
    if (follow.has(position)) set(loops, 0, position);
    if (follow.has(position + 1)) set(chain, 0, position + 1);
    const others = [...follow].filter((next) => next !== position && next !== position + 1);
    if (others.length === 0) continue;
    const key = others.join();
    let jump = jumps.get(key);
    if (!jump) {
      jump = { from: new Int32Array(words), to: new Int32Array(words) };
      for (const next of others) set(jump.to, 0, next);
      jumps.set(key, jump);
    }
    set(jump.from, 0, position);
  }
  const groups = [...jumps.values()];
  const stepsEach = words * (1 + groups.length);

  // Most pieces fit into one word. The loop runs for every character of a path: without arrays it takes half the time.
  if (words === 1) {
    const [end, loop, next] = [ends[0]!, loops[0]!, chain[0]!];
    return (text, from, floats, notBefore, work) => {
      const begin = Number(floats);
      let active = 1;
      let ended = empty;
      let at = from;
      let { left } = work;
      while (!(ended && at >= notBefore) && at < text.length && active !== 0 && left >= 0) {
        let after = ((active << 1) & next) | (active & loop);
        for (let i = 0; i < groups.length; i++) if ((active & groups[i]!.from[0]!) !== 0) after |= groups[i]!.to[0]!;
        after &= takes[Math.min(text.charCodeAt(at++), CODES - 1)]!;
        active = after | begin;
        ended = (after & end) !== 0 || (floats && empty);
        left -= stepsEach;
      }
      work.left = left;
      return ended && at >= notBefore && left >= 0 ? at : -1;
    };
  }

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

function set(words: Int32Array, row: number, position: number): void {
  words[row + (position >> 5)]! |= 1 << (position & 31);
}
