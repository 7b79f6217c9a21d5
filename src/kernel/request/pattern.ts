/**
 * Patterns of paths and hosts: fixed text, `*` for any text, `:name` for a whole segment of a path or a whole label of
 * a host. A test never tries a second way to match: its time is at most the length of the text times that of the
 * pattern.
 */

import { BoundedMap } from "../bounded-map.ts";
import { hostText, PatternMistake, pathText } from "./text.ts";

/** What the pattern is matched with. */
export type PatternKind = "path" | "host";

/** `*` and `:name` in a pattern that has been read: characters that no normal form of a path or a host has. */
export const ANY = "\u0000";
export const NAME = "\u0001";

const SEPARATOR = { path: "/", host: "." } as const;

/** More patterns than configurations have; others are read again. */
const REMEMBERED = { maxSize: 1_000 };
/** A pattern is checked, compared and compiled, and all of this within the first request of an isolate. */
const patterns = {
  path: new BoundedMap<string, string>(REMEMBERED),
  host: new BoundedMap<string, string>(REMEMBERED),
};

/**
 * Reads a pattern.
 *
 * @returns its fixed text in the normal form that requests get, with `ANY` and `NAME` between: the same text for two
 * spellings of one pattern.
 * @throws {PatternMistake} for text that is not a pattern, and for a pattern that no request can match.
 */
export function parsePattern(pattern: string, kind: PatternKind): string {
  const known = patterns[kind].get(pattern);
  if (known !== undefined) return known;
  const parsed = kind === "path" ? parsePath(pattern) : parseHost(pattern);
  patterns[kind].set(pattern, parsed);
  return parsed;
}

/** A pattern of names of calls, in which `*` stands for any text, as `parsePattern` returns patterns. */
export function namePattern(pattern: string): string {
  return pattern.toLowerCase().replaceAll("*", ANY);
}

function parsePath(pattern: string): string {
  const parsed = parse(pattern, "path", pathText);
  if (!parsed.startsWith("/") && !parsed.startsWith(ANY)) throw new PatternMistake();
  if (/\/\.\.?(?:\/|$)/.test(parsed)) {
    throw new PatternMistake(
      'a path that requests can match: it begins with "/" and has no "." or ".." between slashes',
    );
  }
  return parsed;
}

function parseHost(pattern: string): string {
  if (/^\[[^\]\\]*\]$/.test(pattern)) return hostText(pattern, true, true);
  if (/\/|\\:|:\d/.test(pattern)) throw new PatternMistake("a host name without scheme, port and path");
  const parsed = parse(pattern, "host", hostText);
  if (parsed.startsWith(".") || parsed.endsWith(".")) {
    throw new PatternMistake("a host name that requests can match: no dot at its ends");
  }
  return parsed;
}

/** A character behind a backslash, a wildcard, a character that begins something else, or plain text. */
const PART = /\\.|\*\*?|:[A-Za-z_$][\w$]*|[(){}+?:\\]|[^\\*:(){}+?]+/gsu;

