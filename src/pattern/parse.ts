/** Parses URLPattern syntax (https://urlpattern.spec.whatwg.org/#parsing-pattern-strings) into a list of terms. */

import { BoundedMap } from "../bounded-map.ts";
import { possible } from "./possible.ts";
import { parseRegexp } from "./regexp.ts";
import { ANY, type PatternKind, PatternMistake, type Term } from "./term.ts";
import { hostText, pathText } from "./text.ts";

/** More patterns than configurations have; others are parsed again. */
const REMEMBERED = { maxSize: 1_000 };
/** A pattern is checked, compared and compiled, and all of this within the first request of an isolate. */
const patterns = {
  path: new BoundedMap<string, readonly Term[]>(REMEMBERED),
  host: new BoundedMap<string, readonly Term[]>(REMEMBERED),
};
/** Many patterns have the same group, such as that of a number. */
const groups = new BoundedMap<string, Term>(REMEMBERED);

/**
 * Reads a pattern, and gives its fixed text the normal form that requests get. What was read is remembered.
 *
 * @throws {PatternMistake} for text that is not a pattern, for a pattern that cannot be matched in linear time, and for
 * a pattern with a part that no request can match.
 */
export function parsePattern(pattern: string, kind: PatternKind): readonly Term[] {
  return rememberedIn(patterns[kind], pattern, () => parse(pattern, kind));
}

function rememberedIn<V>(map: BoundedMap<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function parse(pattern: string, kind: PatternKind): readonly Term[] {
  const isPath = kind === "path";
  if (pattern === "" || (isPath && !/^[/*:({]/.test(pattern))) throw new PatternMistake();
  if (pattern.trim() !== pattern) throw new PatternMistake("a pattern without white space at its ends");
  if (!isPath && /\/|\\:|(?<!\(\?):\d/.test(pattern) && !pattern.startsWith("[")) {
    throw new PatternMistake("a host name without scheme, port and path");
  }
  const isAddress = !isPath && /^\[[^\]\\]*\]$/.test(pattern);
  const parsed = isAddress ? [pattern] : parseTerms(pattern, isPath ? "/" : ".", isPath ? "/" : "");
  const terms = parsed.map((term, i) => {
    const [starts, ends] = [i === 0, i === parsed.length - 1];
    return mapText(term, (text, whole) => (isPath ? pathText(text) : hostText(text, whole && starts, whole && ends)));
  });
  if (!possible(terms, kind)) {
    throw new PatternMistake(
      isPath
        ? 'a path that requests can match in every part: it begins with "/" and has no "//" and no "." or ".." between slashes'
        : "a host name that requests can match in every part: no dot at its ends",
    );
  }
  return terms;
}

/** Writes terms as text: two patterns with equal terms give the same text. */
export function writePattern(terms: readonly Term[]): string {
  const write = (term: Term) => (typeof term === "string" ? term.replaceAll("*", "\\*") : JSON.stringify(term));
  return terms.map((term) => (term === ANY ? "*" : write(term))).join("");
}

/**
 * Applies `text` to the fixed text of a term.
 *
 * @param text its second argument says whether the text is the whole term, and not a part of a group with a modifier.
 */
function mapText(term: Term, text: (one: string, whole: boolean) => string): Term {
  if (typeof term === "string") return text(term, true);
  // Nodes of a regular expression hold single characters and no fixed text.
  if (!("repeat" in term) || typeof term.repeat === "string" || !("all" in term.repeat)) return term;
  return { ...term, repeat: { all: term.repeat.all.map((one) => (typeof one === "string" ? text(one, false) : one)) } };
}

/**
 * @param separator the character that `:name` does not match.
 * @param prefix the character that belongs to a group when it stands directly before the group.
 */
function parseTerms(pattern: string, separator: string, prefix: string): Term[] {
  const terms: Term[] = [];
  const names = new Set<string>();
  let at = 0;

  function take(regexp: RegExp): string | undefined {
    regexp.lastIndex = at;
    const found = regexp.exec(pattern)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  /** Adds a term; joins neighbouring texts into one. */
  function push(term: Term): void {
    const before = terms.at(-1);
    if (typeof term === "string" && typeof before === "string") terms[terms.length - 1] = before + term;
    else if (term !== "") terms.push(term);
  }

  /** `:name`, `:name(regexp)`, `(regexp)` or `*`. */
  function group(): Term | undefined {
    const name = pattern[at] === ":" ? nameOf() : undefined;
    if (name !== undefined && names.size === names.add(name).size) throw new PatternMistake();
    // A group inside the regular expression must begin with `(?`: URLPattern refuses groups that capture.
    if (pattern[at] === "(") return regexp();
    if (name !== undefined) return { repeat: { chars: separator, not: true }, optional: false, many: true };
    if (pattern[at] !== "*") return undefined;
    at++;
    return ANY;
  }

  /** Building the second expression takes a millisecond, which patterns with names in ASCII need not pay. */
  function nameOf(): string | undefined {
    return (
      take(/:[A-Za-z$_][\w$]*(?![\w$\u0080-\uffff])/y) ?? take(/:[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy)
    );
  }

  function regexp(): Term {
    const start = ++at;
    for (let depth = 1; depth > 0; ) {
      const one = take(/\\\p{ASCII}|\(\?|\)|[^\\()\P{ASCII}]+/uy);
      if (one === undefined || pattern[start] === "?") throw new PatternMistake();
      depth += one === ")" ? -1 : one === "(?" ? 1 : 0;
    }
    const source = pattern.slice(start, at - 1);
    if (source === "") throw new PatternMistake();
    return source === ".*" ? ANY : rememberedIn(groups, source, () => parseRegexp(source));
  }

  function text(): string {
    return (take(/(?:[^*+?\\{}:(]|\\.)*/suy) ?? "").replace(/\\(.)/gsu, "$1");
  }

  function add(before: string, term: Term | undefined, behind: string): void {
    const modifier = at < pattern.length && "?+*".includes(pattern[at]!) ? pattern[at++] : undefined;
    const all = [before, ...(term === undefined ? [] : [term]), behind].filter((one) => one !== "");
    if (modifier === undefined) all.forEach(push);
    else if (all.length === 1 && term === ANY) push(ANY);
    else if (all.length > 0) push({ repeat: { all }, optional: modifier !== "+", many: modifier !== "?" });
  }

  while (at < pattern.length) {
    const plain = take(/[^*+?\\{}:(]+/uy) ?? "";
    const term = group();
    if (term !== undefined) {
      const own = plain.endsWith(prefix) ? prefix : "";
      push(plain.slice(0, plain.length - own.length));
      add(own, term, "");
    } else if (plain !== "") {
      push(plain);
    } else if (pattern[at] === "{") {
      at++;
      const [before, inner, behind] = [text(), group(), text()];
      if (!take(/\}/y)) throw new PatternMistake();
      add(before, inner, behind);
    } else {
      const [, escaped] = take(/\\./suy) ?? refuse(pattern[at]!);
      push(escaped!);
    }
  }
  return terms;
}

function refuse(character: string): never {
  throw new PatternMistake(character === "?" ? "a pattern without a query: only paths and hosts are matched" : "");
}
