/** What a pattern is made of, once it is read: the same for the fixed text, the groups and the regular expressions in them. */

export type Node =
  /** This text, in the form of `normalizePath` or `normalizeHost`, lower case. */
  | string
  /** One character: one of `chars`, or any other one. */
  | { readonly chars: string; readonly not: boolean }
  /** One after the other. */
  | { readonly all: readonly Node[] }
  | { readonly either: readonly Node[] }
  /** Once, and perhaps not at all, and perhaps more often. */
  | { readonly repeat: Node; readonly optional: boolean; readonly many: boolean };

/** The characters of a normal form, and those that a class may name. */
export const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i));
/** Any character. */
export const ONE: Node = { chars: "", not: true };
/** Any text, `*` in a pattern. Compared by identity. */
export const ANY: Node = { repeat: ONE, optional: true, many: true };

/** How many characters a node takes once its repetitions are written out; one that repeats without end counts once. */
export function sizeOf(node: Node): number {
  if (typeof node === "string") return node.length;
  if ("chars" in node) return 1;
  if ("repeat" in node) return sizeOf(node.repeat);
  const nodes = "all" in node ? node.all : node.either;
  return nodes.reduce((sum, one) => sum + sizeOf(one), 0);
}

/** What a pattern is for. */
export type PatternKind = "path" | "host";

/** Thrown for a pattern that is refused; the message says what was expected, or nothing if it is no pattern at all. */
export class PatternMistake extends Error {}
