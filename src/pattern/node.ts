/** The syntax tree of a pattern: fixed text, groups, and the regular expressions inside groups. */

export type Node =
  /** Fixed text, in the form of `normalizePath` or `normalizeHost`, lower case. */
  | string
  /** One character: one of `chars`, or, with `not`, any character that `chars` does not hold. */
  | { readonly chars: string; readonly not: boolean }
  /** All nodes, one after the other. */
  | { readonly all: readonly Node[] }
  /** One of the nodes. */
  | { readonly either: readonly Node[] }
  /** The node once; `optional`: also not at all; `many`: also more than once. */
  | { readonly repeat: Node; readonly optional: boolean; readonly many: boolean };

/** Printable ASCII: all characters that a normal form can hold or a class can name. */
export const ASCII = Array.from({ length: 95 }, (_, i) => String.fromCharCode(0x20 + i));
/** Any character. */
export const ONE: Node = { chars: "", not: true };
/** Any text, `*` in a pattern. Other files compare nodes with this very object. */
export const ANY: Node = { repeat: ONE, optional: true, many: true };

/** Of lists of nodes. A repetition that is written out holds one node many times, and patterns share groups. */
const sizes = new WeakMap<readonly Node[], number>();

/** The number of characters of a node whose repetitions are written out; an endless repetition counts once. */
export function sizeOf(node: Node): number {
  if (typeof node === "string") return node.length;
  if ("chars" in node) return 1;
  if ("repeat" in node) return sizeOf(node.repeat);
  const nodes = "all" in node ? node.all : node.either;
  let size = sizes.get(nodes);
  if (size === undefined) {
    size = nodes.reduce((sum, one) => sum + sizeOf(one), 0);
    sizes.set(nodes, size);
  }
  return size;
}

/** What the pattern is matched with. */
export type PatternKind = "path" | "host";

/** Thrown for a refused pattern. The message says what was expected; empty: the text is not a pattern at all. */
export class PatternMistake extends Error {}
