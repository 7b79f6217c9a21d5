/**
 * Parses the regular expression of a group. It supports what can be matched in linear time: characters, classes,
 * alternatives, groups and repetitions.
 */

import { ASCII, ONE, PatternMistake, sizeOf, type Term } from "./term.ts";
import { decodePlain } from "./text.ts";

/** The most characters of a group with its repetitions written out: it bounds the work for each character of a path. */
const MAX_SIZE = 250;

/** By letter. Finding them takes as long as parsing the rest of a pattern. */
const classes = new Map<string, string>();

/** The characters of `\d`, `\D`, `\w`, `\W`, `\s` or `\S`. */
function charsOf(letter: string): string {
  let chars = classes.get(letter);
  if (chars === undefined) {
    const regexp = new RegExp(`\\${letter}`);
    chars = ASCII.filter((character) => regexp.test(character)).join("");
    classes.set(letter, chars);
  }
  return chars;
}

/** The printable characters from one to another. */
function range(from: string, to: string): string {
  const [first, last] = [from, to].map((end) => end.charCodeAt(0) - ASCII[0]!.charCodeAt(0));
  return ASCII.slice(Math.max(0, first!), Math.max(0, last! + 1)).join("");
}

/** @throws {PatternMistake} for text that is not a regular expression, or not a supported one. */
export function parseRegexp(source: string): Term {
  if (decodePlain(source) !== source) throw unsupported();
  let at = 0;

  // A call of a regular expression costs more than the rest of reading a character: compare where that is enough.
  function skip(text: string): boolean {
    const isNext = source.startsWith(text, at);
    if (isNext) at += text.length;
    return isNext;
  }

  function take(regexp: RegExp): RegExpExecArray | null {
    regexp.lastIndex = at;
    const found = regexp.exec(source);
    if (found) at += found[0].length;
    return found;
  }

  function alternatives(): Term {
    const either = [sequence()];
    while (skip("|")) either.push(sequence());
    return either.length === 1 ? either[0]! : { either };
  }

  function sequence(): Term {
    const all: Term[] = [];
    while (at < source.length && source[at] !== "|" && source[at] !== ")") all.push(repeated(atom()));
    return { all };
  }

  /** A term and the repetition behind it. A lazy repetition matches the same texts as a greedy one. */
  function repeated(term: Term): Term {
    const isRepeated = at < source.length && "*+?{".includes(source[at]!);
    const found = isRepeated && take(/(?:([*+?])|\{(\d{1,4})(,?)(\d{0,4})\})\??/y);
    if (!found) return term;
    const [, sign, least = "", comma, most = ""] = found;
    if (sign) return { repeat: term, optional: sign !== "+", many: sign !== "?" };
    const [min, max] = [Number(least), comma ? Number(most || least) : Number(least)];
    const size = sizeOf(term);
    if (max < min || max * size > MAX_SIZE) throw tooLarge();
    // A term that only matches the empty text stays the same however often it repeats, and its size bounds nothing.
    if (size === 0) return term;
    // Write a{1,3} as a(?:a(?:a)?)? and not as aa?a?: each position has one possible successor, and not all later ones.
    let rest: Term = comma && !most ? { repeat: term, optional: true, many: true } : { all: [] };
    for (let i = max; i > min; i--) rest = { repeat: { all: [term, rest] }, optional: true, many: false };
    return { all: [...Array<Term>(min).fill(term), rest] };
  }

  function atom(): Term {
    if (skip("(?:")) {
      const group = alternatives();
      if (!skip(")")) throw unsupported();
      return group;
    }
    if (skip(".")) return ONE;
    if (skip("[")) {
      const not = skip("^");
      return { chars: members(), not };
    }
    const escaped = source[at] === "\\" && take(/\\([DWS])/y)?.[1];
    if (escaped) return { chars: charsOf(escaped.toLowerCase()).toLowerCase(), not: true };
    return { chars: characters(/[^\\^$*+?{}()[\]|]/y).toLowerCase(), not: false };
  }

  /** One character, or all characters that an escape stands for. */
  function characters(plain: RegExp): string {
    if (source[at] !== "\\") return (take(plain) ?? fail())[0];
    const [, letter, any] = take(/\\(?:([dwsDWS])|([^\w]))/y) ?? fail();
    return letter ? charsOf(letter) : any!;
  }

  /** The characters of a class, read from behind its opening bracket. */
  function members(): string {
    let chars = "";
    const plain = /(?!&&|--|\[)[^\]\\]/y;
    while (!skip("]")) {
      const from = characters(plain);
      if (source.startsWith("-]", at) || !skip("-")) {
        chars += from;
        continue;
      }
      const to = characters(plain);
      if (from.length !== 1 || to.length !== 1 || to < from) throw unsupported();
      chars += range(from, to);
    }
    return chars.toLowerCase();
  }

  const term = alternatives();
  if (at < source.length) throw unsupported();
  if (sizeOf(term) > MAX_SIZE) throw tooLarge();
  return term;
}

function fail(): never {
  throw unsupported();
}

function unsupported(): PatternMistake {
  return new PatternMistake(
    'groups of characters, classes, alternatives and repetitions only, as in "/:id(\\\\d+)" or "/(a|b)": other groups cannot be matched in linear time, or never match',
  );
}

function tooLarge(): PatternMistake {
  return new PatternMistake(`groups of at most ${MAX_SIZE} characters once their repetitions are written out`);
}
