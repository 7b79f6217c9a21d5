/** The syntax tree of a pattern: fixed text, groups, and the regular expressions inside groups. */

export type Term =
  /** Fixed text, in the form of `normalizePath` or `normalizeHost`, lower case. */
  | string
  /** One character: one of `chars`, or, with `not`, any character that `chars` does not hold. */
  | { readonly chars: string; readonly not: boolean }
  /** All terms, one after the other. */
  | { readonly all: readonly Term[] }
  /** One of the terms. */
  | { readonly either: readonly Term[] }
  /** The term once; `optional`: also not at all; `many`: also more than once. */
  | { readonly repeat: Term; readonly optional: boolean; readonly many: boolean };

/** Printable ASCII: all characters that a normal form can hold or a class can name. */
export const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i));
/** Any character. */
export const ONE: Term = { chars: "", not: true };
/** Any text, `*` in a pattern. Other files compare terms with this very object. */
export const ANY: Term = { repeat: ONE, optional: true, many: true };

/** Of lists of terms. A repetition that is written out holds one term many times, and patterns share groups. */
const sizes = new WeakMap<readonly Term[], number>();

/** The number of characters of a term whose repetitions are written out; an endless repetition counts once. */
export function sizeOf(term: Term): number {
  if (typeof term === "string") return term.length;
  if ("chars" in term) return 1;
  if ("repeat" in term) return sizeOf(term.repeat);
  const terms = "all" in term ? term.all : term.either;
  let size = sizes.get(terms);
  if (size === undefined) {
    size = terms.reduce((sum, one) => sum + sizeOf(one), 0);
    sizes.set(terms, size);
  }
  return size;
}

/** What the pattern is matched with. */
export type PatternKind = "path" | "host";

/** Thrown for a refused pattern. The message says what was expected; empty: the text is not a pattern at all. */
export class PatternMistake extends Error {}
