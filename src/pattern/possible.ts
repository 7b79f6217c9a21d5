/** Finds patterns that no request can match: such a policy would limit nothing, and nobody would notice. */

import { ANY, type PatternKind, type Term } from "./term.ts";

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
export function possible(terms: readonly Term[], kind: PatternKind): boolean {
  const ends = kind === "path" ? SEPARATOR | MORE : MORE;
  const matches = (all: readonly Term[]) => (after({ all }, NOTHING, kind) & ends) !== 0;
  return (
    matches(terms) &&
    terms.every((part) => !isOptional(part) || matches(terms.map((term) => (term === part ? required(part) : term))))
  );
}

type Repeat = Extract<Term, { readonly repeat: Term }>;

/** Any text is used in every match. */
function isOptional(part: Term): part is Repeat {
  return typeof part !== "string" && "repeat" in part && part.optional && part !== ANY;
}

function required(part: Repeat): Term {
  return { ...part, optional: false };
}

type Group = Exclude<Term, string>;

/** By group and by the states before it: patterns share groups, and a repetition holds one term many times. */
const known = { path: new WeakMap<Group, Map<number, number>>(), host: new WeakMap<Group, Map<number, number>>() };

/** The states after a text that `term` matches. @param from the states before that text. */
function after(term: Term, from: number, kind: PatternKind): number {
  if (from === 0) return 0;
  if (typeof term === "string") {
    let at = from;
    for (const character of term) at = step(at, character, kind);
    return at;
  }
  const states = known[kind].get(term) ?? new Map<number, number>();
  known[kind].set(term, states);
  const to = states.get(from) ?? afterGroup(term, from, kind);
  states.set(from, to);
  return to;
}

function afterGroup(term: Group, from: number, kind: PatternKind): number {
  if ("chars" in term) {
    const matches = (character: string) => term.chars.includes(character) !== term.not;
    let other = 0;
    while (other < OTHERS[kind].length && !matches(OTHERS[kind][other]!)) other++;
    const slash = matches("/") ? step(from, "/", kind) : 0;
    const dot = matches(".") ? step(from, ".", kind) : 0;
    return slash | dot | (other === OTHERS[kind].length ? 0 : step(from, OTHERS[kind][other]!, kind));
  }
  if ("all" in term) {
    let at = from;
    for (const one of term.all) at = after(one, at, kind);
    return at;
  }
  if ("either" in term) return term.either.reduce((to, one) => to | after(one, from, kind), 0);
  let to = after(term.repeat, from, kind);
  for (let before = 0; term.many && before !== to; ) {
    before = to;
    to |= after(term.repeat, to, kind);
  }
  return term.optional ? to | from : to;
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
