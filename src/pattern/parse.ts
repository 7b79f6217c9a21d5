/** Parses URLPattern syntax (https://urlpattern.spec.whatwg.org/#parsing-pattern-strings) into a list of nodes. */

import { BoundedMap } from "../bounded-map.ts";
import { ANY, type Node, type PatternKind, PatternMistake } from "./node.ts";
import { possible } from "./possible.ts";
import { parseRegexp } from "./regexp.ts";
import { hostText, pathText } from "./text.ts";

/** More patterns than configurations have; others are parsed again. */
const REMEMBERED = { maxSize: 1_000 };
/** A pattern is checked, compared and compiled, and all of this within the first request of an isolate. */
const patterns = {
  path: new BoundedMap<string, readonly Node[]>(REMEMBERED),
  host: new BoundedMap<string, readonly Node[]>(REMEMBERED),
};
/** Many patterns have the same group, such as that of a number. */
const groups = new BoundedMap<string, Node>(REMEMBERED);

/**
 * Reads a pattern, and gives its fixed text the normal form that requests get. What was read is remembered.
 *
 * @throws {PatternMistake} for text that is not a pattern, for a pattern that cannot be matched in linear time, and for
 * a pattern with a part that no request can match.
 */
export function parsePattern(pattern: string, kind: PatternKind): readonly Node[] {
  return rememberedIn(patterns[kind], pattern, () => parse(pattern, kind));
}

function rememberedIn<V>(map: BoundedMap<string, V>, key: string, make: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

function parse(pattern: string, kind: PatternKind): readonly Node[] {
  const isPath = kind === "path";
  if (pattern === "" || (isPath && !/^[/*:({]/.test(pattern))) throw new PatternMistake();
  if (pattern.trim() !== pattern) throw new PatternMistake("a pattern without white space at its ends");
  if (!isPath && /\/|\\:|(?<!\(\?):\d/.test(pattern) && !pattern.startsWith("[")) {
    throw new PatternMistake("a host name without scheme, port and path");
  }
  const isAddress = !isPath && /^\[[^\]\\]*\]$/.test(pattern);
  const parsed = isAddress ? [pattern] : parseNodes(pattern, isPath ? "/" : ".", isPath ? "/" : "");
  const nodes = parsed.map((node, i) => {
    const [starts, ends] = [i === 0, i === parsed.length - 1];
    return mapText(node, (text, whole) => (isPath ? pathText(text) : hostText(text, whole && starts, whole && ends)));
  });
  if (!possible(nodes, kind)) {
    throw new PatternMistake(
      isPath
        ? 'a path that requests can match in every part: it begins with "/" and has no "//" and no "." or ".." between slashes'
        : "a host name that requests can match in every part: no dot at its ends",
    );
  }
  return nodes;
}

/** Writes nodes as text: two patterns with equal nodes give the same text. */
export function writePattern(nodes: readonly Node[]): string {
  const write = (node: Node) => (typeof node === "string" ? node.replaceAll("*", "\\*") : JSON.stringify(node));
  return nodes.map((node) => (node === ANY ? "*" : write(node))).join("");
}

/**
 * Applies `text` to the fixed text of a node.
 *
 * @param text its second argument says whether the text is the whole node, and not a part of a group with a modifier.
 */
function mapText(node: Node, text: (one: string, whole: boolean) => string): Node {
  if (typeof node === "string") return text(node, true);
  // Nodes of a regular expression hold single characters and no fixed text.
  if (!("repeat" in node) || typeof node.repeat === "string" || !("all" in node.repeat)) return node;
  return { ...node, repeat: { all: node.repeat.all.map((one) => (typeof one === "string" ? text(one, false) : one)) } };
}

/**
 * @param separator the character that `:name` does not match.
 * @param prefix the character that belongs to a group when it stands directly before the group.
 */
function parseNodes(pattern: string, separator: string, prefix: string): Node[] {
  const nodes: Node[] = [];
  const names = new Set<string>();
  let at = 0;

  function take(regexp: RegExp): string | undefined {
    regexp.lastIndex = at;
    const found = regexp.exec(pattern)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  }

  /** Adds a node; joins neighbouring texts into one. */
  function push(node: Node): void {
    const before = nodes.at(-1);
    if (typeof node === "string" && typeof before === "string") nodes[nodes.length - 1] = before + node;
    else if (node !== "") nodes.push(node);
  }

  /** `:name`, `:name(regexp)`, `(regexp)` or `*`. */
  function group(): Node | undefined {
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

  function regexp(): Node {
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

  function add(before: string, node: Node | undefined, behind: string): void {
    const modifier = at < pattern.length && "?+*".includes(pattern[at]!) ? pattern[at++] : undefined;
    const all = [before, ...(node === undefined ? [] : [node]), behind].filter((one) => one !== "");
    if (modifier === undefined) all.forEach(push);
    else if (all.length === 1 && node === ANY) push(ANY);
    else if (all.length > 0) push({ repeat: { all }, optional: modifier !== "+", many: modifier !== "?" });
  }

  while (at < pattern.length) {
    const plain = take(/[^*+?\\{}:(]+/uy) ?? "";
    const node = group();
    if (node !== undefined) {
      const own = plain.endsWith(prefix) ? prefix : "";
      push(plain.slice(0, plain.length - own.length));
      add(own, node, "");
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
  return nodes;
}

function refuse(character: string): never {
  throw new PatternMistake(character === "?" ? "a pattern without a query: only paths and hosts are matched" : "");
}