/** @param normal gives a fixed text its normal form. It is told whether the pattern begins, and ends, with the text. */
function parse(pattern: string, kind: PatternKind, normal: typeof hostText): string {
  if (pattern === "") throw new PatternMistake();
  if (pattern.trim() !== pattern) throw new PatternMistake("a pattern without white space at its ends");
  const texts = [""];
  const wildcards: string[] = [];
  for (const [part] of pattern.matchAll(PART)) {
    const isName = part.startsWith(":") && part.length > 1;
    if (part === "*" || isName) {
      wildcards.push(isName ? NAME : ANY);
      texts.push("");
    } else if (/^(?:[({}+?:\\]|\*\*|\\\w)$/.test(part)) {
      throw new PatternMistake(expectedFor(part, kind));
    } else {
      texts[texts.length - 1] += part.startsWith("\\") ? part.slice(1) : part;
    }
  }
  const last = texts.length - 1;
  const parsed = texts.map((text, i) => normal(text, i === 0, i === last) + (wildcards[i] ?? "")).join("");
  const separator = SEPARATOR[kind];
  for (let at = parsed.indexOf(NAME); at >= 0; at = parsed.indexOf(NAME, at + 1)) {
    const [before = separator, behind = separator] = [parsed[at - 1], parsed[at + 1]];
    if (before !== separator || behind !== separator) throw new PatternMistake(expectedFor(":", kind));
  }
  return parsed;
}

/** What to write in place of a part that is refused. */
function expectedFor(part: string, kind: PatternKind): string {
  const [segment, several, example] =
    kind === "path"
      ? ["segment", '["/a", "/b"]', '"/users/:id/posts"']
      : ["label", '["a.example.com", "b.example.com"]', '":tenant.example.com"'];
  const encoded = `%${part.charCodeAt(0).toString(16).toUpperCase()}`;
  const itself = kind === "path" ? `. The character itself is ${encoded}` : "";
  const wildcards = `:name for a whole ${segment}, or * for any text`;
  switch (part) {
    case ":":
      return `:name as a whole ${segment}, as in ${example}; * stands for a part of one, or for several${itself}`;
    case "(":
      return `a pattern without groups and regular expressions: write ${wildcards}, or a list such as ${several}${itself}`;
    case "?":
      return `a pattern without "?": queries are not matched, and what is optional needs a list such as ${several}${itself}`;
    case "**":
      return "a pattern without **: one * stands for any text";
    case "+":
      return `a pattern without "+": * stands for one ${segment} or several${itself}`;
    case "{":
    case "}":
      return `a pattern without braces: write a list such as ${several}, with and without what is optional${itself}`;
    default:
      return `a pattern without classes of characters such as \\d: write ${wildcards}${itself}`;
  }
}

/** A path or a host in its normal form, lower case. */
export interface Subject {
  /** A path with a slash at its end. */
  readonly text: string;
  /** Where the text may end, too: before that slash. */
  readonly shorter: number;
}

/** @returns a function that says whether the pattern matches one spelling of a subject. */
export function compilePattern(pattern: string, kind: PatternKind): (subject: Subject) => boolean {
  const matches = compileText(parsePattern(pattern, kind), SEPARATOR[kind]);
  return ({ text, shorter }) => matches(text, shorter);
}

/**
 * @param parsed fixed text, `ANY` and `NAME`. @param separator what `NAME` does not match.
 * @returns a function that says whether a text matches, whole or up to `shorter`.
 */
export function compileText(parsed: string, separator = ""): (text: string, shorter?: number) => boolean {
  // Between each two texts of a piece there is a name.
  const pieces = parsed.split(ANY).map((piece) => piece.split(NAME));
  const first = pieces[0]!;
  const last = pieces.at(-1)!;
  const middle = pieces.slice(1, -1);
  return (text, shorter = text.length) => {
    let at = endOf(first, text, 0, separator);
    if (pieces.length === 1) return at === text.length || at === shorter;
    if (at < 0) return false;
    const end = Math.max(beginOf(last, text, shorter, separator), beginOf(last, text, text.length, separator));
    // The earliest match of a piece is always the right one: the next piece may begin anywhere behind it.
    for (let i = 0; i < middle.length && at >= 0 && at <= end; i++) at = endOfFound(middle[i]!, text, at, separator);
    return at >= 0 && at <= end;
  };
}

/** Where the match of a piece that begins at `at` ends; -1: none begins there. */
function endOf(piece: readonly string[], text: string, at: number, separator: string): number {
  let end = at;
  for (let i = 0; i < piece.length; i++) {
    if (i > 0) {
      const begin = end;
      while (end < text.length && text[end] !== separator) end++;
      if (end === begin) return -1;
    }
    if (!hasAt(text, piece[i]!, end)) return -1;
    end += piece[i]!.length;
  }
  return end;
}

/** Where the earliest match of a piece that begins at `from` or later ends; -1: there is none. */
function endOfFound(piece: readonly string[], text: string, from: number, separator: string): number {
  for (let at = text.indexOf(piece[0]!, from); at >= 0; at = text.indexOf(piece[0]!, at + 1)) {
    const end = endOf(piece, text, at, separator);
    if (end >= 0) return end;
  }
  return -1;
}

/** Where the match of a piece that ends at `at` begins; -1: none ends there. */
function beginOf(piece: readonly string[], text: string, at: number, separator: string): number {
  let begin = at;
  for (let i = piece.length - 1; i >= 0; i--) {
    if (i < piece.length - 1) {
      const end = begin;
      while (begin > 0 && text[begin - 1] !== separator) begin--;
      if (begin === end) return -1;
    }
    begin -= piece[i]!.length;
    if (begin < 0 || !hasAt(text, piece[i]!, begin)) return -1;
  }
  return begin;
}

/** As `startsWith`, which takes several times as long for a short text. */
function hasAt(text: string, one: string, at: number): boolean {
  let i = 0;
  while (i < one.length && text[at + i] === one[i]) i++;
  return i === one.length;
}

/** Whether some text matches both patterns. A path matches them with or without a slash at its end. */
export function canBothMatch(one: string, other: string, kind: PatternKind): boolean {
  const [a, b] = [parsePattern(one, kind), parsePattern(other, kind)];
  if (kind === "host") return overlap(a, b, ".");
  const longer = (path: string) => (path.endsWith("/") ? path : `${path}/`);
  return overlap(a, b, "/") || overlap(longer(a), b, "/") || overlap(a, longer(b), "/");
}

/**
 * Whether some text matches both patterns, as `parsePattern` returns them. Walks through the pairs of positions that
 * one text can reach; a pair is looked at once.
 *
 * @param separator what `NAME` does not match.
 */
function overlap(a: string, b: string, separator: string): boolean {
  const [one, other] = [a, b].map((text) => text.replaceAll(NAME, NAME + MORE)) as [string, string];
  const width = other.length + 1;
  const seen = new Set<number>();
  const open: number[] = [];
  const reach = (i: number, j: number) => {
    const pair = i * width + j;
    if (!seen.has(pair)) open.push(pair);
    seen.add(pair);
  };
  reach(0, 0);
  for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
    const [i, j] = [Math.floor(pair / width), pair % width];
    if (i === one.length && j === other.length) return true;
    const [x, y] = [one[i], other[j]];
    if (repeats(x)) reach(i + 1, j);
    if (repeats(y)) reach(i, j + 1);
    if (x === undefined || y === undefined || !shareCharacter(x, y, separator)) continue;
    reach(repeats(x) ? i : i + 1, repeats(y) ? j : j + 1);
  }
  return false;
}

/** What may follow the first character of a name. */
const MORE = "\u0002";

function repeats(one: string | undefined): boolean {
  return one === ANY || one === MORE;
}

function shareCharacter(x: string, y: string, separator: string): boolean {
  const isInName = (one: string) => one === NAME || one === MORE;
  if (x === ANY || y === ANY || x === y) return true;
  return (isInName(x) && y !== separator) || (isInName(y) && x !== separator);
}
