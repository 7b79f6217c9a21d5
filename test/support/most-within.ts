// The most that any window has held, whichever instant it begins at.

/** The largest number of instants within any span of this length, its beginning included and its end excluded. */
export function mostWithin(sortedMs: readonly number[], spanMs: number): number {
  let most = 0;
  let from = 0;
  for (const [to, atMs] of sortedMs.entries()) {
    while (sortedMs[from]! <= atMs - spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
