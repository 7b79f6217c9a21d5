/** Finds patterns that no request can match: such a policy would limit nothing, and nobody would notice. */

import { ANY, ASCII, type Node, type PatternKind } from "./node.ts";

/** States of a reader of normal forms, one bit each: what the characters up to here end with. */
const NOTHING = 1;
const SEPARATOR = 2;
const ONE_DOT = 4;
const TWO_DOTS = 8;
const MORE = 16;

/** The characters that a normal form in lower case can hold, apart from `/` and `.`. */
const OTHERS = { path: /[!$-\-0-;=@[\]^_a-z|~]/, host: /[!"$&-\-0-;=[\]_-z{}~]/ };

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

/** The states after a text that `node` matches. @param from the states before that text. */
function after(node: Node, from: number, kind: PatternKind): number {
  if (from === 0) return 0;
  if (typeof node === "string") {
    let at = from;
    for (const character of node) at = step(at, character, kind);
    return at;
  }
  if ("chars" in node) {
    const matches = (character: string) => node.chars.includes(character) !== node.not;
    const other = node.not
      ? ASCII.find((character) => OTHERS[kind].test(character) && matches(character))
      : OTHERS[kind].exec(node.chars)?.[0];
    const slash = matches("/") ? step(from, "/", kind) : 0;
    const dot = matches(".") ? step(from, ".", kind) : 0;
    return slash | dot | (other === undefined ? 0 : step(from, other, kind));
  }
  if ("all" in node) {
    let at = from;
    let last: { readonly one?: Node; readonly from?: number } = {};
    for (const one of node.all) {
      // A repetition that is written out: the same node from the same states ends in the same states again.
      if (one === last.one && at === last.from) continue;
      last = { one, from: at };
      at = after(one, at, kind);
    }
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
    return from !== 0 && OTHERS.host.test(character) ? MORE : 0;
  }
  if (character === "/") return from & (NOTHING | MORE) ? SEPARATOR : 0;
  const inside = from & ~NOTHING;
  if (character !== ".") return inside !== 0 && OTHERS.path.test(character) ? MORE : 0;
  return (from & SEPARATOR ? ONE_DOT : 0) | (from & ONE_DOT ? TWO_DOTS : 0) | (from & (TWO_DOTS | MORE) ? MORE : 0);
}
