/** The clients of a log, by number: what is counted for each of them lies in arrays. */

/**
 * Clients for which a replay counts: about 100 bytes each, and 20 more for each policy. Decisions are exact for any
 * number of clients.
 */
const MAX_COUNTED = 2_000_000;
/** Sweeping goes through all clients: it is worth its time once this many more have come. */
const LEAST_SWEPT = 10_000;

/** Who is counted. */
export interface Client {
  readonly kind: string;
  /** The value; several values as JSON. Of a recorded line: the partition. */
  readonly text: string;
}

export function textOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : JSON.stringify(values);
}

/** The values of a client that is not of a recorded line. */
export function valuesOf({ kind, text }: Client): readonly string[] {
  return kind.includes("+") || text === NO_VALUES ? JSON.parse(text) : [text];
}

const NO_VALUES = textOf([]);

/** The same text in memory of its own: a part of a line would keep the whole line in memory. */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

/** Gives each client a number. All policies and configurations of a replay share it. */
export class Clients {
  /** By kind, which spares a longer text for each request; then by value. */
  readonly #numbers = new Map<string, Map<string, number>>();
  /** Clients with lower numbers are counted. All others are forgotten with their counts. */
  readonly #maxCounted: number;
  #next = 0;
  #sweepAt: number;

  constructor(maxCounted = MAX_COUNTED) {
    this.#maxCounted = maxCounted;
    this.#sweepAt = maxCounted + LEAST_SWEPT;
  }

  numberOf(kind: string, text: string): number {
    let ofKind = this.#numbers.get(kind);
    if (!ofKind) {
      ofKind = new Map();
      this.#numbers.set(ownText(kind), ofKind);
    }
    const known = ofKind.get(text);
    if (known !== undefined) return known;
    ofKind.set(ownText(text), this.#next);
    return this.#next++;
  }

  isCounted(client: number): boolean {
    return client < this.#maxCounted;
  }

  /** Forgets clients that are not counted and have no counts any more, if there may be many. */
  sweep(hasCounts: (client: number) => boolean): void {
    if (this.#next < this.#sweepAt) return;
    let kept = 0;
    for (const ofKind of this.#numbers.values()) {
      for (const [text, client] of ofKind) {
        if (this.isCounted(client)) continue;
        if (hasCounts(client)) kept++;
        else ofKind.delete(text);
      }
    }
    this.#sweepAt = this.#next + Math.max(LEAST_SWEPT, kept);
  }

  /** The clients with these numbers. */
  withNumbers(numbers: ReadonlySet<number>): ReadonlyMap<number, Client> {
    const clients = new Map<number, Client>();
    if (numbers.size === 0) return clients;
    for (const [kind, ofKind] of this.#numbers) {
      for (const [text, client] of ofKind) if (numbers.has(client)) clients.set(client, { kind, text });
    }
    return clients;
  }
}

const FIRST_SIZE = 1_024;

/** A count for each client. */
export class ClientCounts {
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

  increment(client: number): void {
    this.set(client, this.get(client) + 1);
  }

  /** By client. */
  get counts(): Uint32Array {
    return this.#counts;
  }

  /** The clients with the highest counts above 0, at most so many. Of equal counts the lower number comes first. */
  top(most: number): number[] {
    const top: number[] = [];
    for (const [client, count] of this.#counts.entries()) {
      if (count === 0 || (top.length === most && count <= this.get(top.at(-1)!))) continue;
      const at = top.findIndex((other) => this.get(other) < count);
      top.splice(at < 0 ? top.length : at, 0, client);
      top.length = Math.min(top.length, most);
    }
    return top;
  }
}
