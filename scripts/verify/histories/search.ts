/**
 * Looks for an order in which operations could have run one after another: the search of Wing and Gong, with Lowe's
 * memory. (J. Wing, C. Gong, "Testing and verifying concurrent objects", 1993; G. Lowe, "Testing for linearizability",
 * 2017; Porcupine does the same.) An order is extended by one operation at a time. A pair of operations that have run
 * and state that they have left is explored once, whatever the order that has led there.
 */

/** An operation as the search sees it. Instants may be any numbers; no two events have the same. */
export interface Candidate {
  readonly call: number;
  /** Absent: the outcome is unknown, and the operation may be left out. */
  readonly return?: number;
  /** Of operations without a return that have the same text, the one that was called first can stand for each. */
  readonly text: string;
}

export interface Model<O extends Candidate, S> {
  readonly initial: S;
  /** The same text for states that nothing can tell apart. */
  textOf(state: S): string;
  /**
   * The states that the operation may leave. None: it cannot come next. Of an operation without a return, only states
   * other than `state`: leaving it out is the same.
   *
   * @param open the operations with a return that may come next by their instants.
   */
  nexts(state: S, operation: O, open: readonly O[]): readonly S[];
  /** Those of `waiting`, which have no return, that something of `open` can see. The others can wait. */
  seen(open: readonly O[], waiting: readonly O[]): readonly O[];
}

/** Where an order ended that could not be extended. */
export interface Stuck<O, S> {
  /** The longest order that was found. */
  readonly order: readonly O[];
  readonly state: S;
  /** What could come next by its instants, and does not fit. */
  readonly open: readonly O[];
}

export interface Found<O, S> {
  /** Undefined: there is an order. */
  readonly stuck?: Stuck<O, S>;
  /** Of operations that have run, and the state that they have left. */
  readonly pairs: number;
}

/** No history of a right store comes near it. */
const MOST_PAIRS = 3_000_000;

/** A place in the order, and the ways to fill it that were not tried yet. */
interface Step<S> {
  readonly state: S;
  readonly ways: Iterator<readonly [at: number, next: S]>;
  /** The operation that fills it now. */
  at: number;
}

/** @throws {Error} after too many pairs: then nothing is known about the history. */
export function search<O extends Candidate, S>(all: readonly O[], model: Model<O, S>): Found<O, S> {
  const operations = all.toSorted((a, b) => a.call - b.call);
  const known = [...operations.keys()].filter((at) => operations[at]!.return !== undefined);
  const unknown = [...operations.keys()].filter((at) => operations[at]!.return === undefined);
  const rank = new Map(known.map((at, k) => [at, k]));
  const isPlaced = operations.map(() => false);
  /** The position in `known` of the first that is not placed, and how many are placed. */
  let [first, placed] = [0, 0];

  function place(at: number): void {
    isPlaced[at] = true;
    if (rank.has(at)) placed++;
    while (first < known.length && isPlaced[known[first]!]) first++;
  }

  function unplace(at: number): void {
    isPlaced[at] = false;
    const position = rank.get(at);
    if (position === undefined) return;
    placed--;
    first = Math.min(first, position);
  }

  /** The operations that may come next by their instants: none was called after another one had returned. */
  function openNow(): number[] {
    const open: number[] = [];
    let end = Number.POSITIVE_INFINITY;
    for (let k = first; k < known.length; k++) {
      const { call, return: returned = end } = operations[known[k]!]!;
      if (call > end) break;
      if (isPlaced[known[k]!]) continue;
      open.push(known[k]!);
      end = Math.min(end, returned);
    }
    return open.filter((at) => operations[at]!.call < end);
  }

  function* ways(state: S): Generator<readonly [number, S]> {
    const positions = openNow();
    const open = positions.map((at) => operations[at]!);
    for (const at of positions) for (const next of model.nexts(state, operations[at]!, open)) yield [at, next];
    const end = Math.min(...open.map((one) => one.return!));
    const waiting = new Map<O, number>();
    const texts = new Set<string>();
    for (const at of unknown) {
      const one = operations[at]!;
      if (one.call > end) break;
      if (isPlaced[at] || texts.has(one.text)) continue;
      texts.add(one.text);
      waiting.set(one, at);
    }
    // Last, because an unknown outcome is seldom what explains the next reply. The latest is the likeliest.
    for (const one of model.seen(open, [...waiting.keys()]).toReversed()) {
      for (const next of model.nexts(state, one, open)) yield [waiting.get(one)!, next];
    }
  }

  /** What has run, in short: everything with a return before `first`, and what is named. */
  function placedText(): string {
    const named: number[] = [];
    const end = first < known.length ? operations[known[first]!]!.return! : 0;
    for (let k = first; k < known.length && operations[known[k]!]!.call < end; k++) {
      if (isPlaced[known[k]!]) named.push(k);
    }
    return `${first} ${named} ${unknown.filter((at) => isPlaced[at])}`;
  }

  const begin = (state: S): Step<S> => ({ state, ways: ways(state), at: -1 });
  const visited = new Set<string>();
  const steps = [begin(model.initial)];
  let best: Stuck<O, S> | undefined;
  let bestPlaced = -1;
  while (placed < known.length) {
    const top = steps.at(-1)!;
    const way = top.ways.next();
    if (way.done) {
      if (placed > bestPlaced) {
        bestPlaced = placed;
        const order = steps.slice(0, -1).map(({ at }) => operations[at]!);
        best = { order, state: top.state, open: openNow().map((at) => operations[at]!) };
      }
      steps.pop();
      const before = steps.at(-1);
      if (!before) return { stuck: best!, pairs: visited.size };
      unplace(before.at);
      continue;
    }
    const [at, next] = way.value;
    place(at);
    const pair = `${placedText()} ${model.textOf(next)}`;
    if (visited.has(pair)) {
      unplace(at);
      continue;
    }
    visited.add(pair);
    if (visited.size > MOST_PAIRS) throw new Error(`the search gave up after ${MOST_PAIRS} pairs`);
    top.at = at;
    steps.push(begin(next));
  }
  return { pairs: visited.size };
}
