/** A pattern, ready to be tested: linear in the text, and with a bound on the work of all patterns of a request. */

import { compileSearch, type Work } from "./automaton.ts";
import { ANY, type Node, type PatternKind, sizeOf } from "./node.ts";
import { parsePattern } from "./parse.ts";

/** A path or a host in its normal form, lower case. */
export interface Subject {
  readonly text: string;
  /** The text with a slash at its end, which matches as well; the text itself if it has no such form. */
  readonly longer: string;
}

/** `perhaps`: its fixed text matches at both ends, and no work was left for the rest. */
export type Verdict = "yes" | "no" | "perhaps";

export type Test = (subject: Subject, work: Work) => Verdict;

/** Characters of a piece: one with as many is compiled when the configuration is read. */
const LARGE = 64;

/** @param pattern one that `parsePattern` takes. @returns what says whether `text` or `longer` matches. */
export function compilePattern(pattern: string, kind: PatternKind): Test {
  const pieces = piecesOf(parsePattern(pattern, kind));
  const [head, tail] = [textOf(pieces[0]![0]), textOf(pieces.at(-1)!.at(-1))];
  const last = pieces.length - 1;
  const compile = () => pieces.map((piece) => (isText(piece) ? textOf(piece[0]) : compileSearch(piece)));
  // Most requests lack the fixed text of most patterns, and never need these. A large one takes milliseconds: no request pays them.
  let searches = pieces.some((piece) => sizeOf({ all: piece }) > LARGE) ? compile() : undefined;

  return ({ text, longer }, work) => {
    if (!longer.startsWith(head) || !(text.endsWith(tail) || longer.endsWith(tail))) return "no";
    searches ??= compile();
    let at = 0;
    for (const [i, piece] of searches.entries()) {
      if (typeof piece !== "string") at = piece(longer, at, i > 0, i === last ? text.length : 0, work);
      else if (i === last) at = [text, longer].some((whole) => endsWith(whole, piece, at, i > 0)) ? at : -1;
      else at = i === 0 ? piece.length : endOf(piece, longer, at, work);
      if (work.left < 0) return "perhaps";
      if (at < 0) return "no";
    }
    return "yes";
  };
}

/** What stands between the `*` that match any text: after the first such piece that fits, the next one may begin anywhere. */
function piecesOf(nodes: readonly Node[]): Node[][] {
  const pieces: Node[][] = [[]];
  for (const node of nodes) {
    if (node === ANY) pieces.push([]);
    else pieces.at(-1)!.push(node);
  }
  return pieces;
}

/** Neighbouring texts are one already. */
function isText(piece: readonly Node[]): boolean {
  return piece.length === 0 || (piece.length === 1 && typeof piece[0] === "string");
}

function textOf(node: Node | undefined): string {
  return typeof node === "string" ? node : "";
}

function endsWith(whole: string, piece: string, from: number, floats: boolean): boolean {
  return floats ? whole.length - piece.length >= from && whole.endsWith(piece) : whole === piece;
}

/** Where the first occurrence from `from` on ends; -1 if there is none. */
function endOf(piece: string, text: string, from: number, work: Work): number {
  const at = text.indexOf(piece, from);
  // At worst half as dear as a step of a search.
  work.left -= ((at < 0 ? text.length : at) - from) / 2;
  return at < 0 ? -1 : at + piece.length;
}
