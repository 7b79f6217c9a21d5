/** The clients of a policy, by number: what is counted for each of them lies in arrays. */

/**
 * Clients of a policy for which the replay counts. It takes about 100 bytes for each. Decisions are exact for any
 * number of clients.
 */
const MAX_COUNTED = 1_000_000;

/** Who is counted, in as few characters as the kind needs. */
export interface Client {
  readonly kind: string;
  /** The value; of several values each after its length. Of a recorded line: the partition. */
  readonly text: string;
}

export function textOf(values: readonly string[]): string {
  return values.length === 1 ? values[0]! : values.map(afterLength).join("");
}

/** One text for a client of any kind, as `partitionText` has it. */
export function clientText({ kind, text }: Client): string {
  return afterLength(kind) + (kind.includes("+") || text === "" ? text : afterLength(text));
}

/** The client as a person reads it: the values of a combined kind with `+` between them, as in the kind. */
export function rawKey({ kind, text }: Client): string {
  if (!kind.includes("+")) return text;
  const values: string[] = [];
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf(":", at) + 1;
    at = start + Number(text.slice(at, start - 1));
    values.push(text.slice(start, at));
  }
  return values.join("+");
}

/** The same text in memory of its own: a part of a line would keep the whole line in memory. */
export function ownText(text: string): string {
  return JSON.parse(JSON.stringify(text));
}

function afterLength(text: string): string {
  return `${text.length}:${text}`;
}

/** Sweeping goes through all clients: it is worth its time once this many have come. */
const LEAST_SWEPT = 10_000;

export class Clients {
  /** Clients with lower numbers are counted. */
  readonly maxCounted: number;
  /** By kind, which spares a longer text for each request; then by value, an IPv4 address as its number. */
  readonly #counted = new Map<string, Map<string | number, number>>();
  /** All others. They are forgotten with their counts. */
  readonly #others = new Map<string, number>();
  #size = 0;
  #next: number;
  #sweepAt = LEAST_SWEPT;

  constructor(maxCounted = MAX_COUNTED) {
    this.maxCounted = maxCounted;
    this.#next = maxCounted;
  }

  /** Whether there were more clients than are counted. */
  get overflowed(): boolean {
    return this.#next > this.maxCounted;
  }

  numberOf(kind: string, text: string): number {
    const ofKind = this.#counted.get(kind);
    const address = ipv4Number(text);
    const known = ofKind?.get(address ?? text);
    if (known !== undefined) return known;
    if (this.#size < this.maxCounted) {
      const own = address ?? ownText(text);
      if (ofKind) ofKind.set(own, this.#size);
      else this.#counted.set(kind, new Map([[own, this.#size]]));
      return this.#size++;
    }
    const name = clientText({ kind, text });
    const knownOther = this.#others.get(name);
    if (knownOther !== undefined) return knownOther;
    this.#others.set(ownText(name), this.#next);
    return this.#next++;
  }

  isCounted(client: number): boolean {
    return client < this.maxCounted;
  }

  /** Forgets clients that are not counted and have no counts any more, if there may be many. */
  sweep(hasCounts: (client: number) => boolean): void {
    if (this.#others.size < this.#sweepAt) return;
    for (const [name, client] of this.#others) if (!hasCounts(client)) this.#others.delete(name);
    this.#sweepAt = Math.max(LEAST_SWEPT, 2 * this.#others.size);
  }

  /** The clients with these numbers. */
  clientsOf(numbers: ReadonlySet<number>): Map<number, Client> {
    const clients = new Map<number, Client>();
    if (numbers.size === 0) return clients;
    for (const [kind, ofKind] of this.#counted) {
      for (const [value, client] of ofKind) {
        if (!numbers.has(client)) continue;
        clients.set(client, { kind, text: typeof value === "number" ? ipv4Text(value) : value });
      }
    }
    return clients;
  }
}

/**
 * An IPv4 address in 32 bits: a map finds a number in less than half the time of a text, and keeps no text for it.
 * Undefined for any other text, also for an address that is not in its shortest form.
 */
function ipv4Number(text: string): number | undefined {
  if (text.length > LONGEST_IPV4) return undefined;
  let [address, part, digits, dots] = [0, 0, 0, 0];
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - ZERO;
    if (digit === DOT && digits > 0 && dots < 3) {
      address = (address << 8) | part;
      part = digits = 0;
      dots++;
    } else {
      const isLeadingZero = digits > 0 && part === 0;
      part = 10 * part + digit;
      if (digit < 0 || digit > 9 || isLeadingZero || part > 255) return undefined;
      digits++;
    }
  }
  return dots === 3 && digits > 0 ? (address << 8) | part : undefined;
}

const LONGEST_IPV4 = "255.255.255.255".length;
const ZERO = "0".charCodeAt(0);
const DOT = ".".charCodeAt(0) - ZERO;

function ipv4Text(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
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
