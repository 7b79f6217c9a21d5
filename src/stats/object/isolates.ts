/** The isolates that have been heard, so that a batch that is sent again is not added again. */

/**
 * How many isolates are remembered. A busy site has some hundreds at a time. An isolate is forgotten once this many
 * others were heard after it. A row holds at most this many, in about 400 KB.
 */
const MAX_ISOLATES = 5_000;

/** The number of the last batch by isolate, the isolate that was heard last at the end. */
export type Isolates = Map<string, number>;

export function remember(isolates: Isolates, isolate: string, number: number): void {
  isolates.delete(isolate);
  isolates.set(isolate, number);
  if (isolates.size <= MAX_ISOLATES) return;
  const [first] = isolates.keys();
  isolates.delete(first!);
}
