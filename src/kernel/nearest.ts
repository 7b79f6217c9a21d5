/** The word that a typing error probably meant. */

/** The nearest candidate, or undefined if none is near. Case, `-`, `_` and spaces do not count. */
export function nearest(typed: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: edits(plain(typed), plain(candidate)) }))
    .filter(({ candidate, edits }) => edits <= allowed(plain(candidate).length))
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate;
}

/** Fewer letters are a part of too many names. */
const SHORTEST_PART = 3;

/** The nearest name, or else one that contains the wrong name or is a part of it. */
export function meantBy(typed: string, names: readonly string[]): string | undefined {
  const word = typed.toLowerCase();
  const isPart = (other: string) => word.includes(other.toLowerCase()) || other.toLowerCase().includes(word);
  return nearest(typed, names) ?? (word.length < SHORTEST_PART ? undefined : names.find(isPart));
}

/** What is expected of a field that a table does not have. @param named its fields, as a message names them. */
export function noField(typed: string, names: readonly string[], named = names.join(", ")): string {
  const meant = meantBy(typed, names);
  return meant === undefined ? `only the fields ${named}` : `no ${typed}: did you mean ${meant}?`;
}

function plain(word: string): string {
  return word.toLowerCase().replace(/[-_\s]/g, "");
}

/** One edit in a short word makes it another word too often. */
function allowed(length: number): number {
  return length < 3 ? 0 : length < 6 ? 1 : 2;
}

/** The number of letters to insert, delete, replace, or swap with the next (optimal string alignment). */
export function edits(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      next.push(Math.min(replaced, swapped, row[j]! + 1, next[j - 1]! + 1));
    }
    before = row;
    row = next;
  }
  return row[b.length]!;
}
