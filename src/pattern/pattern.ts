/** A compiled pattern. A test takes time linear in the text; all tests of one request share one bound on their work. */

import { compileSearch, type Work } from "./automaton.ts";
import { parsePattern } from "./parse.ts";
import { ANY, type PatternKind, sizeOf, type Term } from "./term.ts";

/** A path or a host in its normal form, lower case. */
export interface Subject {
  readonly text: string;
  /** A path with a slash at its end, which matches as well; for a host and for the path `/` the text itself. */
  readonly longer: string;
}

/** `perhaps`: the fixed text matches at both ends, and no work was left to test the rest. */
export type Verdict = "yes" | "no" | "perhaps";

export type Test = (subject: Subject, work: Work) => Verdict;

/** In characters: a pattern with a larger piece than this is compiled when the configuration is read. */
const LARGE = 64;

/** Policies often share a pattern: two of them count the same requests by different keys. */
const compiled = new WeakMap<readonly Term[], Test>();

/**
 * @param pattern a pattern that `parsePattern` accepts.
 * @returns a function that says whether `text` or `longer` of a subject matches.
 */
export function compilePattern(pattern: string, kind: PatternKind): Test {
  const terms = parsePattern(pattern, kind);
  const test = compiled.get(terms) ?? compile(terms);
  compiled.set(terms, test);
  return test;
}

function compile(terms: readonly Term[]): Test {
  const pieces = piecesOf(terms);
  const [head, tail] = [textOf(pieces[0]![0]), textOf(pieces.at(-1)!.at(-1))];
  const last = pieces.length - 1;
  const searchesOf = () => pieces.map((piece) => (isText(piece) ? textOf(piece[0]) : compileSearch(piece)));
  // Compile a small pattern when a request has its fixed text: most patterns never get there. Compiling a large pattern
  // takes milliseconds, which no request should pay: do it now.
  let searches = pieces.some((piece) => sizeOf({ all: piece }) > LARGE) ? searchesOf() : undefined;

  return ({ text, longer }, work) => {
    if (!longer.startsWith(head) || !(text.endsWith(tail) || longer.endsWith(tail))) return "no";
    searches ??= searchesOf();
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

/**
 * Cuts the pattern at each `*` that matches any text. The earliest match of a piece is always the right one: the next
 * piece may begin anywhere behind it.
 */
function piecesOf(terms: readonly Term[]): Term[][] {
  const pieces: Term[][] = [[]];
  for (const term of terms) {
    if (term === ANY) pieces.push([]);
    else pieces.at(-1)!.push(term);
  }
  return pieces;
}

/** Whether a piece is fixed text only. The parser has joined neighbouring texts: such a piece has at most one term. */
function isText(piece: readonly Term[]): boolean {
  return piece.length === 0 || (piece.length === 1 && typeof piece[0] === "string");
}

function textOf(term: Term | undefined): string {
  return typeof term === "string" ? term : "";
}

function endsWith(whole: string, piece: string, from: number, floats: boolean): boolean {
  return floats ? whole.length - piece.length >= from && whole.endsWith(piece) : whole === piece;
}

/** Where the first occurrence of a piece at or after `from` ends; -1: the piece does not occur. */
function endOf(piece: string, text: string, from: number, work: Work): number {
  const at = text.indexOf(piece, from);
  // A character costs at most half as much here as in a search with an automaton.
  work.left -= ((at < 0 ? text.length : at) - from) / 2;
  return at < 0 ? -1 : at + piece.length;
}
