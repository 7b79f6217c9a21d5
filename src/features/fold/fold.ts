/** One spelling for all spellings of a name: `" Ann@Example.com"` is `ann@example.com`. */

import type { ClientKey } from "../../kernel/request/hash.ts";
import { type KeySource, sourceOf } from "../../kernel/request/sources.ts";

/** The sources whose values are names that people type. */
const FOLDED: readonly KeySource[] = ["body", "header", "query", "cookie"];

/** Whether a part of a kind, for example `header:x-user`, is folded. */
export function isFolded(part: string): boolean {
  return FOLDED.includes(sourceOf(part));
}

/** Characters that are folded. A name is shorter, and one character may become 18. */
const LONGEST = 4_096;

/** Some characters have a space in their normal form, so spaces go first and last. */
function foldedText(text: string): string {
  const trimmed = text.trim();
  const folded = trimmed.slice(0, LONGEST).normalize("NFKC").toLowerCase();
  return (folded + trimmed.slice(LONGEST)).trim();
}

export function foldedKey({ kind, values }: ClientKey): ClientKey {
  const parts = kind.split("+");
  return { kind, values: values.map((value, i) => (isFolded(parts[i]!) ? foldedText(value) : value)) };
}
