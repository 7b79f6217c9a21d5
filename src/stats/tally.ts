/** What an isolate has counted, by minute: plain numbers by series, and the clients with most refusals. */

import { type MinuteCounts, seriesOf } from "./batch.ts";
import { NamedValues, type Path } from "./metrics.ts";
import { TopClients } from "./top-clients.ts";

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

/** One minute. */
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

  /** A client was refused by a policy. */
  addRefusal(policy: string, key: string, refused?: number, excess?: number): void {
    const clients = this.#top.get(policy) ?? new TopClients();
    this.#top.set(policy, clients);
    clients.add(key, refused, excess);
  }

  /** Adds what the same or the next minute has counted, and becomes that minute. */
  mergeNext(other: Tally): void {
    this.minute = other.minute;
    other.#visit((path, sum) => this.add(path, sum));
    for (const [policy, clients] of other.#top) {
      for (const [key, refused, excess] of clients.list()) this.addRefusal(policy, key, refused, excess);
    }
  }

  counts(): MinuteCounts {
    const sums: Record<string, number> = {};
    this.#visit(([metric, ...labels], sum) => {
      sums[seriesOf(metric!, labels)] = sum;
    });
    const top = Object.fromEntries([...this.#top].map(([policy, clients]) => [policy, clients.list()]));
    return { minute: this.minute, sums, top };
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
    append(this.#tallies, tally);
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

function append(tallies: Tally[], tally: Tally): void {
  const last = tallies.at(-1);
  if (last?.minute === tally.minute) last.mergeNext(tally);
  else tallies.push(tally);
  if (tallies.length > MAX_MINUTES) tallies[0]!.mergeNext(tallies.splice(1, 1)[0]!);
}
