/** The clients of a policy, by number: what is counted for each of them lies in arrays. */

/**
 * Clients of a policy for which the replay counts. It takes about 100 bytes for each. Decisions are exact for any
 * number of clients.
 */
const MAX_COUNTED = 1_000_000;

/** Sweeping goes through all of them: it is worth it when so many have come. */
const LEAST_SWEPT = 10_000;

export class Clients {
  readonly #maxCounted: number;
  readonly #counted = new Map<string, number>();
  /** All others. They are forgotten with their counts. */
  readonly #others = new Map<string, number>();
  #next: number;
  #sweepAt = LEAST_SWEPT;

  constructor(maxCounted = MAX_COUNTED) {
    this.#maxCounted = maxCounted;
    this.#next = maxCounted;
  }

  /** Whether there were more clients than are counted. */
  get overflowed(): boolean {
    return this.#next > this.#maxCounted;
  }

  numberOf(text: string): number {
    const known = this.#counted.get(text);
    if (known !== undefined) return known;
    const { size } = this.#counted;
    if (size < this.#maxCounted) {
      this.#counted.set(text, size);
      return size;
    }
    const other = this.#others.get(text) ?? this.#next++;
    this.#others.set(text, other);
    return other;
  }

  isCounted(client: number): boolean {
    return client < this.#maxCounted;
  }

  /** Forgets clients that are not counted and have no counts any more, if there may be many. */
  sweep(hasCounts: (client: number) => boolean): void {
    if (this.#others.size < this.#sweepAt) return;
    for (const [text, client] of this.#others) if (!hasCounts(client)) this.#others.delete(text);
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * this.#others.size);
  }

  /** The texts of these clients. */
  textsOf(clients: ReadonlySet<number>): Map<number, string> {
    const texts = new Map<number, string>();
    for (const [text, client] of this.#counted) if (clients.has(client)) texts.set(client, text);
    return texts;
  }
}

const FIRST_SIZE = 1_024;

/** A count for each client. */
export class Tally {
  #counts = new Uint32Array(FIRST_SIZE);

  get(client: number): number {
    return this.#counts[client] ?? 0;
  }

  set(client: number, count: number): void {
    if (client >= this.#counts.length) {
      const grown = new Uint32Array(Math.max(client + 1, 2 * this.#counts.length));
      grown.set(this.#counts);
      this.#counts = grown;
    }
    this.#counts[client] = count;
  }

  get counts(): Uint32Array {
    return this.#counts;
  }
}
