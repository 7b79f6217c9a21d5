/** Finds patterns that no request can match: such a policy would limit nothing, and nobody would notice. */

import { ANY, type Node, type PatternKind } from "./node.ts";

/** States of a reader of normal forms, one bit each: what the characters up to here end with. */
const NOTHING = 1;
const SEPARATOR = 2;
const ONE_DOT = 4;
const TWO_DOTS = 8;
const MORE = 16;

/** The characters that a normal form in lower case can hold, apart from `/` and `.`. */
const OTHERS = {
  path: "abcdefghijklmnopqrstuvwxyz0123456789-_!$%&'()*+,:;=@[]^|~",
  host: "abcdefghijklmnopqrstuvwxyz0123456789-_!\"$&'()*+,:;=[]`{}~",
};

/** Whether some normal form matches the pattern, and whether each part, optional parts too, is used in some match. */
export function possible(nodes: readonly Node[], kind: PatternKind): boolean {
  const ends = kind === "path" ? SEPARATOR | MORE : MORE;
  const matches = (all: readonly Node[]) => (after({ all }, NOTHING, kind) & ends) !== 0;
  return (
    matches(nodes) &&
    nodes.every((part) => !isOptional(part) || matches(nodes.map((node) => (node === part ? required(part) : node))))
  );
}

type Repeat = Extract<Node, { readonly repeat: Node }>;

/** Any text is used in every match. */
function isOptional(part: Node): part is Repeat {
  return typeof part !== "string" && "repeat" in part && part.optional && part !== ANY;
}

function required(part: Repeat): Node {
  return { ...part, optional: false };
}

type Group = Exclude<Node, string>;

/** By group and by the states before it: patterns share groups, and a repetition holds one node many times. */
const known = { path: new WeakMap<Group, Map<number, number>>(), host: new WeakMap<Group, Map<number, number>>() };

/** The states after a text that `node` matches. @param from the states before that text. */
function after(node: Node, from: number, kind: PatternKind): number {
  if (from === 0) return 0;
  if (typeof node === "string") {
    let at = from;
    for (const character of node) at = step(at, character, kind);
    return at;
  }
  const states = known[kind].get(node) ?? new Map<number, number>();
  known[kind].set(node, states);
  const to = states.get(from) ?? afterGroup(node, from, kind);
  states.set(from, to);
  return to;
}

function afterGroup(node: Group, from: number, kind: PatternKind): number {
  if ("chars" in node) {
    const matches = (character: string) => node.chars.includes(character) !== node.not;
    let other = 0;
    while (other < OTHERS[kind].length && !matches(OTHERS[kind][other]!)) other++;
    const slash = matches("/") ? step(from, "/", kind) : 0;
    const dot = matches(".") ? step(from, ".", kind) : 0;
    return slash | dot | (other === OTHERS[kind].length ? 0 : step(from, OTHERS[kind][other]!, kind));
  }
  if ("all" in node) {
    let at = from;
    for (const one of node.all) at = after(one, at, kind);
    return at;
  }
  if ("either" in node) return node.either.reduce((to, one) => to | after(one, from, kind), 0);
  let to = after(node.repeat, from, kind);
  for (let before = 0; node.many && before !== to; ) {
    before = to;
    to |= after(node.repeat, to, kind);
  }
  return node.optional ? to | from : to;
}

/** The states one character later; 0: no normal form has this character after any of the states in `from`. */
function step(from: number, character: string, kind: PatternKind): number {
  if (kind === "host") {
    if (character === ".") return from & ~NOTHING ? SEPARATOR : 0;
    return from !== 0 && OTHERS.host.includes(character) ? MORE : 0;
  }
  if (character === "/") return from & (NOTHING | MORE) ? SEPARATOR : 0;
  const inside = from & ~NOTHING;
  if (character !== ".") return inside !== 0 && OTHERS.path.includes(character) ? MORE : 0;
  return (from & SEPARATOR ? ONE_DOT : 0) | (from & ONE_DOT ? TWO_DOTS : 0) | (from & (TWO_DOTS | MORE) ? MORE : 0);
}
