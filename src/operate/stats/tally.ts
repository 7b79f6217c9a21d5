/**
 * What an isolate has counted, by minute: plain numbers by series, the clients with most refusals, and where they were
 * refused.
 */

import { type MinuteCounts, seriesOf } from "./batch.ts";
import { NamedValues, type Path } from "./metrics.ts";
import { MAX_CLIENTS, MAX_WHERE, MAX_WHERE_CLIENTS, whereOf } from "./object/counts.ts";

/**
 * From so many series on, a new series has no value that a caller has chosen: then the configuration bounds how many
 * there are. A series takes about 200 bytes (Node 24, 2026-11).
 */
const MAX_SERIES = 1_000;

/** A sum, or the next label's values. A tree costs less for each decision than a text of all labels. */
interface Node {
  sum: number;
  next?: Map<string, Node>;
}

export class Tally {
  minute: number;
  readonly #root: Node = { sum: 0 };
  #size = 0;
  readonly #names = new NamedValues();
  readonly #top = new Map<string, TopClients>();

  /** @param minute as in `MinuteCounts`. */
  constructor(minute: number) {
    this.minute = minute;
  }

  add(path: Path, count: number): void {
    const node = this.#find(path) ?? this.#make(this.#names.bounded(path, this.#size >= MAX_SERIES));
    node.sum += count;
  }

  #find(path: Path): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const label of path) node = node?.next?.get(label);
    return node;
  }

  #make(path: Path): Node {
    let node = this.#root;
    let isNew = false;
    for (const label of path) {
      node.next ??= new Map();
      const found = node.next.get(label);
      isNew = !found;
      const next = found ?? { sum: 0 };
      node.next.set(label, next);
      node = next;
    }
    if (isNew) this.#size++;
    return node;
  }

  addRefusal(policy: string, key: string, refused?: number, excess?: number): void {
    const clients = this.#top.get(policy) ?? new TopClients();
    this.#top.set(policy, clients);
    clients.add(key, refused, excess);
  }

  /** Where a client was refused that is among those with most refusals. @param where as in `MinuteCounts.where`. */
  addWhere(policy: string, key: string, where: string, refused?: number, excess?: number): void {
    this.#top.get(policy)?.where(key)?.add(where, refused, excess);
  }

  /** Adds what the next minute has counted, and becomes that minute. */
  mergeNext(other: Tally): void {
    this.minute = other.minute;
    other.#visit((path, sum) => this.add(path, sum));
    for (const [policy, clients] of other.#top) {
      for (const [key, refused, excess] of clients.list()) {
        this.addRefusal(policy, key, refused, excess);
        for (const [where, ...counts] of clients.where(key)!.list()) this.addWhere(policy, key, where, ...counts);
      }
    }
  }

  counts(): MinuteCounts {
    const sums: Record<string, number> = {};
    this.#visit(([metric, ...labels], sum) => {
      sums[seriesOf(metric!, labels)] = sum;
    });
    const top: Record<string, Entries> = {};
    const where: Record<string, Entries> = {};
    for (const [policy, clients] of this.#top) {
      top[policy] = clients.list();
      for (const [key] of top[policy].slice(0, MAX_WHERE_CLIENTS)) {
        const places = clients.where(key)!.list();
        if (places.length > 0) where[whereOf(policy, key)] = places;
      }
    }
    return { minute: this.minute, sums, top, where };
  }

  #visit(visitor: (path: Path, sum: number) => void, node = this.#root, path: Path = []): void {
    if (!node.next && node.sum !== 0) visitor(path, node.sum);
    for (const [label, next] of node.next ?? []) this.#visit(visitor, next, [...path, label]);
  }
}

const MINUTE_MS = 60_000;
/** While counts cannot be handed on, the oldest minutes become one: their sums stay, and their instant is lost. */
const MAX_MINUTES = 10;

/** The minutes that an isolate has counted and not handed on yet. */
export class Minutes {
  #tallies: Tally[] = [];

  /** Where to count now. @param nowMs the local clock, in ms since the epoch. */
  at(nowMs: number): Tally {
    const minute = Math.floor(nowMs / MINUTE_MS);
    const last = this.#tallies.at(-1);
    if (last?.minute === minute) return last;
    const tally = new Tally(minute);
    this.#tallies.push(tally);
    if (this.#tallies.length > MAX_MINUTES) {
      const [second] = this.#tallies.splice(1, 1);
      this.#tallies[0]!.mergeNext(second!);
    }
    return tally;
  }

  /** Whether nothing was counted since the last `take`. */
  isEmpty(): boolean {
    return this.#tallies.length === 0;
  }

  /** All that was counted, the oldest minute first. It is counted here no longer. */
  take(): MinuteCounts[] {
    const taken = this.#tallies;
    this.#tallies = [];
    return taken.map((tally) => tally.counts());
  }
}

type Entries = [key: string, refused: number, excess: number][];
type Client = { refused: number; excess: number; where?: TopClients };

/**
 * The clients with most refusals of one policy, in bounded memory: Space-Saving (Metwally, Agrawal, El Abbadi,
 * "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005). A client that is new to a full list
 * replaces the one with the fewest refusals, and begins with its count: `excess` says how much of a count may be
 * another client's. A client with more than 1/64 of all refusals is always in the list.
 */
export class TopClients {
  readonly #clients = new Map<string, Client>();
  readonly #maxSize: number;
  /** No client has fewer refusals: counts only grow. */
  #least = 0;

  constructor(maxSize = MAX_CLIENTS) {
    this.#maxSize = maxSize;
  }

  /** @param key the hash of the client's key. @param refused how often. @param excess as in `MinuteCounts.top`. */
  add(key: string, refused = 1, excess = 0): void {
    let client = this.#clients.get(key);
    if (!client) {
      client = this.#clients.size < this.#maxSize ? { refused: 0, excess: 0 } : this.#removeLeastRefused();
      this.#clients.set(key, client);
    }
    client.refused += refused;
    client.excess += excess;
  }

  /** Where the client was refused: counted in the same way. Undefined: it is not in the list. */
  where(key: string): TopClients | undefined {
    const client = this.#clients.get(key);
    if (client) client.where ??= new TopClients(MAX_WHERE);
    return client?.where;
  }

  /** The most refused first. */
  list(): Entries {
    const sorted = [...this.#clients].sort(([, a], [, b]) => b.refused - a.refused);
    return sorted.map(([key, { refused, excess }]) => [key, refused, excess]);
  }

  /** @returns what the next client begins with: all of these refusals may be another's. */
  #removeLeastRefused(): Client {
    for (const [key, { refused }] of this.#clients) {
      if (refused > this.#least) continue;
      this.#clients.delete(key);
      return { refused, excess: refused };
    }
    this.#least = Math.min(...[...this.#clients.values()].map(({ refused }) => refused));
    return this.#removeLeastRefused();
  }
}
