/** A change before it is sent: what it does, to whom, how it differs from what is, its command, and how to undo it. */

export interface LiveChange {
  /** `Block 203.0.113.7 under api`. */
  readonly title: string;
  /** Whom it touches, as far as that is known. */
  readonly touches: string;
  /** It takes something away from clients, or takes limits away: ask once more. */
  readonly isDangerous: boolean;
  readonly command: string;
  /** What is and what will be. Undefined: nothing. */
  readonly before: unknown;
  readonly after: unknown;
  /** @returns the version of the live document; undefined: it is not part of it. @throws {Refused} */
  send(): Promise<number | undefined>;
  /** The change that takes this one back. Absent: that is not possible. */
  readonly undo?: LiveChange;
}

interface DiffLine {
  readonly is: "same" | "gone" | "new";
  readonly text: string;
}

export function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : JSON.stringify(value, null, 2);
}

/** By lines: the longest common ones stay. Documents have some thousand lines at most, and most of them are equal. */
export function differences(before: string, after: string): DiffLine[] {
  const [old, young] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < young.length && old[head] === young[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, young.length) - head && old.at(-1 - tail) === young.at(-1 - tail)) tail++;
  const same = (text: string): DiffLine => ({ is: "same", text });
  return [
    ...old.slice(0, head).map(same),
    ...middle(old.slice(head, old.length - tail), young.slice(head, young.length - tail)),
    ...old.slice(old.length - tail).map(same),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.split("\n");
}

/** A table of this many cells is made at once. Beyond it, all old lines go and all new ones come. */
const MAX_CELLS = 4_000_000;

function middle(old: readonly string[], young: readonly string[]): DiffLine[] {
  const gone = old.map((text): DiffLine => ({ is: "gone", text }));
  const added = young.map((text): DiffLine => ({ is: "new", text }));
  if (old.length * young.length > MAX_CELLS) return [...gone, ...added];
  // common[i][j]: lines in common of old from i on and young from j on.
  const common = Array.from({ length: old.length + 1 }, () => new Uint32Array(young.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = young.length - 1; j >= 0; j--) {
      common[i]![j] =
        old[i] === young[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      lines.push({ is: "same", text: old[i++]! });
      j++;
    } else if (j === young.length || (i < old.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push(gone[i++]!);
    } else {
      lines.push(added[j++]!);
    }
  }
  return lines;
}
